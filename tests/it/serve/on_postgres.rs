//! The same on PostgreSQL.

use rusqlite::Connection;
use std::path::PathBuf;

use super::metric_values::agrees;
use super::*;
use crate::support::COORDINATION;
use crate::support::postgres::PgDatabase;
use crate::support::server::Server as PgServer;

const JOBS: &str = include_str!("../../../assets/schema/postgres/executor-jobs.sql");
const FINALIZATION: &str = include_str!("../../../assets/schema/postgres/finalization.sql");

/// Some jobs whose time is long over, one that runs, two that wait.
fn jobs(stale: usize, now: &str) -> PgDatabase {
    let database = PgDatabase::new(JOBS);
    database.run(&format!(
        "INSERT INTO executor_jobs (type, status, locked_at, locked_by, attempts)
         SELECT 'run_tsa', 'running', {now} - interval '2 hours', 'secret-worker', 1 FROM generate_series(1, {stale});
         INSERT INTO executor_jobs (type, status, locked_at, locked_by, attempts)
         VALUES ('run_tsa', 'running', {now}, 'secret-worker', 1);
         INSERT INTO executor_jobs (type, run_at) VALUES ('run_tsa', {now}), ('build_artifact', {now})"
    ));
    database
}

fn source(database: &PgDatabase) -> PathBuf {
    PathBuf::from(database.url())
}

#[test]
fn every_figure_of_a_server_equals_that_of_a_check() {
    let database = jobs(3, "timestamptz '2026-11-15 12:00:00+00'");
    let server = Server::start(&["--now", "1794744000000"], &[&source(&database)]);
    let told = server.wait_until_read();
    agrees(&told, &database.check().0);
    assert!(told.label_values().iter().all(|value| !value.contains("secret")));
    let queued = [("kind", "build_artifact"), ("state", "queued")];
    assert_eq!(told.get("claimtop_kind_backlog", &queued), Some(1.0));
}

#[test]
fn claims_at_their_last_attempt_are_counted_on_a_server_too() {
    let database = jobs(1, "now()");
    database.run("UPDATE executor_jobs SET attempts = 10 WHERE locked_at < now() - interval '1 hour'");
    let server = Server::start(&[], &[&source(&database)]);
    let told = server.wait_until_read();
    assert_eq!(told.get("claimtop_claims_exhausted", &[]), Some(1.0));
    let exhausted = [("kind", "run_tsa"), ("state", "exhausted")];
    assert_eq!(told.get("claimtop_kind_claims", &exhausted), Some(1.0));
}

#[test]
fn the_sweeper_inside_takes_what_is_over_on_a_server_and_counts_it() {
    let database = jobs(5, "now()");
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path(), "[sweep]\nsighted_for = \"0s\"\n");
    let state = folder.path().join("state");
    let config = config.to_str().expect("UTF-8").to_owned();
    let arguments = ["--sweep", "--sweep-every", "200ms", "--config", &config];
    let server = Server::with_state(&arguments, &[&source(&database)], folder, &state);
    let acts = [("action", "reclaim"), ("by", "sweeper"), ("outcome", "applied"), ("kind", "run_tsa")];
    server.wait("its acts", |told| told.sum("claimtop_acts_total", &acts) == Some(5.0));
    let queued = "SELECT count(*) FROM executor_jobs WHERE status = 'queued' AND attempts = 2";
    assert_eq!(database.value(queued).as_deref(), Some("5"));
}

#[test]
fn attempts_to_finalize_count_on_a_server_too() {
    let database = PgDatabase::new(FINALIZATION);
    let attempt = |claimed: bool| {
        database.run(&format!(
            "INSERT INTO tasker_finalization_attempts (task_uuid, processor_id, claimed, message)
             VALUES (gen_random_uuid(), 'secret', {claimed}, 'Task already complete')"
        ));
    };
    attempt(true);
    let server = Server::start(&[], &[&source(&database)]);
    let told = server.wait_until_read();
    assert_eq!(told.get("finalization_claim_attempts_total", &[]), Some(0.0));
    attempt(true);
    attempt(false);
    let told =
        server.wait("two attempts", |told| told.get("finalization_claim_attempts_total", &[]) == Some(2.0));
    assert_eq!(told.get("finalization_claim_success_total", &[]), Some(1.0));
}

