//! What the doctor says about cleanup that the server runs itself.

use super::Practice;
use super::on_postgres::examined;
use crate::support::postgres::PgDatabase;

const JOBS: &str = include_str!("../../../assets/schema/postgres/executor-jobs.sql");
/// pg_cron's own tables, as its version 1.6 has them.
const CRON: &str = "CREATE SCHEMA cron;
    CREATE TABLE cron.job (jobid bigint, schedule text, command text, active boolean DEFAULT true);
    CREATE TABLE cron.job_run_details (jobid bigint, runid bigint, job_pid int, database text, username text,
      command text, status text, return_message text, start_time timestamptz, end_time timestamptz);";

fn server() -> PgDatabase {
    PgDatabase::new(&format!("{JOBS} {CRON}"))
}

fn examine(database: &PgDatabase, options: &[&str]) -> super::Findings {
    examined(&Practice::new(), &database.url(), options)
}

fn job(database: &PgDatabase, schedule: &str, command: &str) {
    database
        .run(&format!("DELETE FROM cron.job; INSERT INTO cron.job VALUES (1, '{schedule}', '{command}')"));
}

fn run(database: &PgDatabase, ago: &str, status: &str, said: &str) {
    database.run(&format!(
        "INSERT INTO cron.job_run_details (jobid, status, return_message, start_time)
         VALUES (1, '{status}', '{said}', now() - interval '{ago}')"
    ));
}

#[test]
fn the_last_run_and_the_last_error_of_pg_cron_are_reported() {
    let database = server();
    job(&database, "30 seconds", "SELECT reclaim_stale_jobs()");
    examine(&database, &[]).expect("cron runs", "warning", "has never run", "cron.database_name");
    run(&database, "20 seconds", "succeeded", "1 row");
    examine(&database, &[]).expect("cron runs", "ok", "ago; it last succeeded", "");
    run(&database, "5 seconds", "failed", "ERROR: deadlock detected");
    let findings = examine(&database, &[]);
    findings.expect(
        "cron runs",
        "warning",
        "failed: ERROR: deadlock detected; it last succeeded",
        "job_run_details",
    );
}

#[test]
fn a_run_that_is_too_long_ago_is_reported_by_the_schedule_of_the_job() {
    let database = server();
    for (schedule, ago, state) in [
        ("30 seconds", "100 seconds", "ok"),
        ("30 seconds", "10 minutes", "warning"),
        ("*/5 * * * *", "10 minutes", "ok"),
        ("*/5 * * * *", "20 minutes", "warning"),
        ("0 3 * * *", "20 hours", "ok"),
        ("0 3 * * *", "5 days", "warning"),
    ] {
        job(&database, schedule, "SELECT reclaim_stale_jobs()");
        database.run("DELETE FROM cron.job_run_details");
        run(&database, ago, "succeeded", "");
        let said = if state == "ok" { "the last run was" } else { "too long for a job" };
        let fix = if state == "ok" { "" } else { "launcher" };
        examine(&database, &[]).expect("cron runs", state, said, fix);
    }
}

#[test]
fn the_documents_wrappers_are_recognised_and_must_reclaim() {
    let database = server();
    for name in ["process_orchestrator_jobs", "wake_execution_engine"] {
        let create = |body: &str| {
            database.run(&format!(
                "CREATE OR REPLACE FUNCTION {name}() RETURNS void LANGUAGE plpgsql AS $$ BEGIN {body} END $$"
            ));
        };
        job(&database, "* * * * *", &format!("SELECT {name}();"));
        create("PERFORM reclaim_stale_jobs(); PERFORM 1;");
        examine(&database, &[]).expect("cron", "ok", name, "");
        // After a rollback it only wakes the workers.
        create("PERFORM 1;");
        examine(&database, &[]).expect("cron", "warning", "reclaims nothing", "--wrapper");
    }
}

#[test]
fn a_reclaim_that_hangs_is_found_among_the_activity_of_the_server() {
    let database = server();
    let other = database.connect();
    other.run("BEGIN; SELECT reclaim_stale_jobs()");
    assert!(
        examine(&database, &[]).checks().iter().all(|check| check["name"] != "reclaim"),
        "it has just begun"
    );
    let later = (chrono::Utc::now() + chrono::TimeDelta::minutes(5)).to_rfc3339();
    let findings = examine(&database, &["--now", &later]);
    findings.expect("reclaim", "warning", "a reclaim hangs", "pg_cancel_backend");
}
