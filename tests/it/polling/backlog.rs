//! A queue of a million jobs must not make every look at it slow.

use crate::support::postgres::PgDatabase;

const JOBS: &str = include_str!("../../../assets/schema/postgres/executor-jobs.sql");

fn queue(queued: i64, dead: i64) -> PgDatabase {
    let database = PgDatabase::new(JOBS);
    database.run(&format!(
        "INSERT INTO executor_jobs (type, status, run_at)
         SELECT 'run_tsa', CASE WHEN n < {dead} THEN 'dead' ELSE 'queued' END, '2026-11-15 11:00:00+00'
         FROM generate_series(1, {queued} + {dead}) AS n;
         ANALYZE executor_jobs",
        dead = dead + 1
    ));
    database
}

#[test]
fn a_backlog_beyond_what_is_counted_cheaply_is_more_than_that() {
    let database = queue(100_050, 7);
    let (entry, _) = database.check();
    assert_eq!(entry["backlog"]["queued"], 100_000);
    assert_eq!(entry["backlog"]["more_than"], serde_json::json!(["queued"]));
    assert_eq!(entry["backlog"]["dead"], 7);
    assert_eq!(entry["backlog"]["oldest_queued_s"], 3_600);
    let page = database.claimtop(&["check", "--now", "1794744000000"]);
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.contains("more than 100000 queued") && page.contains("7 dead"), "{page}");
}

#[test]
fn without_an_index_one_look_still_counts_a_table_of_some_size() {
    let database = queue(100_050, 7);
    database.run("DROP INDEX executor_jobs_status_idx, executor_jobs_claim_idx");
    let (entry, _) = database.check();
    assert_eq!(entry["backlog"]["dead"], 7);
    assert_eq!(entry["backlog"]["oldest_queued_s"], 3_600);
}
