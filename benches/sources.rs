//! What many sources cost: the dashboard, `serve` and `check --watch` on 200 small files of a config, each polled once
//! a second. Prints memory, threads, open files and processor time, while nothing is written and while one source in
//! eleven is written every second.
//!
//! `cargo bench --bench sources` measures this build; `-- OTHER/claimtop` another one beside it, by the same method.
//! `-- 50` takes 50 sources instead of 200.

#![allow(clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

use portable_pty::{CommandBuilder, NativePtySystem, PtySize, PtySystem};
use rusqlite::Connection;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How long each figure is taken.
const MEASURED: Duration = Duration::from_secs(20);

const SCHEMAS: [&str; 4] = [
    include_str!("../assets/schema/sqlite/task-queue.sql"),
    include_str!("../assets/schema/sqlite/executor-jobs.sql"),
    include_str!("../assets/schema/sqlite/coordination.sql"),
    include_str!("../assets/schema/sqlite/merge-queue.sql"),
];

/// Statements that put twenty claims into a database of each schema.
const CLAIMS: [&str; 4] = [
    "INSERT INTO task_types (name, created_at, updated_at) VALUES ('mail', datetime('now'), datetime('now'));
     INSERT INTO worker_heartbeats (worker_id, last_seen_at) VALUES ('worker-1', datetime('now'));
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
     INSERT INTO tasks (task_type_id, status, worker_id, claimed_at, created_at, updated_at)
       SELECT 1, 'claimed', 'worker-1', datetime('now'), datetime('now'), datetime('now') FROM n",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
     INSERT INTO executor_jobs (type, status, locked_at, locked_by, heartbeat_at)
       SELECT 'run_tsa', 'running', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 'worker-' || i,
              strftime('%Y-%m-%dT%H:%M:%fZ', 'now') FROM n",
    "INSERT INTO sessions (id, project_path) VALUES ('session-1', '/work');
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
     INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
       SELECT 'task-' || i, 'session-1', unixepoch() * 1000, (unixepoch() + 7200) * 1000, unixepoch() * 1000 FROM n",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
     INSERT INTO merge_queue (workspace, status, added_at, started_at, agent_id)
       SELECT 'workspace-' || i, 'claimed', unixepoch(), unixepoch(), 'agent-1' FROM n",
];

/// What a worker writes to each.
const BEATS: [&str; 4] = [
    "UPDATE worker_heartbeats SET last_seen_at = datetime('now')",
    "UPDATE executor_jobs SET heartbeat_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE locked_by = 'worker-1'",
    "UPDATE task_claims SET last_heartbeat = unixepoch() * 1000 WHERE task_id = 'task-1'",
    "UPDATE merge_queue SET state_changed_at = unixepoch() WHERE workspace = 'workspace-1'",
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(200);
    let other = arguments.iter().find(|argument| argument.contains('/')).map(PathBuf::from);
    let own = PathBuf::from(env!("CARGO_BIN_EXE_claimtop"));
    println!(
        "{count} sources, a poll a second each  {:>9} {:>8} {:>11} {:>12} {:>12}",
        "memory MB", "threads", "open files", "quiet %core", "written %core"
    );
    for (name, program) in other.iter().map(|other| ("other", other)).chain([("this", &own)]) {
        for verb in [Verb::Dashboard, Verb::Serve, Verb::Check] {
            // New ones for each run: their claims are healthy for some minutes.
            let folder = Folder::new(count);
            let run = Run::start(program, verb, &folder);
            run.wait_until_all_are_polled();
            let quiet = run.share_of_a_core(|| thread::sleep(MEASURED));
            let (memory, threads, files) = (run.memory(), run.threads(), run.open_files());
            let written = run.share_of_a_core(|| folder.write_for(MEASURED));
            println!(
                "{name:<6} {:<26} {memory:>9.1} {threads:>8} {files:>11} {quiet:>12.2} {written:>12.2}",
                format!("{verb:?}")
            );
        }
    }
}

/// The databases and the config that names them.
struct Folder {
    folder: tempfile::TempDir,
    databases: Vec<PathBuf>,
}

