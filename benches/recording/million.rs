//! `claimtop record` on a million claims of 1,000 sessions on 30 hosts, one of which dies: the CPU time of a frame, the
//! size of the file, and the memory of the recorder, before and after.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use claimtop::recording::Recording;
use rusqlite::{Connection, params};

use super::measure::peak_memory_of;

const CLAIMS: i64 = 1_000_000;
const SESSIONS: i64 = 990;
const HOSTS: i64 = 30;
/// So long it is watched before a host dies and after that.
const WATCHED: Duration = Duration::from_secs(40);

/// `rows` is `row_limit` of the config, if it is not the default.
pub fn run(rows: Option<i64>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    if let Some(rows) = rows {
        std::fs::create_dir(folder.path().join("claimtop")).expect("a folder");
        std::fs::write(folder.path().join("claimtop/config.toml"), format!("row_limit = {rows}\n"))
            .expect("a file");
    }
    let (database, recording) = (folder.path().join("tasks.db"), folder.path().join("incident.rec"));
    build(&database);
    let child = Command::new(env!("CARGO_BIN_EXE_claimtop"))
        .args(["record", "--every", "1s", "--out"])
        .args([&recording, &database])
        .env("XDG_STATE_HOME", folder.path())
        .env("XDG_CONFIG_HOME", folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("claimtop runs");
    let mut recorder = Recorder { child, path: recording };
    recorder.wait_for(1);
    recorder.report("quiet");
    let connection = Connection::open(&database).expect("a database");
    let dead = connection
        .execute("UPDATE sessions SET last_heartbeat = last_heartbeat - 7200000 WHERE id LIKE 'web-7-%'", [])
        .expect("an update");
    println!("host web-7 with {dead} sessions is silent");
    recorder.report("a host is dead");
    let orphaned: i64 = Connection::open(&recorder.path)
        .and_then(|file| {
            file.query_row(
                "SELECT coalesce(max(orphaned), 0) FROM board_poll WHERE coverage <> 'gone'",
                [],
                |row| row.get(0),
            )
        })
        .expect("counts");
    println!("orphaned at most {orphaned}, as recorded");
    recorder.child.kill().expect("an end");
    recorder.child.wait().expect("an end");
}

struct Recorder {
    child: Child,
    path: std::path::PathBuf,
}

impl Recorder {
    fn frames(&self) -> usize {
        Recording::open(&self.path).and_then(|recording| recording.frames()).map_or(0, |frames| frames.len())
    }

    fn wait_for(&self, frames: usize) {
        while self.frames() < frames {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The CPU time of the whole process, in seconds.
    fn used(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("a process");
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
        (ticks(11) + ticks(12)) / 100.0
    }

    fn size(&self) -> u64 {
        let of = |end: &str| {
            let mut path = self.path.as_os_str().to_owned();
            path.push(end);
            std::fs::metadata(path).map_or(0, |file| file.len())
        };
        of("") + of("-wal")
    }

    fn report(&self, what: &str) {
        let (frames, used, size, started) = (self.frames(), self.used(), self.size(), Instant::now());
        while started.elapsed() < WATCHED {
            std::thread::sleep(Duration::from_millis(100));
        }
        let seen = self.frames() - frames;
        println!(
            "{what:<16} {seen:>3} frames, {:>7.1} ms of CPU each with the poll; file + {} kB; memory {:.1} MB at most",
            (self.used() - used) * 1e3 / seen as f64,
            self.size().saturating_sub(size) / 1_000,
            peak_memory_of(&self.child.id().to_string())
        );
    }
}

/// Claims whose sessions are all alive.
fn build(path: &Path) {
    let mut connection = Connection::open(path).expect("a database");
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
             CREATE TABLE sessions (id TEXT PRIMARY KEY NOT NULL, project_path TEXT NOT NULL, agent_type TEXT,
               started_at INTEGER NOT NULL, last_heartbeat INTEGER NOT NULL, metadata TEXT, pid INTEGER);
             CREATE INDEX idx_sessions_heartbeat ON sessions(last_heartbeat);
             CREATE TABLE task_claims (task_id TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL,
               claimed_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, last_heartbeat INTEGER NOT NULL,
               heartbeat_count INTEGER NOT NULL DEFAULT 0, agent_type TEXT, release_reason TEXT, metadata TEXT);
             CREATE INDEX idx_claims_session ON task_claims(session_id);
             CREATE INDEX idx_claims_expires ON task_claims(expires_at);
             CREATE INDEX idx_claims_heartbeat ON task_claims(last_heartbeat);",
        )
        .expect("the tables");
    let now: i64 = connection
        .query_row("SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)", [], |row| row.get(0))
        .expect("a clock");
    let transaction = connection.transaction().expect("a transaction");
    for session in 0..SESSIONS {
        transaction
            .prepare_cached("INSERT INTO sessions (id, project_path, started_at, last_heartbeat) VALUES (?1, '/', ?2, ?2)")
            .and_then(|mut insert| insert.execute(params![format!("web-{}-{session}", session % HOSTS), now]))
            .expect("a session");
    }
    for claim in 0..CLAIMS {
        let session = claim % SESSIONS;
        transaction
            .prepare_cached(
                "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat) \
                 VALUES (?1, ?2, ?3, ?4, ?3)",
            )
            .and_then(|mut insert| {
                let holder = format!("web-{}-{session}", session % HOSTS);
                insert.execute(params![format!("task-{claim:07}"), holder, now, now + 7_200_000])
            })
            .expect("a claim");
    }
    transaction.commit().expect("a commit");
}
