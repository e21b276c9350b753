//! The reference tables on PostgreSQL do what the specifications promise.

mod audit;
mod executor_jobs;
mod finalization;
mod operator;
mod watcher;

use crate::support::postgres::{PgDatabase, Rows};

const EXECUTOR_JOBS: &str = include_str!("../../assets/schema/postgres/executor-jobs.sql");
const FINALIZATION: &str = include_str!("../../assets/schema/postgres/finalization.sql");
const TASK_QUEUE: &str = include_str!("../../assets/schema/postgres/task-queue.sql");
const AUDIT: &str = include_str!("../../assets/schema/postgres/audit.sql");
const ROLES: &str = include_str!("../../assets/schema/postgres/roles.sql");

/// A database with these parts, each laid in as one batch in a transaction.
fn database(parts: &[&str]) -> PgDatabase {
    let database = PgDatabase::new("");
    for part in parts {
        database.run(&format!("BEGIN; {part} COMMIT;"));
    }
    database
}

/// Rows as text, `-` for NULL: short to compare with.
fn texts(rows: &Rows) -> Vec<String> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".into());
    rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join("|")).collect()
}

fn all(database: &PgDatabase, sql: &str) -> Vec<String> {
    texts(&database.query(sql))
}

#[test]
fn every_file_may_be_run_again_and_keeps_the_rows() {
    let parts = [EXECUTOR_JOBS, FINALIZATION, TASK_QUEUE, AUDIT, ROLES];
    let database = database(&parts);
    database.run(
        "INSERT INTO executor_jobs (type) VALUES ('run_tsa'); INSERT INTO tasker_tasks DEFAULT VALUES;
         INSERT INTO task_types (name) VALUES ('t'); INSERT INTO claimtop_audit VALUES ('a', 'b', 'c');",
    );
    database.run(&format!("BEGIN; {} COMMIT;", parts.concat()));
    assert_eq!(
        all(
            &database,
            "SELECT (SELECT count(*) FROM executor_jobs), (SELECT count(*) FROM tasker_tasks),
               (SELECT count(*) FROM task_types), (SELECT count(*) FROM claimtop_audit)"
        ),
        ["1|1|1|1"]
    );
}

#[test]
fn the_functions_work_whatever_the_callers_search_path() {
    let database = PgDatabase::new("CREATE SCHEMA fleet");
    database.run(&format!("BEGIN; SET LOCAL search_path = fleet; {EXECUTOR_JOBS} {FINALIZATION} COMMIT;"));
    database.run("INSERT INTO fleet.executor_jobs (type) VALUES ('run_tsa')");
    let session = database.connect();
    session.run("SET search_path = pg_catalog");
    assert_eq!(session.query("SELECT type FROM fleet.claim_executor_job('w')").len(), 1);
    session.run("SELECT fleet.reclaim_stale_jobs()");
    session.run("SELECT fleet.claim_task_for_finalization(gen_random_uuid(), 'p')");
}
