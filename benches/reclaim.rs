//! The cost of recovery in bulk: stale claims reclaimed with their trail, beside a raw guarded
//! `DELETE` or `UPDATE` of the same rows in the same run; and how long another writer waited meanwhile.
//!
//! `cargo bench --bench reclaim` runs 10 thousand and 100 thousand; `-- 10000` one size, `-- delete`
//! or `-- update` one kind.

#![allow(clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

use claimtop::config::Config;
use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::domain::verdict::Set;
use claimtop::profile::Library;
use claimtop::recovery::AuditedActor;
use claimtop::store::Filter;
use claimtop::store::{Effort, Options, Profiles, SourceLocation, Standing, WriteAccess, WriteRules};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const MINUTE: i64 = 60_000;

/// What a reclaim does to its row: coordination deletes it, executor-jobs queues the job again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Delete,
    Update,
}

fn main() {
    let sizes: Vec<i64> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![10_000, 100_000] } else { sizes };
    let asked = |name: &str| std::env::args().any(|argument| argument == name);
    println!(
        "{:>8}  {:>6}  {:>10}  {:>10}  {:>10}  {:>6}  {:>11}  {:>12}  {:>8}",
        "claims", "kind", "raw", "look", "reclaim", "ratio", "with pauses", "writer waits", "journal"
    );
    for claims in sizes {
        for (kind, other) in [(Kind::Delete, "update"), (Kind::Update, "delete")] {
            if !asked(other) || asked(kind.name()) {
                let raw = raw(kind, claims);
                ours(kind, claims, raw);
            }
        }
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Delete => "delete",
            Kind::Update => "update",
        }
    }

    fn schema(self) -> &'static str {
        match self {
            Kind::Delete => {
                "CREATE TABLE sessions (id TEXT PRIMARY KEY, last_heartbeat INTEGER, pid INTEGER);
                 CREATE INDEX idx_sessions_heartbeat ON sessions(last_heartbeat);
                 CREATE TABLE task_claims (task_id TEXT PRIMARY KEY, session_id TEXT, claimed_at INTEGER,
                   expires_at INTEGER, last_heartbeat INTEGER);
                 CREATE INDEX idx_claims_session ON task_claims(session_id);
                 CREATE INDEX idx_claims_expires ON task_claims(expires_at);
                 CREATE INDEX idx_claims_heartbeat ON task_claims(last_heartbeat);
                 INSERT INTO sessions VALUES ('w', unixepoch() * 1000, 1);"
            }
            Kind::Update => {
                "CREATE TABLE executor_jobs (id TEXT PRIMARY KEY, type TEXT, status TEXT, attempts INTEGER,
                   max_attempts INTEGER, locked_at TEXT, locked_by TEXT, heartbeat_at TEXT, last_error TEXT);
                 CREATE INDEX idx_jobs_running ON executor_jobs(status, type, locked_at, heartbeat_at);"
            }
        }
    }

    /// Every second claim is stale; the others are renewed by the other writer.
    fn insert(self, connection: &Connection, number: i64, now: i64) {
        let is_stale = number % 2 == 0;
        let name = format!("task-{number:08}");
        let done = match self {
            Kind::Delete => {
                let expires = if is_stale { now - MINUTE - number } else { now + 60 * MINUTE };
                let sql = "INSERT INTO task_claims VALUES (?1, 'w', ?2, ?3, ?4)";
                let values = params![name, now - 40 * MINUTE, expires, now];
                connection.prepare_cached(sql).and_then(|mut insert| insert.execute(values))
            }
            Kind::Update => {
                let since = if is_stale { now - 90 * MINUTE - number } else { now };
                let sql =
                    "INSERT INTO executor_jobs VALUES (?1, 'run_tsa', 'running', 1, 10, ?2, 'w', ?2, NULL)";
                connection
                    .prepare_cached(sql)
                    .and_then(|mut insert| insert.execute(params![name, text(since)]))
            }
        };
        done.expect("a claim");
    }

    /// All columns of the stale rows, and a statement that is guarded by each of them and by the time.
    fn raw(self) -> (&'static str, &'static str) {
        match self {
            Kind::Delete => (
                "SELECT * FROM task_claims WHERE expires_at < ?1",
                "DELETE FROM task_claims WHERE task_id IS ?1 AND session_id IS ?2 AND claimed_at IS ?3
                 AND expires_at IS ?4 AND last_heartbeat IS ?5 AND expires_at < ?6",
            ),
            Kind::Update => (
                "SELECT * FROM executor_jobs WHERE status = 'running' AND type = 'run_tsa' AND locked_at < ?1",
                "UPDATE executor_jobs SET status = 'queued', attempts = attempts + 1, locked_at = NULL,
                   locked_by = NULL, last_error = 'RECLAIMED_TTL: Exceeded TTL (30 min) at attempt ' || attempts
                 WHERE id IS ?1 AND type IS ?2 AND status IS ?3 AND attempts IS ?4 AND max_attempts IS ?5
                 AND locked_at IS ?6 AND locked_by IS ?7 AND heartbeat_at IS ?8 AND last_error IS ?9
                 AND locked_at < ?10",
            ),
        }
    }

    fn limit(self, now: i64) -> Value {
        match self {
            Kind::Delete => Value::Integer(now),
            Kind::Update => Value::Text(text(now - 30 * MINUTE)),
        }
    }

    fn beat(self) -> &'static str {
        match self {
            Kind::Delete => "UPDATE task_claims SET last_heartbeat = ?1 WHERE task_id = ?2",
            Kind::Update => "UPDATE executor_jobs SET heartbeat_at = ?1 WHERE id = ?2",
        }
    }
}

