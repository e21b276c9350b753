//! The cost of watching: one poll of claimtop beside the queries of coordination, run raw on the
//! same file in the same run.
//!
//! `cargo bench --bench poll` prints the ratios for 10 thousand to 5 million claims over 1,000
//! sessions, compares every count with a brute-force answer, and measures the peak memory of
//! `claimtop check`. It goes on with 10 thousand claims of as many holders, with a table without
//! indexes, and with the start of the program on a small file; last it prints how each figure grows.
//! `cargo bench --bench poll -- 10000` runs one size only.

#![allow(clippy::expect_used, clippy::print_stdout)]

#[path = "support/measure.rs"]
mod measure;

use claimtop::config::Config;
use claimtop::domain::snapshot::Snapshot;
use claimtop::profile::Library;
use claimtop::store::{Effort, Options, Profiles, Reader, SourceLocation};
use measure::{median, ms, timed};
use rusqlite::{Connection, params};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const SESSIONS: i64 = 1_000;
const MINUTE: i64 = 60_000;

fn main() {
    let asked: Vec<i64> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if asked.is_empty() { vec![10_000, 100_000, 1_000_000, 5_000_000] } else { asked.clone() };
    println!("times are medians of one run on this machine, read the ratios\n");
    println!(
        "{:>9}  {:>8}  {:>10}  {:>10}  {:>7}  {:>10}  {:>10}  {:>7}  {:>10}  {:>8}  {:>8}",
        "claims",
        "holders",
        "documents",
        "poll",
        "ratio",
        "worst",
        "check",
        "ratio",
        "quiet",
        "ratio",
        "memory"
    );
    let mut all = Vec::new();
    for claims in sizes {
        let (_folder, path) = file();
        build(&path, claims, SESSIONS);
        all.push((claims, measure(&path, claims, SESSIONS)));
    }
    if !asked.is_empty() {
        return;
    }
    let (_folder, path) = file();
    build(&path, 10_000, 10_000);
    measure(&path, 10_000, 10_000);
    without_index(&path);
    start();
    growth(&all);
}

fn file() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("tasks.db");
    (folder, path)
}

/// What one size takes.
struct Figures {
    documents: Duration,
    poll: Duration,
    check: Duration,
    quiet: Duration,
}

/// How each figure grows from the smallest size on.
fn growth(all: &[(i64, Figures)]) {
    let Some((_, first)) = all.first() else { return };
    println!("\n{:>9}  {:>10}  {:>8}  {:>8}  {:>8}", "claims", "documents", "poll", "check", "quiet");
    for (claims, figures) in all {
        let times = |one: fn(&Figures) -> Duration| {
            let ratio = one(figures).as_secs_f64() / one(first).as_secs_f64().max(1e-9);
            format!("{ratio:.1} x")
        };
        println!(
            "{claims:>9}  {:>10}  {:>8}  {:>8}  {:>8}",
            times(|one| one.documents),
            times(|one| one.poll),
            times(|one| one.check),
            times(|one| one.quiet)
        );
    }
}

/// The same file without a useful index: every poll reads a slice of it.
fn without_index(path: &Path) {
    std::fs::remove_file(path).expect("the old file");
    build(path, 200_000, SESSIONS);
    let connection = Connection::open(path).expect("the database");
    connection
        .execute_batch(
            "DROP INDEX idx_claims_session; DROP INDEX idx_claims_expires; DROP INDEX idx_claims_heartbeat;
             DROP INDEX idx_sessions_heartbeat;",
        )
        .expect("no indexes");
    let mut reader = Reader::open(options(path)).expect("a reader");
    reader.poll().expect("a poll");
    let documents = median(7, || documents_queries(&Connection::open(path).expect("the database")));
    let mut writes = 0;
    let poll = median(15, || {
        writes += 1;
        let write = "UPDATE sessions SET metadata = ?1 WHERE id = 'session-00500'";
        connection.execute(write, [writes]).expect("a write");
        timed(|| drop(reader.poll().expect("a poll")))
    });
    println!(
        "\n200,000 claims without an index: documents {:.2} ms, one poll, a slice of the table, {:.2} ms",
        ms(documents),
        ms(poll)
    );
}

/// `claimtop check` on a small file, with every built-in profile to choose from, beside `true`.
fn start() {
    let (_folder, path) = file();
    build(&path, 100, 10);
    let nothing = median(31, || timed(|| drop(Command::new("true").output().expect("true runs"))));
    let check = median(31, || timed(|| drop(claimtop(&["check".as_ref(), path.as_os_str()]))));
    println!(
        "start: `claimtop check` of 100 claims with {} built-in profiles takes {:.1} ms more than `true` ({:.1} ms)",
        Library::built_in().entries().len(),
        ms(check.saturating_sub(nothing)),
        ms(nothing)
    );
}

