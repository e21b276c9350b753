//! Document 001's three tests, end to end with the program itself; on SQLite they are in `sweeping`.

use super::*;
use crate::support::postgres::PgDatabase;

/// Jobs of type run_tsa, locked so many minutes ago, after so many attempts; swept once.
fn swept(jobs: &[(i64, i64)]) -> PgDatabase {
    let database = PgDatabase::new(JOBS);
    for (minutes, attempts) in jobs {
        database.run(&format!(
            "INSERT INTO executor_jobs (type, status, locked_at, locked_by, attempts) VALUES
             ('run_tsa', 'running', now() - interval '{minutes} minutes', 'test-worker-dead', {attempts})"
        ));
    }
    let run = Operator::of(database.url()).run(&["sweep", "--once", "--json", "DB"]);
    assert_eq!(run.code, 0, "{run:#?}");
    database
}

#[test]
fn document_001_a_dead_workers_job_is_queued_by_the_next_sweep() {
    let database = swept(&[(35, 1)]);
    let is = database.value("SELECT status || ' ' || attempts || ' ' || last_error FROM executor_jobs");
    assert!(
        is.as_ref().is_some_and(|is| is.starts_with("queued 2 RECLAIMED_TTL: Exceeded TTL (30 min)")),
        "{is:?}"
    );
}

#[test]
fn document_001_no_job_is_left_beyond_twice_its_ttl() {
    let database = swept(&[(5, 0), (29, 0), (31, 0), (61, 0), (600, 0), (10_000, 0)]);
    assert_eq!(database.value("SELECT count(*) FROM executor_jobs_stale_validation").as_deref(), Some("0"));
    let running = "SELECT count(*) FROM executor_jobs WHERE status = 'running'";
    assert_eq!(database.value(running).as_deref(), Some("2"));
}

#[test]
fn document_001_a_job_without_attempts_left_is_dead() {
    let database = swept(&[(35, 10)]);
    assert_eq!(database.value("SELECT status || attempts FROM executor_jobs").as_deref(), Some("dead10"));
}
