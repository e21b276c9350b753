//! A folder in which a block of commands runs, with the databases that the pages talk about.

use claimtop::reference::System;
use rusqlite::{Connection, params};
use serde_json::Value as Json;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

use crate::dashboard::pty::Start;
use crate::support::postgres::PgDatabase;
use crate::support::{MINUTE, lines, stderr, stdout};

/// The server that the pages name.
pub const SERVER: &str = "postgres://ann@db.example/app";

const HOUR: i64 = 60 * MINUTE;

pub struct Sandbox {
    folder: TempDir,
    server: Option<PgDatabase>,
}

/// What a command printed, and its exit code.
pub struct Ran {
    pub output: String,
    pub code: Option<i32>,
}

impl Sandbox {
    pub fn new(with_server: bool) -> Sandbox {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name);
        fill(&make(&place("tasks.db"), &[System::Coordination, System::ExecutorJobs]));
        drop(make(&place("other.db"), &[System::MergeQueue]));
        fs::create_dir_all(place("config/claimtop")).expect("a folder");
        let config = format!("[source.prod]\nat = {:?}\nholders_on = \"this-host\"\n", place("tasks.db"));
        fs::write(place("config/claimtop/config.toml"), config).expect("a config");
        let server =
            with_server.then(|| PgDatabase::new(System::ExecutorJobs.postgres().expect("its tables")));
        Sandbox { folder, server }
    }

    /// A line as it is run: with an act, a bulk and a token of this sandbox, its server, and a port that is free.
    pub fn line(&self, line: &str) -> String {
        let mut line = line.to_owned();
        for (word, key) in [("ACTION", "action_id"), ("BATCH", "batch")] {
            if line.contains(word) {
                line = line.replace(word, &self.last_applied(key));
            }
        }
        if line.contains("TOKEN") {
            line = line.replace("TOKEN", &format!("'{}'", self.token("rebuild-index")));
        }
        if let Some(server) = &self.server {
            line = line.replace(SERVER, &format!("'{}'", server.url()));
        }
        if line.contains("claimtop serve") {
            line = line.replace("--listen 127.0.0.1:9999", "");
            line = line.replace("claimtop serve", "claimtop serve --listen 127.0.0.1:0");
        }
        // The recordings that the pages talk about were made today.
        for name in ["incident.rec", "night.rec"] {
            if line.contains(name) && !line.contains("record") {
                let made = self.run(&format!("claimtop record tasks.db --out {name} --for 1s"));
                assert_eq!(made.code, Some(0), "{}", made.output);
                line = line.replace("--at 03:12", "--at 2100-01-01T00:00:00Z");
                line = line.replace("--from 03:00 --to 04:30", "--from 2020-01-01T00:00:00Z");
            }
        }
        // Every sandbox has a port of its own.
        if line.contains("claimtop api tasks.db") {
            line = format!("{line} --listen 127.0.0.1:0");
        }
        line
    }

    /// A command that ends.
    pub fn run(&self, line: &str) -> Ran {
        let output = self.shell(line).output().expect("a shell");
        Ran { code: output.status.code(), output: said(&output) }
    }

    /// A command that goes on until it is told to end, which happens after its first words.
    pub fn run_for_a_while(&self, line: &str) -> Ran {
        let mut child = self
            .shell(&format!("exec {line}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a shell");
        let first = first_byte(&mut child);
        terminate(&child);
        let output = child.wait_with_output().expect("its end");
        Ran { code: output.status.code(), output: first + &said(&output) }
    }

    /// The dashboard, until it is drawn.
    pub fn show(&self, line: &str) -> Ran {
        let mut start =
            Start::program("sh").with("-c").with(format!("exec {line}")).folder(self.folder.path());
        for (name, value) in self.environment() {
            start = start.env(name, value);
        }
        let pty = start.run();
        let output = pty.wait("Overview");
        Ran { code: Some(i32::try_from(pty.quit().status.exit_code()).expect("a code")), output }
    }

    fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .env_remove("NO_COLOR");
        command.envs(self.environment());
        command
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let program = Path::new(env!("CARGO_BIN_EXE_claimtop")).parent().expect("its folder");
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let place = |name: &str| self.folder.path().join(name).display().to_string();
        let mut all =
            vec![("PATH", path), ("XDG_CONFIG_HOME", place("config")), ("XDG_STATE_HOME", place("state"))];
        // On a busy machine a server may take its time.
        all.push(("PGCONNECT_TIMEOUT", "60".into()));
        all.extend(
            self.server.as_ref().and_then(PgDatabase::password).map(|password| ("PGPASSWORD", password)),
        );
        all
    }

    fn last_applied(&self, key: &str) -> String {
        let records = self.json("claimtop audit list --json");
        let applied = records.iter().rev().map(|entry| &entry["record"]);
        let mut ids =
            applied.filter(|record| record["outcome"] == "applied").filter_map(|record| record[key].as_str());
        ids.next().unwrap_or_else(|| panic!("no act with {key} before this line")).to_owned()
    }

    fn token(&self, id: &str) -> String {
        let claims = self.json("claimtop list tasks.db --json");
        let claim = claims.iter().find(|claim| claim["id"] == id).expect("the claim");
        claim["seen"].as_str().expect("a token").to_owned()
    }

    fn json(&self, line: &str) -> Vec<Json> {
        lines(&self.shell(line).output().expect("a shell"))
    }
}