/// The running system's tables and indexes, with 1 % expired, 1 % expiring, 1 % of stale sessions
/// and 0.5 % of missing sessions.
fn build(path: &Path, claims: i64, sessions: i64) {
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
        .expect("tables");
    let now = now_ms();
    let session = |number: i64| format!("session-{number:05}");
    let transaction = connection.transaction().expect("a transaction");
    {
        let mut insert = transaction
            .prepare("INSERT INTO sessions VALUES (?1, '/project', 'cli', ?2, ?3, '{}', ?4)")
            .expect("a statement");
        // The first 1 % are stale, the next 0.5 % are missing.
        let (stale, missing) = (sessions / 100, sessions / 100..sessions / 100 + sessions / 200);
        for number in (0..sessions).filter(|number| !missing.contains(number)) {
            let beat = if number < stale { now - 20 * MINUTE } else { now - 30_000 };
            insert.execute(params![session(number), now - 60 * MINUTE, beat, number]).expect("a session");
        }
        let mut insert = transaction
            .prepare("INSERT INTO task_claims VALUES (?1, ?2, ?3, ?4, ?5, 3, 'cli', NULL, '{}')")
            .expect("a statement");
        let mut random = Random(42);
        for number in 0..claims {
            let holder = session(number % sessions);
            let expires = match random.below(100) {
                0 => now - 1_000 - random.below(60 * MINUTE),
                1 => now + 2_000 + random.below(4 * MINUTE),
                _ => now + 6 * MINUTE + random.below(24 * MINUTE),
            };
            let beat = now - random.below(60_000);
            insert
                .execute(params![format!("task-{number:08}"), holder, now - 40 * MINUTE, expires, beat])
                .expect("a claim");
        }
    }
    transaction.commit().expect("commit");
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("checkpoint");
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as i64) % limit
    }
}

fn measure(path: &Path, claims: i64, sessions: i64) -> Figures {
    let connection = Connection::open(path).expect("the database");
    let mut reader = Reader::open(options(path)).expect("a reader");
    let mut first = reader.poll().expect("a poll").remove(0);

    // A new connection each time, as `claimtop check` has.
    let documents = median(7, || documents_queries(&Connection::open(path).expect("the database")));
    // A write by somebody else before each poll: nothing may be taken from the one before.
    let mut writes = 0;
    let mut worst = Duration::ZERO;
    let poll = median(15, || {
        writes += 1;
        let write = "UPDATE sessions SET metadata = ?1 WHERE id = 'session-00500'";
        connection.execute(write, [writes]).expect("a write");
        let took = timed(|| first = reader.poll().expect("a poll").remove(0));
        worst = worst.max(took);
        took
    });
    compare_with_brute_force(&connection, &first);
    // The census of what no index answers goes on for a while; then nothing is left but time.
    while first.boards.iter().any(|board| board.gaps.census.is_some_and(|census| !census.complete)) {
        first = reader.poll().expect("a poll").remove(0);
    }
    let quiet = median(51, || timed(|| first = reader.poll().expect("a poll").remove(0)));
    compare_with_brute_force(&connection, &first);

    let start = median(9, || timed(|| drop(claimtop(&["--version".as_ref()]))));
    let check =
        median(9, || timed(|| drop(claimtop(&["check".as_ref(), path.as_os_str()])))).saturating_sub(start);
    let ratio = |part: Duration| format!("1/{:.1}", documents.as_secs_f64() / part.as_secs_f64().max(1e-9));
    println!(
        "{claims:>9}  {sessions:>8}  {:>7.2} ms  {:>7.2} ms  {:>7}  {:>7.2} ms  {:>7.2} ms  {:>7}  {:>7.3} ms  {:>8}  {:>5.1} MB",
        ms(documents),
        ms(poll),
        ratio(poll),
        ms(worst),
        ms(check),
        ratio(check),
        ms(quiet),
        ratio(quiet),
        peak_memory(path)
    );
    Figures { documents, poll, check, quiet }
}