/// How often each of these sources was polled well.
fn good_polls(told: &Exposition, names: &[String]) -> Vec<f64> {
    let of = |name: &String| told.get("claimtop_polls_total", &[("source", name), ("result", "good")]);
    names.iter().map(|name| of(name).unwrap_or(0.0)).collect()
}

#[test]
fn sources_that_hang_delay_no_other_and_need_a_thread_each_at_most() {
    const LOCKED: usize = 4;
    const READABLE: usize = 40;
    const POLLS: f64 = 10.0;
    let frozen = PgServer::start();
    frozen.create_database("jobs", JOBS);
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: String| folder.path().join(name);
    let make = |path: &PathBuf, journal: &str| {
        let connection = Connection::open(path).expect("a database");
        connection.pragma_update(None, "journal_mode", journal).expect("a journal");
        connection.execute_batch(COORDINATION).expect("its tables");
        connection
    };
    let readable: Vec<PathBuf> = (0..READABLE).map(|number| file(format!("readable-{number}.db"))).collect();
    readable.iter().for_each(|path| drop(make(path, "wal")));
    let locked: Vec<PathBuf> = (0..LOCKED).map(|number| file(format!("locked-{number}.db"))).collect();
    let lockers: Vec<Connection> = locked.iter().map(|path| make(path, "delete")).collect();
    let fifo = file("fifo.db".into());
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    let server = PathBuf::from(frozen.url("jobs"));
    let all: Vec<&Path> =
        [&server, &fifo].into_iter().chain(&locked).chain(&readable).map(PathBuf::as_path).collect();
    let config = config(folder.path(), "busy_timeout = \"60s\"\npoll_timeout = \"60s\"\n");
    let serving = Server::start(&["--config", config.to_str().expect("UTF-8")], &all);
    let names: Vec<String> = readable.iter().map(|path| path.display().to_string()).collect();
    let is_up = |told: &Exposition, at: &Path| {
        told.get("claimtop_up", &[("source", &*at.display().to_string())]) == Some(1.0)
    };
    serving.wait("a poll of all but the pipe", |told| {
        told.all("claimtop_up").iter().filter(|(_, up)| *up == 1.0).count() == all.len() - 1
    });
    // From here on these wait for an answer that does not come.
    frozen.freeze();
    for locker in &lockers {
        locker.execute_batch("BEGIN EXCLUSIVE").expect("the lock");
    }
    let started = good_polls(&serving.scrape(), &names);
    let least =
        |counts: &[f64]| counts.iter().zip(&started).map(|(now, then)| now - then).fold(f64::MAX, f64::min);
    let most = |counts: &[f64]| counts.iter().zip(&started).map(|(now, then)| now - then).fold(0.0, f64::max);
    let told = serving.wait("polls of all that answer", |told| least(&good_polls(told, &names)) >= POLLS);
    // Relative to each other they are on time: none has waited while others went on.
    let counts = good_polls(&told, &names);
    assert!(most(&counts) <= 3.0 * least(&counts), "{counts:?} since {started:?}");
    for waiting in locked.iter().chain([&server]) {
        assert!(
            is_up(&told, waiting),
            "{} was given up: the test was too slow to show anything",
            waiting.display()
        );
    }
    let threads =
        std::fs::read_dir(format!("/proc/{}/task", serving.child.id())).expect("its threads").count();
    assert!(threads <= 16 + LOCKED + 1, "{threads} threads");
    frozen.thaw();
    drop(lockers);
    let after = good_polls(&told, &names);
    serving.wait("polls of all", |told| {
        let every = good_polls(told, &names).iter().zip(&after).all(|(now, then)| now > then);
        every && locked.iter().all(|path| is_up(told, path))
    });
}
