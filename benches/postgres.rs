//! What watching and recovering cost on PostgreSQL, beside what executor-jobs runs itself, on the same
//! tables in the same run.
//!
//! `CLAIMTOP_TEST_POSTGRES='host=/tmp user=claimtop dbname=postgres' cargo bench --bench postgres` needs a
//! server on which databases may be made; `tests/postgres.sh` has one made (`begin_server`). It prints two
//! tables: one poll of `executor_jobs` with 1 and 5 million rows of which 1,000 run, with and without the
//! indexes on their status; and the reclaim of 10 thousand stale jobs with one and with four sweepers.
//! `-- poll` or `-- reclaim` runs one of them; CLAIMTOP_BENCH_SMALL makes both a tenth as large, and so
//! says nothing but that they work. Every count is compared with a brute-force answer.

#![allow(clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

#[path = "support/measure.rs"]
mod measure;
#[path = "support/server.rs"]
mod server;

use claimtop::config::Config;
use claimtop::domain::recovery::{Action, Authorization};
use claimtop::domain::snapshot::Snapshot;
use claimtop::domain::verdict::Set;
use claimtop::recovery::AuditedActor;
use claimtop::recovery::trail::Trail;
use claimtop::store::{Effort, Filter, Reader, Seen};
use measure::{median, ms, timed};
use postgres::{Client, SimpleQueryMessage};
use server::Database;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SCHEMA: &str = include_str!("../assets/schema/postgres/executor-jobs.sql");
const AUDIT: &str = include_str!("../assets/schema/postgres/audit.sql");
const INDEXES: &str = "DROP INDEX IF EXISTS executor_jobs_status_idx, executor_jobs_claim_idx,
                       executor_jobs_reclaim_idx, executor_jobs_entity_idx, executor_jobs_dedupe_idx";
const RUNNING: i64 = 1_000;

/// What executor-jobs asks, type by type.
const TTLS: [(&str, i64); 6] = [
    ("protect_document_v2", 5),
    ("document.protected", 5),
    ("run_tsa", 30),
    ("submit_anchor_polygon", 60),
    ("submit_anchor_bitcoin", 60),
    ("build_artifact", 15),
];

fn main() {
    let asked = |name: &str| std::env::args().any(|argument| argument == name);
    let all = !asked("poll") && !asked("reclaim");
    let small = std::env::var_os("CLAIMTOP_BENCH_SMALL").is_some();
    println!("times are of this machine in this run: read the ratios\n");
    if all || asked("poll") {
        poll(if small { [100_000, 500_000] } else { [1_000_000, 5_000_000] });
    }
    if all || asked("reclaim") {
        reclaim(if small { 1_000 } else { 10_000 });
    }
}

// ---- One poll -----------------------------------------------------------------------------------

fn poll(sizes: [i64; 2]) {
    let database = Database::new();
    let mut client = database.connect();
    println!(
        "{:>8}  {:>7}  {:>9}  {:>9}  {:>9}  {:>8}  {:>6}  {:>6}  {:>9}  {:>9}  {:>8}",
        "jobs", "index", "view", "by type", "poll", "p95", "/view", "/types", "open", "check", "psql"
    );
    let (mut rows, mut indexed) = (0, Vec::new());
    for size in sizes {
        add_jobs(&mut client, rows, size);
        rows = size;
        indexed.push(poll_once(&database, &mut client, size, "yes"));
    }
    client.batch_execute(INDEXES).expect("no indexes");
    poll_once(&database, &mut client, rows, "no");
    println!("\nindexed poll, {} to {} jobs: {:.2} x\n", sizes[0], sizes[1], ratio(indexed[1], indexed[0]));
}

