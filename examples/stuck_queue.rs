//! Writes a small database in which things have gone wrong, to try claimtop on:
//!
//! ```text
//! cargo run --release --example stuck_queue -- stuck.db
//! cargo run --release -- check stuck.db
//! cargo run --release -- list stuck.db
//! ```

use rusqlite::{Connection, params};
use std::path::PathBuf;

const SCHEMA: &str = "
    CREATE TABLE sessions (id TEXT PRIMARY KEY NOT NULL, project_path TEXT NOT NULL, agent_type TEXT,
      started_at INTEGER NOT NULL, last_heartbeat INTEGER NOT NULL, metadata TEXT, pid INTEGER);
    CREATE INDEX idx_sessions_heartbeat ON sessions(last_heartbeat);
    CREATE TABLE task_claims (task_id TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL,
      claimed_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, last_heartbeat INTEGER NOT NULL,
      heartbeat_count INTEGER NOT NULL DEFAULT 0, agent_type TEXT, release_reason TEXT, metadata TEXT);
    CREATE INDEX idx_claims_session ON task_claims(session_id);
    CREATE INDEX idx_claims_expires ON task_claims(expires_at);
    CREATE INDEX idx_claims_heartbeat ON task_claims(last_heartbeat);
    CREATE TABLE executor_jobs (id TEXT PRIMARY KEY, type TEXT NOT NULL, status TEXT NOT NULL,
      attempts INTEGER NOT NULL DEFAULT 0, max_attempts INTEGER NOT NULL DEFAULT 10, run_at TEXT,
      locked_at TEXT, locked_by TEXT, heartbeat_at TEXT, last_error TEXT, updated_at TEXT);
    CREATE INDEX idx_jobs_reclaim ON executor_jobs(status, type, locked_at);";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path: PathBuf = std::env::args_os().nth(1).ok_or("name the file to write")?.into();
    if path.exists() {
        return Err(format!("{} is there already", path.display()).into());
    }
    let connection = Connection::open(&path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.execute_batch(SCHEMA)?;
    let now = chrono::Utc::now();
    coordination(&connection, now.timestamp_millis())?;
    jobs(&connection, now)?;
    Ok(())
}

/// Sessions and their claims: one works, one has died, one was never registered.
fn coordination(connection: &Connection, now: i64) -> rusqlite::Result<()> {
    const MINUTE: i64 = 60_000;
    for (id, silent_for, pid) in [("cli-7f3a", 5_000, 4_312), ("cli-91c0", 14 * MINUTE, 4_377)] {
        connection.execute(
            "INSERT INTO sessions VALUES (?1, '/srv/app', 'cli', ?2, ?3, '{}', ?4)",
            params![id, now - 90 * MINUTE, now - silent_for, pid],
        )?;
    }
    let claims = [
        ("render-report", "cli-7f3a", 10, 24 * MINUTE),
        ("sync-invoices", "cli-7f3a", 26, 2 * MINUTE + 10_000),
        ("rebuild-index", "cli-7f3a", 41, -11 * MINUTE),
        ("import-customers", "cli-91c0", 17, 13 * MINUTE),
        ("send-reminders", "cli-0b22", 16, 14 * MINUTE),
    ];
    for (task, session, minutes_ago, left) in claims {
        let beat = if session == "cli-7f3a" { now - 20_000 } else { now - 14 * MINUTE };
        connection.execute(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat, agent_type)
             VALUES (?1, ?2, ?3, ?4, ?5, 'cli')",
            params![task, session, now - minutes_ago * MINUTE, now + left, beat],
        )?;
    }
    Ok(())
}

/// Jobs with a time to live by type: one is well, one has outlived it twice, two wait.
fn jobs(connection: &Connection, now: chrono::DateTime<chrono::Utc>) -> rusqlite::Result<()> {
    let ago = |minutes: i64| (now - chrono::Duration::minutes(minutes)).to_rfc3339();
    let jobs = [
        ("job-101", "run_tsa", "running", 1, Some("orchestrator-5e1")),
        ("job-102", "build_artifact", "running", 33, Some("orchestrator-c07")),
        ("job-103", "run_tsa", "queued", 4, None),
        ("job-104", "run_tsa", "queued", 9, None),
    ];
    for (id, kind, status, minutes, holder) in jobs {
        connection.execute(
            "INSERT INTO executor_jobs (id, type, status, attempts, run_at, locked_at, locked_by)
             VALUES (?1, ?2, ?3, 2, ?4, ?5, ?6)",
            params![id, kind, status, ago(minutes), holder.map(|_| ago(minutes)), holder],
        )?;
    }
    Ok(())
}