impl Folder {
    fn new(count: usize) -> Folder {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut config = String::new();
        let mut databases = Vec::new();
        for number in 0..count {
            let path = folder.path().join(format!("queue-{number:03}.db"));
            let connection = Connection::open(&path).expect("a database");
            let kind = number % SCHEMAS.len();
            let begin = "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF";
            for sql in [begin, SCHEMAS[kind], CLAIMS[kind]] {
                connection.execute_batch(sql).expect("its tables");
            }
            config.push_str(&format!("[source.queue-{number:03}]\nat = {path:?}\n"));
            databases.push(path);
        }
        fs::write(folder.path().join("config.toml"), config).expect("a config");
        Folder { folder, databases }
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("config.toml")
    }

    /// Writes to one source in eleven, every second.
    fn write_for(&self, time: Duration) {
        let open = |(number, path): (usize, &PathBuf)| {
            (number % BEATS.len(), Connection::open(path).expect("the database"))
        };
        // Eleven and four have no common divisor: all schemas are written.
        let writers: Vec<_> = self.databases.iter().enumerate().step_by(11).map(open).collect();
        let started = Instant::now();
        for round in 1.. {
            for (kind, writer) in &writers {
                writer
                    .execute_batch("PRAGMA synchronous = OFF; PRAGMA busy_timeout = 10000")
                    .expect("settings");
                writer.execute_batch(BEATS[*kind]).expect("a write");
            }
            thread::sleep((started + Duration::from_secs(round)).saturating_duration_since(Instant::now()));
            if started.elapsed() >= time {
                break;
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Verb {
    Dashboard,
    Serve,
    Check,
}

/// The program in a terminal of 160 columns and 45 lines.
struct Run {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    _master: Box<dyn portable_pty::MasterPty + Send>,
    _state: tempfile::TempDir,
}

impl Run {
    fn start(program: &Path, verb: Verb, folder: &Folder) -> Run {
        let size = PtySize { rows: 45, cols: 160, pixel_width: 0, pixel_height: 0 };
        let pty = NativePtySystem::default().openpty(size).expect("a pty");
        let state = tempfile::tempdir().expect("a folder");
        let mut command = CommandBuilder::new(program);
        match verb {
            Verb::Dashboard => {}
            Verb::Serve => command.args(["serve", "--listen", "127.0.0.1:0", "--every", "1s"]),
            Verb::Check => command.args(["check", "--watch", "1s"]),
        }
        command.arg("--config");
        command.arg(folder.config());
        command.env("XDG_STATE_HOME", state.path());
        command.env("XDG_CONFIG_HOME", "/nonexistent");
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        let child = pty.slave.spawn_command(command).expect("claimtop");
        drop(pty.slave);
        let mut reader = pty.master.try_clone_reader().expect("its output");
        thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while reader.read(&mut bytes).is_ok_and(|count| count > 0) {}
        });
        Run { child, _master: pty.master, _state: state }
    }

    /// Waits until the first polls, which open the sources, are over: then less than half a core is used.
    fn wait_until_all_are_polled(&self) {
        for _ in 0..60 {
            let share = self.share_of_a_core(|| thread::sleep(Duration::from_secs(3)));
            if share < 50.0 {
                break;
            }
        }
        thread::sleep(Duration::from_secs(15));
    }

    fn process(&self, file: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{file}", self.child.process_id().expect("a pid")))
    }

    /// The processor time that it used meanwhile, in per cent of a core.
    fn share_of_a_core(&self, meanwhile: impl FnOnce()) -> f64 {
        let ticks = || -> f64 {
            let stat = fs::read_to_string(self.process("stat")).expect("its stat");
            let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
            fields[11].parse::<f64>().expect("ticks") + fields[12].parse::<f64>().expect("ticks")
        };
        let (started, before) = (Instant::now(), ticks());
        meanwhile();
        (ticks() - before) / started.elapsed().as_secs_f64()
    }

    fn status(&self, field: &str) -> f64 {
        let status = fs::read_to_string(self.process("status")).expect("its status");
        let line = status.lines().find(|line| line.starts_with(field)).expect("a field");
        line.split_whitespace().nth(1).expect("a value").parse().expect("a number")
    }

    fn memory(&self) -> f64 {
        self.status("VmRSS") / 1_024.0
    }

    fn threads(&self) -> usize {
        self.status("Threads") as usize
    }

    fn open_files(&self) -> usize {
        fs::read_dir(self.process("fd")).expect("its files").count()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