/// Jobs up to `size`; of the first of them 1,000 run, a tenth of those stale, a tenth nearly so.
fn add_jobs(client: &mut Client, from: i64, size: i64) {
    client.batch_execute(INDEXES).expect("no indexes");
    let apart = size / RUNNING;
    let types: Vec<String> = TTLS.iter().map(|(name, _)| format!("'{name}'")).collect();
    let minutes: Vec<String> = TTLS.iter().map(|(_, ttl)| ttl.to_string()).collect();
    let runs = if from == 0 { format!("n % {apart} = 0") } else { "false".into() };
    let insert = format!(
        "INSERT INTO executor_jobs (id, type, status, attempts, run_at, created_at, locked_at, locked_by, heartbeat_at)
         SELECT ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
           (ARRAY[{types}])[1 + job % 6],
           CASE WHEN {runs} THEN 'running' WHEN n % 100 = 1 THEN 'dead' WHEN n % 100 < 41 THEN 'queued'
                ELSE 'succeeded' END,
           1, now() - n * interval '1 millisecond', now() - n * interval '1 millisecond',
           CASE WHEN {runs} THEN now() - interval '2 hours' END,
           CASE WHEN {runs} THEN 'worker-' || job % 50 END,
           CASE WHEN {runs} THEN now() - make_interval(secs =>
             (ARRAY[{minutes}])[1 + job % 6] * CASE job % 10 WHEN 0 THEN 90 WHEN 1 THEN 55 ELSE 2 END) END
         FROM (SELECT n, n / {apart} AS job FROM generate_series({from}, {size} - 1) AS n) AS numbered",
        types = types.join(", "),
        minutes = minutes.join(", "),
    );
    client.batch_execute(&insert).expect("jobs");
    client.batch_execute(SCHEMA).expect("indexes");
    for tidy in ["VACUUM ANALYZE executor_jobs", "CHECKPOINT"] {
        client.batch_execute(tidy).expect("a tidy table");
    }
}

fn poll_once(database: &Database, client: &mut Client, size: i64, index: &str) -> Duration {
    let times = if index == "yes" { 41 } else { 9 };
    let view = median(times, || {
        timed(|| assert_eq!(rows(client, "SELECT * FROM executor_jobs_stale_monitor"), RUNNING))
    });
    let by_type = median(times, || timed(|| six_queries(client)));
    let mut reader = None;
    let open = median(5, || {
        timed(|| {
            let mut fresh = Reader::open(database.options(watching())).expect("a reader");
            fresh.poll().expect("a poll");
            reader = Some(fresh);
        })
    });
    let mut reader = reader.expect("a reader");
    let mut last = Vec::new();
    let mut polls: Vec<Duration> =
        (0..3 * times).map(|_| timed(|| last = reader.poll().expect("a poll"))).collect();
    polls.sort();
    let poll = polls[polls.len() / 2];
    compare_with_brute_force(client, &last[0]);
    let start = median(5, || timed(|| drop(claimtop(&["--version"]))));
    let check = median(5, || timed(|| drop(claimtop(&["check", &database.url()])))).saturating_sub(start);
    let psql = median(5, || timed(|| database.psql("SELECT * FROM executor_jobs_stale_monitor")));
    println!(
        "{size:>8}  {index:>7}  {:>6.2} ms  {:>6.2} ms  {:>6.2} ms  {:>5.1} ms  {:>6.2}  {:>6.2}  {:>6.1} ms  {:>6.1} ms  {:>5.1} ms",
        ms(view),
        ms(by_type),
        ms(poll),
        ms(polls[polls.len() * 95 / 100]),
        ratio(poll, view),
        ratio(poll, by_type),
        ms(open),
        ms(check),
        ms(psql),
    );
    poll
}

/// One select per type, as the reclaim of executor-jobs looks for its jobs.
fn six_queries(client: &mut Client) {
    for (name, minutes) in TTLS {
        rows(
            client,
            &format!(
                "SELECT * FROM executor_jobs WHERE type = '{name}' AND status IN ('running', 'processing')
                   AND locked_at < now() - interval '{minutes} minutes'
                   AND (heartbeat_at IS NULL OR heartbeat_at < now() - interval '{minutes} minutes')"
            ),
        );
    }
}

