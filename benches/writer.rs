//! Whether watching slows the writers down: 1,000 heartbeats a second on 100 thousand claims, alone
//! and beside a poll every second, in one run; and how large the write-ahead log grows.
//!
//! `cargo bench --bench writer`

#![allow(clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

use claimtop::config::Config;
use claimtop::profile::Library;
use claimtop::store::{Effort, Options, Profiles, Reader, SourceLocation};
use rusqlite::{Connection, params};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const CLAIMS: i64 = 100_000;
const WRITES: usize = 6_000;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("tasks.db");
    build(&path);
    println!("{:<28}  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}", "writer", "p50", "p95", "p99", "worst", "WAL");
    for round in 1..=2 {
        report(&format!("alone ({round})"), &path, || {});
        report(&format!("beside a poll a second ({round})"), &path, || poll_each_second(&path));
    }
}

static DONE: AtomicBool = AtomicBool::new(false);

fn build(path: &Path) {
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
    for session in 0..1_000 {
        let sql = "INSERT INTO sessions VALUES (?1, ?2, 1)";
        transaction.execute(sql, params![format!("session-{session}"), now]).expect("a session");
    }
    for claim in 0..CLAIMS {
        let session = format!("session-{}", claim % 1_000);
        let values = params![format!("task-{claim}"), session, now, now + 600_000 + claim, now];
        transaction.execute("INSERT INTO task_claims VALUES (?1, ?2, ?3, ?4, ?5)", values).expect("a claim");
    }
    transaction.commit().expect("commit");
}

/// Beats [`WRITES`] times at a steady pace while `beside` runs in another thread.
fn report(name: &str, path: &Path, beside: impl FnOnce() + Send) {
    DONE.store(false, Ordering::Relaxed);
    let connection = Connection::open(path).expect("the database");
    connection
        .execute_batch("PRAGMA synchronous = NORMAL; PRAGMA wal_checkpoint(TRUNCATE)")
        .expect("pragmas");
    let mut largest = 0;
    let mut times = thread::scope(|scope| {
        let other = scope.spawn(beside);
        let mut times = Vec::with_capacity(WRITES);
        let mut beat = connection
            .prepare(
                "UPDATE task_claims SET last_heartbeat = ?1, expires_at = ?1 + 1800000 WHERE task_id = ?2",
            )
            .expect("a statement");
        let started = Instant::now();
        for write in 0..WRITES {
            let due = Duration::from_millis(write as u64);
            thread::sleep(due.saturating_sub(started.elapsed()));
            let task = format!("task-{}", write * 7_919 % CLAIMS as usize);
            let before = Instant::now();
            beat.execute(params![now_ms(), task]).expect("a heartbeat");
            times.push(before.elapsed());
            largest = largest.max(wal_size(path));
        }
        DONE.store(true, Ordering::Relaxed);
        other.join().expect("the poller");
        times
    });
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{name:<28}  {:>5.3} ms  {:>5.3} ms  {:>5.3} ms  {:>5.1} ms  {:>5.1} MB",
        at(0.5),
        at(0.95),
        at(0.99),
        at(1.0),
        largest as f64 / 1e6
    );
}

fn poll_each_second(path: &Path) {
    let config = Config::default();
    let mut reader = Reader::open(Options {
        at: SourceLocation::File(path.into()),
        profiles: Profiles::Detect(Library::built_in()),
        operator: config.operator(None),
        effort: Effort { rows: config.row_limit, slice: config.census_slice, whole: config.census_slice },
        busy_timeout: Duration::from_secs(2),
        poll_timeout: Duration::from_secs(10),
        frozen_at: None,
        prober: None,
        registrations: claimtop::store::Registrations::default(),
        protected: Default::default(),
        allow_functions: Vec::new(),
        warn: None,
    })
    .expect("a reader");
    while !DONE.load(Ordering::Relaxed) {
        reader.poll().expect("a poll");
        thread::sleep(Duration::from_secs(1));
    }
}

fn wal_size(path: &Path) -> u64 {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    std::fs::metadata(name).map_or(0, |metadata| metadata.len())
}

fn now_ms() -> i64 {
    chrono::Utc::now().timestamp_millis()
}