/// What coordination runs: the expired claims, the orphans by LEFT JOIN, and three counts.
fn documents_queries(connection: &Connection) -> Duration {
    let now = now_ms();
    timed(|| {
        let drain = |sql: &str, value: i64| {
            let mut statement = connection.prepare(sql).expect("a statement");
            let columns = statement.column_count();
            let mut rows = statement.query([value]).expect("rows");
            let mut all: Vec<Vec<rusqlite::types::Value>> = Vec::new();
            while let Some(row) = rows.next().expect("a row") {
                all.push((0..columns).map(|column| row.get(column).expect("a value")).collect());
            }
            assert!(!all.is_empty());
        };
        let one = |sql: &str, values: &[i64]| -> i64 {
            connection.query_row(sql, rusqlite::params_from_iter(values), |row| row.get(0)).expect("a count")
        };
        drain(
            "SELECT task_id, session_id, claimed_at, expires_at FROM task_claims WHERE expires_at < ?1",
            now,
        );
        drain(
            "SELECT tc.task_id, tc.session_id, tc.claimed_at, tc.expires_at, tc.last_heartbeat,
                    s.last_heartbeat AS session_heartbeat, s.pid
             FROM task_claims tc LEFT JOIN sessions s ON tc.session_id = s.id
             WHERE s.id IS NULL OR s.last_heartbeat < ?1",
            now - 10 * MINUTE,
        );
        one("SELECT count(*) FROM task_claims", &[]);
        one("SELECT count(*) FROM task_claims WHERE expires_at > ?1", &[now]);
        one(
            "SELECT count(*) FROM task_claims WHERE expires_at > ?1 AND expires_at <= ?2",
            &[now, now + 5 * MINUTE],
        );
    })
}

/// Every count once more, by the plainest statement there is.
fn compare_with_brute_force(connection: &Connection, snapshot: &Snapshot) {
    let now = snapshot.now.micros() / 1_000;
    let join = "FROM task_claims c LEFT JOIN sessions s ON s.id = c.session_id WHERE ";
    let count = |condition: &str| -> u64 {
        let condition = condition
            .replace("EXPIRED", &format!("(expires_at < {now})"))
            .replace("NEAR", &format!("(expires_at >= {now} AND expires_at <= {})", now + 5 * MINUTE))
            .replace("SILENT", &format!("(expires_at >= {now} AND c.last_heartbeat < {})", now - 5 * MINUTE))
            .replace("MISSING", "(s.id IS NULL)")
            .replace("SESSION_STALE", &format!("coalesce(s.last_heartbeat < {}, 0)", now - 10 * MINUTE));
        connection
            .query_row(&format!("SELECT count(*) {join}{condition}"), [], |row| row.get::<_, i64>(0))
            .expect("a count") as u64
    };
    let counts = snapshot.counts();
    let pairs = [
        ("total", counts.total, count("1")),
        ("stale", counts.stale, count("EXPIRED OR SILENT")),
        ("expiring", counts.expiring, count("NEAR")),
        ("orphaned", counts.orphaned, count("MISSING OR SESSION_STALE")),
        ("unknown", counts.unknown, 0),
        ("runaway", counts.runaway, count(&format!("expires_at <= {}", now - 30 * MINUTE))),
        ("healthy", counts.healthy, count("NOT (EXPIRED OR SILENT OR NEAR OR MISSING OR SESSION_STALE)")),
    ];
    for (name, ours, brute) in pairs {
        assert_eq!(ours, brute, "{name}");
    }
}

fn options(path: &Path) -> Options {
    let config = Config::default();
    Options {
        at: SourceLocation::File(path.into()),
        profiles: Profiles::Detect(Library::built_in()),
        operator: config.operator(None),
        effort: Effort { rows: config.row_limit, slice: config.census_slice, whole: config.census_slice },
        busy_timeout: Duration::from_secs(2),
        poll_timeout: Duration::from_secs(60),
        frozen_at: None,
        prober: None,
        registrations: claimtop::store::Registrations::default(),
        protected: Default::default(),
        allow_functions: Vec::new(),
        warn: None,
    }
}

fn claimtop(arguments: &[&std::ffi::OsStr]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_claimtop")).args(arguments).output().expect("claimtop runs")
}

/// The peak of `claimtop check`, as the kernel counts it, in MB.
fn peak_memory(path: &Path) -> f64 {
    let script = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); \
                  print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let output = Command::new("python3")
        .args(["-c", script, env!("CARGO_BIN_EXE_claimtop"), "check"])
        .arg(path)
        .output();
    let kilobytes =
        output.ok().and_then(|output| String::from_utf8(output.stdout).ok()?.trim().parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1_024.0)
}

fn now_ms() -> i64 {
    chrono::Utc::now().timestamp_millis()
}