/// Every count once more, by the plainest statement there is.
fn compare_with_brute_force(client: &mut Client, snapshot: &Snapshot) {
    let now = snapshot.now.rfc3339();
    let ttls: Vec<String> = TTLS.iter().map(|(name, minutes)| format!("('{name}', {minutes})")).collect();
    let share = format!(
        "(SELECT extract(epoch FROM timestamptz '{now}' - greatest(j.locked_at, j.heartbeat_at)) / 60 / ttl.minutes
          AS of_ttl FROM executor_jobs j JOIN (VALUES {}) AS ttl(type, minutes) ON ttl.type = j.type
          WHERE j.status IN ('running', 'processing')) AS shares",
        ttls.join(", ")
    );
    let mut count =
        |condition: &str| number(client, &format!("SELECT count(*) FROM {share} WHERE {condition}"));
    let counts = snapshot.counts();
    let pairs = [
        ("total", counts.total, count("true")),
        ("stale", counts.stale, count("of_ttl > 1")),
        ("expiring", counts.expiring, count("of_ttl BETWEEN 0.8 AND 1")),
        ("healthy", counts.healthy, count("of_ttl < 0.8")),
        ("runaway", counts.runaway, count("of_ttl >= 2")),
        ("orphaned", counts.orphaned, 0),
        ("unknown", counts.unknown, 0),
    ];
    for (name, ours, brute) in pairs {
        assert_eq!(ours, brute, "{name}");
    }
    let board = &snapshot.boards[0];
    for (state, ours) in &board.backlog {
        let all = number(client, &format!("SELECT count(*) FROM executor_jobs WHERE status = '{state}'"));
        let more = board.gaps.backlog.contains(state);
        assert!(if more { *ours < all } else { *ours == all }, "{state}: {ours} of {all}");
    }
}

// ---- Reclaiming many ----------------------------------------------------------------------------

/// The machine is not equally fast all the time: raw statement and sweepers take turns so often.
const ROUNDS: usize = 9;

fn reclaim(jobs: i64) {
    let database = Database::new();
    let mut client = database.connect();
    stage(&mut client, jobs);
    println!(
        "{jobs} jobs; ratios of the quickest and of the median of {ROUNDS} runs; of heartbeats the one that waited"
    );
    println!("longest in each run, the median and the worst of them\n");
    println!(
        "{:>8}  {:>5}  {:>9}  {:>9}  {:>9}  {:>6}  {:>6}  {:>16}  {:>16}  {:>8}",
        "sweepers",
        "audit",
        "look",
        "raw",
        "reclaim",
        "ratio",
        "median",
        "beat beside raw",
        "beat",
        "journal"
    );
    for audit in [false, true] {
        if audit {
            client.batch_execute(AUDIT).expect("claimtop_audit");
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let sweeper = |number: usize| {
            let trail = folder.path().join(number.to_string());
            let audited =
                AuditedActor::open(database.writable(acting()), "jobs", &trail).expect("an audited actor");
            Sweeper { audited, trail }
        };
        // They stay, as the connection of the raw statement does.
        let mut all: Vec<Sweeper> = (0..4).map(sweeper).collect();
        for sweepers in [1, 4] {
            let (mut raw, mut swept) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                stage(&mut client, jobs);
                raw.push(beside_heartbeats(&database, jobs, || raw_update(&mut client, jobs)));
                stage(&mut client, jobs);
                swept.push(beside_heartbeats(&database, jobs, || sweep(&mut all[..sweepers])));
                check(&mut client, jobs);
            }
            let least = swept.iter().map(|(run, _)| run).min_by_key(|run| run.took).expect("a run");
            let (raw, beside_raw) = (sorted(&raw, |run| run.0), sorted(&raw, |run| run.1));
            let (took, beside) = (sorted(&swept, |run| run.0.took), sorted(&swept, |run| run.1));
            let half = ROUNDS / 2;
            println!(
                "{sweepers:>8}  {:>5}  {:>6.1} ms  {:>6.1} ms  {:>6.1} ms  {:>6.2}  {:>6.2}  {:>5.1}, {:>6.1} ms  {:>5.1}, {:>6.1} ms  {:>5.1} MB",
                if audit { "yes" } else { "no" },
                ms(least.look),
                ms(raw[0]),
                ms(took[0]),
                ratio(took[0], raw[0]),
                ratio(took[half], raw[half]),
                ms(beside_raw[half]),
                ms(beside_raw[ROUNDS - 1]),
                ms(beside[half]),
                ms(beside[ROUNDS - 1]),
                least.journal as f64 / 1e6
            );
        }
        if audit {
            let written = number(&mut client, "SELECT count(*) FROM claimtop_audit");
            assert_eq!(written as i64, 2 * ROUNDS as i64 * jobs, "a record for each");
        }
        all.iter().for_each(Sweeper::check_trail);
    }
}

