//! What the tests share: databases in temporary folders and on servers, and the program itself.

mod asking;
pub mod certificates;
mod database;
mod ending;
pub mod engine;
pub mod faketime;
pub mod figures;
mod intents;
pub mod mariadb;
pub mod mysql;
pub mod options;
pub mod postgres;
pub mod preload;
pub mod server;
mod spares;

use serde_json::Value as Json;
use std::path::Path;
use std::process::{Command, Output};

pub use database::{Database, dump, in_their_words, text};
pub use ending::Ending;
pub use intents::Noted;

/// The instant that frozen databases are looked at: 2026-11-15T12:00:00Z, in milliseconds.
pub const NOW: i64 = 1_794_744_000_000;
pub const SECOND: i64 = 1_000;
pub const MINUTE: i64 = 60 * SECOND;

/// Runs the program on a database, away from the user's own config.
pub fn claimtop(arguments: &[&str], database: &Path) -> Output {
    command(arguments).arg(database).output().expect("claimtop runs")
}

pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_claimtop"));
    command.args(arguments).env("XDG_CONFIG_HOME", "/proc/nonexistent").env_remove("NO_COLOR");
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

/// A name of at most 16 bytes as a UUID: PostgreSQL's tables know no other names.
pub fn uuid_of(name: &str) -> String {
    let mut bytes = [0; 16];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    uuid::Uuid::from_bytes(bytes).to_string()
}

/// The way back.
pub fn name_of(id: &str) -> String {
    let bytes = uuid::Uuid::parse_str(id).expect("a UUID").into_bytes();
    let name: Vec<u8> = bytes.into_iter().take_while(|byte| *byte != 0).collect();
    String::from_utf8(name).expect("a name")
}

/// The database of coordination as the running code creates it.
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
