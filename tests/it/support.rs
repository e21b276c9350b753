//! What the tests share: databases in temporary folders and on servers, and the program itself.

pub mod engine;
pub mod figures;
pub mod postgres;
pub mod server;

use rusqlite::{Connection, Params};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The instant that frozen databases are looked at: 2026-11-15T12:00:00Z, in milliseconds.
pub const NOW: i64 = 1_794_744_000_000;
pub const SECOND: i64 = 1_000;
pub const MINUTE: i64 = 60 * SECOND;

/// A database of its own in a folder of its own, gone at the end of the test.
pub struct Database {
    folder: TempDir,
    pub connection: Connection,
}

impl Database {
    pub fn new(schema: &str) -> Database {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let connection = Connection::open(folder.path().join("tasks.db")).expect("a database");
        connection.pragma_update(None, "journal_mode", "WAL").expect("WAL mode");
        connection.execute_batch(schema).expect("the schema");
        Database { folder, connection }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("tasks.db")
    }

    /// A file for something else, beside the database.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn run(&self, sql: &str, values: impl Params) {
        self.connection.execute(sql, values).expect(sql);
    }

    /// `check --json` at [`NOW`]: the entry of the first profile, and the exit code.
    pub fn check(&self) -> (Json, i32) {
        self.check_with(&[])
    }

    pub fn check_with(&self, options: &[&str]) -> (Json, i32) {
        let mut arguments = vec!["check", "--json", "--now", "1794744000000"];
        arguments.extend(options);
        let output = claimtop(&arguments, &self.path());
        let all = json(&output);
        (all["sources"][0].clone(), output.status.code().expect("an exit code"))
    }

    /// `list --json` at [`NOW`].
    pub fn list(&self, options: &[&str]) -> Vec<Json> {
        let mut arguments = vec!["list", "--json", "--now", "1794744000000"];
        arguments.extend(options);
        lines(&claimtop(&arguments, &self.path()))
    }

    /// The one claim with this id.
    pub fn claim(&self, id: &str) -> Json {
        let all = self.list(&[]);
        let found: Vec<&Json> = all.iter().filter(|claim| claim["id"] == id).collect();
        assert_eq!(found.len(), 1, "claims named {id} in {all:#?}");
        found[0].clone()
    }
}

/// Runs the program on a database, away from the user's own config.
pub fn claimtop(arguments: &[&str], database: &Path) -> Output {
    command(arguments).arg(database).output().expect("claimtop runs")
}

pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_claimtop"));
    command.args(arguments).env("XDG_CONFIG_HOME", "/nonexistent").env_remove("NO_COLOR");
    command
}

/// The one JSON document on standard output.
pub fn json(output: &Output) -> Json {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let errors = String::from_utf8_lossy(&output.stderr);
        panic!("no JSON ({error}) in {:?}; stderr: {errors}", String::from_utf8_lossy(&output.stdout))
    })
}

/// The JSON lines on standard output of a run that succeeded.
pub fn lines(output: &Output) -> Vec<Json> {
    assert!(output.status.success(), "{}", stderr(output));
    stdout(output).lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// Document 000's database as the running code creates it.
pub const COORDINATION: &str = "
    CREATE TABLE sessions (id TEXT PRIMARY KEY NOT NULL, project_path TEXT NOT NULL, agent_type TEXT,
      started_at INTEGER NOT NULL, last_heartbeat INTEGER NOT NULL, metadata TEXT, pid INTEGER);
    CREATE INDEX idx_sessions_heartbeat ON sessions(last_heartbeat);
    CREATE TABLE locks (resource TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL,
      acquired_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, lock_type TEXT NOT NULL DEFAULT 'exclusive',
      refresh_count INTEGER NOT NULL DEFAULT 0);
    CREATE INDEX idx_locks_session ON locks(session_id);
    CREATE INDEX idx_locks_expires ON locks(expires_at);
    CREATE TABLE task_claims (task_id TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL,
      claimed_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, last_heartbeat INTEGER NOT NULL,
      heartbeat_count INTEGER NOT NULL DEFAULT 0, agent_type TEXT, release_reason TEXT, metadata TEXT);
    CREATE INDEX idx_claims_session ON task_claims(session_id);
    CREATE INDEX idx_claims_expires ON task_claims(expires_at);
    CREATE INDEX idx_claims_heartbeat ON task_claims(last_heartbeat);";

impl Database {
    /// A session of document 000 that last beat this long before [`NOW`].
    pub fn session(&self, id: &str, silent_for: i64) {
        self.run(
            "INSERT INTO sessions VALUES (?1, '/project', 'cli', ?2, ?3, '{}', 4312)",
            (id, NOW - 60 * MINUTE, NOW - silent_for),
        );
    }

    /// A claim of document 000 that expires this long after [`NOW`] and beats.
    pub fn task(&self, id: &str, session: &str, expires_in: i64) {
        self.run(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            (id, session, NOW - 20 * MINUTE, NOW + expires_in, NOW - 10 * SECOND),
        );
    }
}
