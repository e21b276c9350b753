//! The same on PostgreSQL.

use std::path::PathBuf;

use super::metric_values::agrees;
use super::*;
use crate::support::postgres::PgDatabase;

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
