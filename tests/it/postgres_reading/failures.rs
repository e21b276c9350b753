//! What is wrong with a server or a table is named.

use super::{JOBS, job, refused};
use crate::support::engine::on_both;
use crate::support::postgres::PgDatabase;
use crate::support::{Database, command};

/// Either engine's.
fn look(database: &Database, arguments: &[&str]) -> String {
    refused(&database.claimtop(&[&["check", "--json"], arguments].concat()))
}

fn check(database: &PgDatabase, arguments: &[&str]) -> String {
    refused(&database.claimtop(&[&["check", "--json"], arguments].concat()))
}

#[track_caller]
fn says(sentence: &str, words: &[&str]) {
    assert!(words.iter().all(|word| sentence.contains(word)), "{words:?} in {sentence}");
}

#[test]
fn a_missing_table_is_named() {
    on_both(|| {
        let database = Database::new("CREATE TABLE other (id int)");
        says(&look(&database, &["--profile", "executor-jobs"]), &["executor_jobs is missing"]);
        says(&look(&database, &[]), &["no profile fits", "other"]);
    });
}

#[test]
fn a_missing_column_is_named() {
    on_both(|| {
        let database =
            Database::new("CREATE TABLE executor_jobs (id int, type text, status text, locked_by text)");
        says(&look(&database, &[]), &["executor-jobs", "executor_jobs.locked_at is missing"]);
    });
}

#[test]
fn a_column_of_another_type_is_named_with_its_type() {
    for (kind, profile) in
        [("bigint", "executor-jobs"), ("uuid", "executor-jobs"), ("boolean", "executor-jobs")]
    {
        let database = PgDatabase::new(&JOBS.replace("locked_at timestamptz", &format!("locked_at {kind}")));
        says(&check(&database, &["--profile", profile]), &["executor_jobs.locked_at", kind, "time"]);
    }
    let database = PgDatabase::new(
        "CREATE TABLE task_claims (task_id text, session_id text, claimed_at timestamptz, expires_at timestamptz,
           last_heartbeat timestamptz)",
    );
    says(
        &check(&database, &["--profile", "coordination"]),
        &["task_claims.expires_at", "timestamp", "number"],
    );
}

#[test]
fn a_holder_that_cannot_be_compared_is_named() {
    let database = PgDatabase::new(
        "CREATE TABLE sessions (id text, last_heartbeat bigint);
         CREATE TABLE task_claims (task_id text, session_id json, claimed_at bigint, expires_at bigint,
           last_heartbeat bigint)",
    );
    says(&check(&database, &["--profile", "coordination"]), &["operator does not exist"]);
}

#[test]
fn a_time_written_as_text_is_read_row_by_row() {
    let database = PgDatabase::new(&JOBS.replace("locked_at timestamptz", "locked_at text"));
    job(&database, "run_tsa", 31);
    database.run(
        "INSERT INTO executor_jobs (type, status, locked_at) VALUES ('run_tsa', 'running', 'yesterday')",
    );
    let (source, exit) = database.check();
    assert_eq!((&source["claims"]["stale"], &source["claims"]["unknown"], exit), (&1.into(), &1.into(), 2));
}

#[test]
fn what_a_role_may_not_read_is_not_there_for_it() {
    let database = PgDatabase::new(JOBS);
    job(&database, "run_tsa", 31);
    let role = format!("{}_clerk", database.name());
    database.run(&format!("CREATE ROLE {role} LOGIN"));
    let look = || command(&["check", "--json"]).arg(database.url_as(&role)).output().expect("claimtop runs");
    let nothing = look();
    database.run(&format!("GRANT SELECT (id, type, status) ON executor_jobs TO {role}"));
    let some = look();
    database.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    says(&refused(&nothing), &["no profile fits"]);
    says(&refused(&some), &["executor_jobs.locked_at"]);
}

#[test]
fn a_look_that_takes_too_long_is_given_up_and_said() {
    let database = PgDatabase::new(
        "CREATE FUNCTION slow() RETURNS text LANGUAGE sql VOLATILE AS 'SELECT pg_sleep(600)::text';
         CREATE TABLE jobs (id int); INSERT INTO jobs VALUES (1);
         CREATE VIEW executor_jobs AS SELECT id, 'run_tsa' AS type, 'running' AS status, now() AS locked_at,
           slow() AS locked_by, NULL::timestamptz AS heartbeat_at FROM jobs;",
    );
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    std::fs::write(&config, "poll_timeout = '300ms'\n").expect("the config");
    let config = config.to_str().expect("a path");
    let sentence = check(&database, &["--config", config, "--profile", "executor-jobs"]);
    says(&sentence, &["300 ms"]);
}
