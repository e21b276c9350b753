//! What a server does to a worker that a file cannot: it cuts the connection, holds rows, has a clock.

#![cfg(target_os = "linux")]

use claimtop::domain::time::Span;
use claimtop::worker::executor_jobs::NewJob;
use claimtop::worker::{Clock, WorkerError};
use serde_json::json;

use super::both_engines::{Heard, Place};
use super::postgres_fleet::{database, number};

#[test]
fn a_worker_whose_connection_is_cut_hears_of_it_and_goes_on() {
    let database = database();
    let place = Place(database.url());
    let mut jobs = place.jobs(&Clock::system(), &Heard::default(), &[]);
    jobs.enqueue(&NewJob::of("run_tsa", json!({}))).unwrap();
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    assert_eq!(database.query(cut).len(), 1);
    let held = match jobs.claim("w-1", &[]) {
        Ok(job) => job,
        // It may be noticed only by what is asked next; nothing was done by that.
        Err(WorkerError::Server(_)) => jobs.claim("w-1", &[]).unwrap(),
        Err(error) => panic!("{error}"),
    };
    assert_eq!(held.expect("a job").attempts, 1);
    assert_eq!(number(&database, "SELECT count(*) FROM executor_job_runs"), 1);
}

#[test]
fn a_row_that_somebody_holds_for_too_long_is_called_busy_and_nothing_changes() {
    let database = database();
    let place = Place(database.url());
    let mut jobs = place.jobs(&Clock::system(), &Heard::default(), &[]);
    let id = jobs.enqueue(&NewJob::of("run_tsa", json!({}))).unwrap().id().to_owned();
    jobs.claim("w-1", &[]).unwrap().expect("a job");
    let other = database.connect();
    other.run("BEGIN; SELECT * FROM executor_jobs FOR UPDATE");
    // Who wants any job does not wait for this one, nor does who reclaims.
    assert_eq!(jobs.claim("w-2", &[]).unwrap(), None);
    assert_eq!(jobs.reclaim_stale_jobs().unwrap().reclaimed_count, 0);
    assert!(matches!(jobs.succeed(&id, "w-1"), Err(WorkerError::Busy { .. })));
    other.run("ROLLBACK");
    assert_eq!(number(&database, "SELECT count(*) FROM executor_jobs WHERE status = 'running'"), 1);
    jobs.succeed(&id, "w-1").unwrap();
    assert_eq!(number(&database, "SELECT count(*) FROM ends"), 1);
}

#[test]
fn the_servers_clock_decides() {
    let database = database();
    let place = Place(database.url());
    let mut jobs = place.jobs(&Clock::system(), &Heard::default(), &[("run_tsa", Span::minutes(30))]);
    jobs.enqueue(&NewJob::of("run_tsa", json!({}))).unwrap();
    let before = database.value("SELECT clock_timestamp()").expect("a time");
    jobs.claim("w-1", &[]).unwrap().expect("a job");
    let between = format!(
        "SELECT count(*) FROM executor_jobs WHERE locked_at BETWEEN '{before}' AND clock_timestamp()
           AND locked_at = heartbeat_at AND locked_at = updated_at"
    );
    assert_eq!(number(&database, &between), 1);
    database.run("UPDATE executor_jobs SET locked_at = now() - interval '30 min', heartbeat_at = NULL");
    assert_eq!(jobs.reclaim_stale_jobs().unwrap().reclaimed_count, 1);
}