fn sorted<T>(runs: &[T], of: impl Fn(&T) -> Duration) -> Vec<Duration> {
    let mut all: Vec<Duration> = runs.iter().map(of).collect();
    all.sort();
    all
}

/// All stale jobs by one statement.
fn raw_update(client: &mut Client, jobs: i64) -> Duration {
    let sql = format!(
        "UPDATE executor_jobs SET
           status = CASE WHEN attempts >= max_attempts THEN 'dead' ELSE 'queued' END,
           attempts = CASE WHEN attempts >= max_attempts THEN attempts ELSE attempts + 1 END,
           locked_at = NULL, locked_by = NULL,
           last_error = 'RECLAIMED_TTL: Exceeded TTL (30 min) at attempt ' || attempts || '. '
         WHERE status IN ('running', 'processing') AND {STALE}"
    );
    let mut changed = 0;
    let took = timed(|| changed = client.execute(sql.as_str(), &[]).expect("the raw update"));
    assert_eq!(changed as i64, jobs);
    took
}

const STALE: &str = "type = 'run_tsa' AND locked_at < now() - interval '30 minutes'
                     AND heartbeat_at < now() - interval '30 minutes'";

/// `jobs` stale jobs, as many that beat, and ten times as many that nobody holds.
fn stage(client: &mut Client, jobs: i64) {
    let sql = format!(
        "TRUNCATE executor_jobs CASCADE;
         INSERT INTO executor_jobs (id, type, status, attempts, locked_at, locked_by, heartbeat_at)
         SELECT ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'run_tsa',
           CASE WHEN n % 12 < 2 THEN 'running' ELSE 'succeeded' END, 1,
           CASE WHEN n % 12 < 2 THEN now() - interval '2 hours' END,
           CASE WHEN n % 12 < 2 THEN 'worker-' || n % 50 END,
           CASE n % 12 WHEN 0 THEN now() - interval '90 minutes' WHEN 1 THEN now() END
         FROM generate_series(0, 12 * {jobs} - 1) AS n"
    );
    client.batch_execute(&sql).expect("jobs");
    for tidy in ["VACUUM ANALYZE executor_jobs", "CHECKPOINT"] {
        client.batch_execute(tidy).expect("a tidy table");
    }
}

struct Swept {
    look: Duration,
    took: Duration,
    journal: u64,
}

struct Sweeper {
    audited: AuditedActor,
    trail: PathBuf,
}

impl Sweeper {
    /// When it began and ended, once the others were ready, too; and what it had seen.
    fn sweep(&mut self, start: &Barrier) -> (Instant, Instant, Vec<Seen>) {
        let filter = Filter { sets: vec![Set::Stale], ..Filter::default() };
        let all: Vec<Seen> = self.audited.actor().select(&filter).expect("the stale jobs");
        start.wait();
        let began = Instant::now();
        let (action, word) = (Action::Reclaim, Authorization::default());
        self.audited.perform_all(all.iter().collect(), action, &word, &mut |_| true).expect("the bulk");
        (began, Instant::now(), all)
    }

    fn written_down(&self) -> u64 {
        std::fs::metadata(self.trail.join("journal.jsonl")).map_or(0, |metadata| metadata.len())
    }

    fn check_trail(&self) {
        let verified = Trail::read_only(&self.trail).and_then(|trail| trail.verify(None)).expect("a trail");
        assert!(verified.findings.is_empty(), "{:?}", verified.findings);
    }
}