fn said(output: &Output) -> String {
    stdout(output) + &stderr(output)
}

/// The first byte that a program writes to either of its outputs: it has started.
fn first_byte(child: &mut Child) -> String {
    let (sender, first) = std::sync::mpsc::channel();
    let outputs: [Box<dyn Read + Send>; 2] = [
        Box::new(child.stdout.take().expect("its output")),
        Box::new(child.stderr.take().expect("its errors")),
    ];
    for mut output in outputs {
        let sender = sender.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                // Read on even if nobody listens: the program must not get stuck.
                let _ = sender.send(String::from_utf8_lossy(&bytes[..count]).into_owned());
            }
        });
    }
    first.recv_timeout(std::time::Duration::from_secs(180)).unwrap_or_default()
}

fn terminate(child: &Child) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
}

fn make(path: &Path, systems: &[System]) -> Connection {
    let connection = Connection::open(path).expect("a database");
    connection.pragma_update(None, "journal_mode", "WAL").expect("WAL mode");
    for system in systems {
        connection.execute_batch(system.sqlite()).expect("its tables");
    }
    connection
}

/// A session that fell silent two hours ago, with tasks and a lock; one that works; jobs that are stale, dead and done.
fn fill(connection: &Connection) {
    let now = chrono::Utc::now().timestamp_millis();
    for (session, beat) in [("cli-91c0", now - 2 * HOUR), ("cli-77aa", now)] {
        let sql = "INSERT INTO sessions (id, project_path, started_at, last_heartbeat) VALUES (?1, '/srv/app', ?2, ?3)";
        connection.execute(sql, params![session, now - 3 * HOUR, beat]).expect(sql);
    }
    let claims = [
        ("rebuild-index", "cli-91c0", now - 2 * HOUR, now - 40 * MINUTE),
        ("send-mail", "cli-91c0", now - 2 * HOUR, now + HOUR),
        ("resize-7", "cli-77aa", now, now + HOUR),
        ("resize-8", "cli-77aa", now, now + HOUR),
    ];
    for (task, session, beat, end) in claims {
        let sql = "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat) VALUES (?1, ?2, ?3, ?4, ?5)";
        connection.execute(sql, params![task, session, now - 3 * HOUR, end, beat]).expect(sql);
    }
    let sql = "INSERT INTO locks (resource, session_id, acquired_at, expires_at) VALUES ('deploy/production', 'cli-91c0', ?1, ?2)";
    connection.execute(sql, [now - 2 * HOUR, now - 40 * MINUTE]).expect(sql);
    connection
        .execute_batch(
            "INSERT INTO executor_jobs (id, type, status, attempts, locked_at, locked_by, last_error) VALUES
               ('job-12', 'build_artifact', 'running', 1, datetime('now', '-40 minutes'), 'w1', NULL),
               ('job-13', 'build_artifact', 'running', 1, datetime('now'), 'w2', NULL),
               ('job-77', 'build_artifact', 'dead', 10, NULL, NULL, 'RECLAIMED_TTL: Exceeded TTL (15 min)')",
        )
        .expect("jobs");
}
