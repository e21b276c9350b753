//! The cost of recovery in bulk: stale claims reclaimed with their trail, beside a raw guarded
//! `DELETE` of the same rows in the same run; and how long another writer waited meanwhile.
//!
//! `cargo bench --bench reclaim` runs 10 thousand and 100 thousand; `-- 10000` one size.

#![allow(clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

use claimtop::config::Config;
use claimtop::domain::recovery::{Action, Outcome, Word};
use claimtop::domain::verdict::Set;
use claimtop::profile::Library;
use claimtop::recovery::Desk;
use claimtop::store::Filter;
use claimtop::store::sqlite::{Effort, Options, Profiles};
use rusqlite::{Connection, params};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const MINUTE: i64 = 60_000;

fn main() {
    let sizes: Vec<i64> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![10_000, 100_000] } else { sizes };
    println!(
        "{:>8}  {:>10}  {:>10}  {:>10}  {:>6}  {:>10}  {:>12}  {:>8}",
        "claims", "raw", "look", "reclaim", "ratio", "with pauses", "writer waits", "journal"
    );
    for claims in sizes {
        let raw = raw(claims);
        ours(claims, raw);
    }
}

fn build(path: &Path, claims: i64) -> Connection {
    let mut connection = Connection::open(path).expect("a database");
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE sessions (id TEXT PRIMARY KEY, last_heartbeat INTEGER, pid INTEGER);
             CREATE INDEX idx_sessions_heartbeat ON sessions(last_heartbeat);
             CREATE TABLE task_claims (task_id TEXT PRIMARY KEY, session_id TEXT, claimed_at INTEGER,
               expires_at INTEGER, last_heartbeat INTEGER);
             CREATE INDEX idx_claims_session ON task_claims(session_id);
             CREATE INDEX idx_claims_expires ON task_claims(expires_at);
             CREATE INDEX idx_claims_heartbeat ON task_claims(last_heartbeat);",
        )
        .expect("tables");
    let now = now_ms();
    let transaction = connection.transaction().expect("a transaction");
    transaction.execute("INSERT INTO sessions VALUES ('w', ?1, 1)", [now]).expect("a session");
    for claim in 0..2 * claims {
        // Every second claim is stale; the others are renewed by the other writer.
        let expires = if claim % 2 == 0 { now - MINUTE - claim } else { now + 60 * MINUTE };
        let values = params![format!("task-{claim:08}"), now - 40 * MINUTE, expires, now];
        transaction.execute("INSERT INTO task_claims VALUES (?1, 'w', ?2, ?3, ?4)", values).expect("a claim");
    }
    transaction.commit().expect("commit");
    connection
}

/// One transaction, one guarded statement per row, nothing recorded.
fn raw(claims: i64) -> Duration {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let connection = build(&folder.path().join("tasks.db"), claims);
    let now = now_ms();
    let mut select = connection
        .prepare("SELECT task_id, session_id, claimed_at, expires_at, last_heartbeat FROM task_claims WHERE expires_at < ?1")
        .expect("a statement");
    let rows: Vec<(String, String, i64, i64, i64)> = select
        .query_map([now], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
        .expect("rows")
        .collect::<Result<_, _>>()
        .expect("rows");
    assert_eq!(rows.len() as i64, claims);
    let started = Instant::now();
    connection.execute_batch("BEGIN IMMEDIATE").expect("begin");
    let mut delete = connection
        .prepare(
            "DELETE FROM task_claims WHERE task_id IS ?1 AND session_id IS ?2 AND claimed_at IS ?3
             AND expires_at IS ?4 AND last_heartbeat IS ?5 AND expires_at < ?6",
        )
        .expect("a statement");
    for row in &rows {
        delete.execute(params![row.0, row.1, row.2, row.3, row.4, now]).expect("a deletion");
    }
    connection.execute_batch("COMMIT").expect("commit");
    started.elapsed()
}

fn ours(claims: i64, raw: Duration) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("tasks.db");
    drop(build(&path, claims));
    let trail = folder.path().join("trail");
    let mut desk = Desk::open(options(&path), "tasks.db", &trail).expect("a desk");
    let started = Instant::now();
    let filter = Filter { sets: vec![Set::Stale], ..Filter::default() };
    let all = desk.actor().select(&filter).expect("the stale claims");
    let look = started.elapsed();
    assert_eq!(all.len() as i64, claims);

    let done = AtomicBool::new(false);
    let (elapsed, working, waited) = thread::scope(|scope| {
        let writer = scope.spawn(|| beat(&path, claims, &done));
        let mut applied = 0;
        let started = Instant::now();
        let pauses = desk
            .perform_all(&all, Action::Reclaim, &Word::default(), &mut |report| {
                applied += i64::from(report.outcome == Outcome::Applied);
                true
            })
            .expect("the bulk");
        let elapsed = started.elapsed();
        done.store(true, Ordering::Relaxed);
        assert_eq!(applied, claims);
        (elapsed, elapsed.saturating_sub(pauses), writer.join().expect("the writer"))
    });
    let journal = std::fs::metadata(trail.join("journal.jsonl")).map_or(0, |metadata| metadata.len());
    println!(
        "{claims:>8}  {:>7.1} ms  {:>7.1} ms  {:>7.1} ms  {:>6.2}  {:>8.1} ms  {:>9.1} ms  {:>5.1} MB",
        ms(raw),
        ms(look),
        ms(working),
        working.as_secs_f64() / raw.as_secs_f64(),
        ms(elapsed),
        ms(waited),
        journal as f64 / 1e6
    );
}

/// Beats a thousand times a second until the other is done; the longest it had to wait.
fn beat(path: &Path, claims: i64, done: &AtomicBool) -> Duration {
    let connection = Connection::open(path).expect("the database");
    connection.busy_timeout(Duration::from_secs(10)).expect("a timeout");
    connection.execute_batch("PRAGMA synchronous = NORMAL").expect("a pragma");
    let mut update = connection
        .prepare("UPDATE task_claims SET last_heartbeat = ?1 WHERE task_id = ?2")
        .expect("a statement");
    let mut longest = Duration::ZERO;
    let mut beats = 0_i64;
    while !done.load(Ordering::Relaxed) {
        let task = format!("task-{:08}", (beats * 7_919 % claims) * 2 + 1);
        let started = Instant::now();
        update.execute(params![now_ms(), task]).expect("a heartbeat");
        longest = longest.max(started.elapsed());
        beats += 1;
        thread::sleep(Duration::from_millis(1));
    }
    longest
}

fn options(path: &Path) -> Options {
    let config = Config::default();
    Options {
        path: path.into(),
        profiles: Profiles::Detect(Library::built_in()),
        operator: config.operator(None),
        effort: Effort { rows: 0, slice: config.census_slice, whole: usize::MAX },
        busy_timeout: Duration::from_secs(10),
        poll_timeout: Duration::from_secs(60),
        frozen_at: None,
        prober: None,
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn now_ms() -> i64 {
    chrono::Utc::now().timestamp_millis()
}