/// All stale jobs reclaimed by sweepers that begin at once, each with a trail of its own.
fn sweep(all: &mut [Sweeper]) -> Swept {
    let before: u64 = all.iter().map(Sweeper::written_down).sum();
    let start = &Barrier::new(all.len());
    let asked = Instant::now();
    let done: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> = all.iter_mut().map(|one| scope.spawn(move || one.sweep(start))).collect();
        all.into_iter().map(|sweeper| sweeper.join().expect("a sweeper")).collect()
    });
    let began = done.iter().map(|(began, ..)| *began).min().expect("a sweeper");
    let ended = done.iter().map(|(_, ended, _)| *ended).max().expect("a sweeper");
    let after: u64 = all.iter().map(Sweeper::written_down).sum();
    Swept { look: began - asked, took: ended - began, journal: after - before }
}

/// That every stale job was taken once, and no other.
fn check(client: &mut Client, jobs: i64) {
    let taken = "SELECT count(*) FROM executor_jobs WHERE status = 'queued' AND attempts = 2
                 AND last_error LIKE 'RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 1%'";
    assert_eq!(number(client, taken) as i64, jobs);
    assert_eq!(number(client, "SELECT count(*) FROM executor_jobs WHERE status = 'running'") as i64, jobs);
}

/// The longest that a heartbeat had to wait meanwhile.
fn beside_heartbeats<T>(database: &Database, jobs: i64, run: impl FnOnce() -> T) -> (T, Duration) {
    let (begun, done) = (Barrier::new(2), AtomicBool::new(false));
    thread::scope(|scope| {
        let writer = scope.spawn(|| beat(database, jobs, &begun, &done));
        begun.wait();
        let result = run();
        done.store(true, Ordering::Relaxed);
        (result, writer.join().expect("the writer"))
    })
}

/// Beats a thousand times a second until the others are done, in turns for a job that lives and for one that is
/// stale: of the latter only what a heartbeat would wait for is asked, so that it stays stale.
fn beat(database: &Database, jobs: i64, begun: &Barrier, done: &AtomicBool) -> Duration {
    let mut client = database.connect();
    let id = "('00000000-0000-4000-8000-' || lpad(to_hex($1::bigint), 12, '0'))::uuid";
    let alive = format!("UPDATE executor_jobs SET heartbeat_at = clock_timestamp() WHERE id = {id}");
    let stale = format!("SELECT FROM executor_jobs WHERE id = {id} FOR SHARE");
    let [alive, stale] = [alive, stale].map(|sql| client.prepare(&sql).expect("a statement"));
    begun.wait();
    let (mut longest, mut beats) = (Duration::ZERO, 0_i64);
    while !done.load(Ordering::Relaxed) {
        let job = 12 * (beats * 7_919 % jobs);
        for (statement, job) in [(&alive, job + 1), (&stale, job)] {
            let started = Instant::now();
            let touched = client.execute(statement, &[&job]).expect("a heartbeat");
            longest = longest.max(started.elapsed());
            assert_eq!(touched, 1);
        }
        beats += 1;
        thread::sleep(Duration::from_millis(1));
    }
    longest
}

/// As the dashboard watches.
fn watching() -> Effort {
    let config = Config::default();
    Effort { rows: config.row_limit, slice: config.census_slice, whole: config.census_slice }
}

fn acting() -> Effort {
    Effort { rows: 0, slice: Config::default().census_slice, whole: usize::MAX }
}

/// How many rows a query has.
fn rows(client: &mut Client, sql: &str) -> i64 {
    let answer = client.simple_query(sql).expect("rows");
    answer.iter().filter(|message| matches!(message, SimpleQueryMessage::Row(_))).count() as i64
}

fn number(client: &mut Client, sql: &str) -> u64 {
    client.query_one(sql, &[]).expect("a row").get::<_, i64>(0) as u64
}

fn claimtop(arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_claimtop")).args(arguments).output().expect("claimtop runs")
}

fn ratio(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64().max(1e-9)
}