fn build(kind: Kind, path: &Path, claims: i64) -> Connection {
    let mut connection = Connection::open(path).expect("a database");
    connection.execute_batch(&format!("PRAGMA journal_mode = WAL; {}", kind.schema())).expect("tables");
    let now = now_ms();
    let transaction = connection.transaction().expect("a transaction");
    for claim in 0..2 * claims {
        kind.insert(&transaction, claim, now);
    }
    transaction.commit().expect("commit");
    connection
}

/// One transaction, one guarded statement per row, nothing recorded.
fn raw(kind: Kind, claims: i64) -> Duration {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let connection = build(kind, &folder.path().join("tasks.db"), claims);
    let limit = kind.limit(now_ms());
    let (select, act) = kind.raw();
    let mut select = connection.prepare(select).expect("a statement");
    let width = select.column_count();
    let rows: Vec<Vec<Value>> = select
        .query_map([&limit], |row| (0..width).map(|at| row.get(at)).collect())
        .expect("rows")
        .collect::<Result<_, _>>()
        .expect("rows");
    assert_eq!(rows.len() as i64, claims);
    let started = Instant::now();
    connection.execute_batch("BEGIN IMMEDIATE").expect("begin");
    let mut act = connection.prepare(act).expect("a statement");
    for row in &rows {
        let changed = act.execute(params_from_iter(row.iter().chain([&limit]))).expect("an act");
        assert_eq!(changed, 1);
    }
    connection.execute_batch("COMMIT").expect("commit");
    started.elapsed()
}

fn ours(kind: Kind, claims: i64, raw: Duration) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("tasks.db");
    drop(build(kind, &path, claims));
    let trail = folder.path().join("trail");
    let mut audited =
        AuditedActor::open(writable(options(&path)), "tasks.db", &trail).expect("an audited actor");
    let started = Instant::now();
    let filter = Filter { sets: vec![Set::Stale], ..Filter::default() };
    let all = audited.actor().select(&filter).expect("the stale claims");
    let look = started.elapsed();
    assert_eq!(all.len() as i64, claims);

    let done = AtomicBool::new(false);
    let (elapsed, working, waited) = thread::scope(|scope| {
        let writer = scope.spawn(|| beat(kind, &path, claims, &done));
        let mut applied = 0;
        let started = Instant::now();
        let pauses = audited
            .perform_all(all.iter().collect(), Action::Reclaim, &Authorization::default(), &mut |told| {
                applied += i64::from(told.acted.outcome == Outcome::Applied);
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
        "{claims:>8}  {:>6}  {:>7.1} ms  {:>7.1} ms  {:>7.1} ms  {:>6.2}  {:>8.1} ms  {:>9.1} ms  {:>5.1} MB",
        kind.name(),
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
fn beat(kind: Kind, path: &Path, claims: i64, done: &AtomicBool) -> Duration {
    let connection = Connection::open(path).expect("the database");
    connection.busy_timeout(Duration::from_secs(10)).expect("a timeout");
    connection.execute_batch("PRAGMA synchronous = NORMAL").expect("a pragma");
    let mut update = connection.prepare(kind.beat()).expect("a statement");
    let mut longest = Duration::ZERO;
    let mut beats = 0_i64;
    while !done.load(Ordering::Relaxed) {
        let task = format!("task-{:08}", (beats * 7_919 % claims) * 2 + 1);
        let started = Instant::now();
        let now = match kind {
            Kind::Delete => Value::Integer(now_ms()),
            Kind::Update => Value::Text(text(now_ms())),
        };
        update.execute(params![now, task]).expect("a heartbeat");
        longest = longest.max(started.elapsed());
        beats += 1;
        thread::sleep(Duration::from_millis(1));
    }
    longest
}

fn options(path: &Path) -> Options {
    let config = Config::default();
    Options {
        at: SourceLocation::File(path.into()),
        profiles: Profiles::Detect(Library::built_in()),
        operator: config.operator(None),
        effort: Effort { rows: 0, slice: config.census_slice, whole: usize::MAX },
        busy_timeout: Duration::from_secs(10),
        poll_timeout: Duration::from_secs(60),
        frozen_at: None,
        prober: None,
        registrations: claimtop::store::Registrations::default(),
        protected: Default::default(),
        allow_functions: Vec::new(),
        warn: None,
    }
}

/// Permission to write: nothing is protected here.
fn writable(options: Options) -> WriteAccess {
    let granted = WriteRules::default().grant("", Standing::Unconfigured, || Ok(options));
    granted.expect("permission to write")
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn text(ms: i64) -> String {
    let at = chrono::DateTime::from_timestamp_millis(ms).expect("a time");
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

fn now_ms() -> i64 {
    chrono::Utc::now().timestamp_millis()
}
