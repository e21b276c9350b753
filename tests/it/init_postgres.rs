//! `claimtop init` on a server: made once, compared ever after, and never altered silently.

use serde_json::json;
use std::process::Output;

use crate::init::{make_everything_exactly_once, names};
use crate::support::postgres::PgDatabase;
use crate::support::server::Server;
use crate::support::{command, json, stderr, stdout};

fn init(database: &PgDatabase, options: &[&str]) -> Output {
    database.claimtop(&[&["init"], options].concat())
}

/// Everything of the database that init could touch, in the catalog's words.
fn catalog(database: &PgDatabase) -> Vec<String> {
    let sql = "SELECT concat_ws('|', 'relation', n.nspname, c.relname, c.relkind, c.xmin) FROM pg_class c
                 JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname !~ '^pg_|information_schema'
               UNION ALL SELECT concat_ws('|', 'function', proname, proargtypes, prosrc, proconfig, xmin) FROM pg_proc
                 WHERE pronamespace = 'public'::regnamespace
               UNION ALL SELECT concat_ws('|', 'column', attrelid::regclass, attname, atttypid, attnotnull)
                 FROM pg_attribute WHERE attrelid::regclass::text !~ '^pg_|information_schema' AND attnum > 0
               ORDER BY 1";
    database.query(sql).into_iter().map(|mut row| row.remove(0).expect("a text")).collect()
}

/// What init answers over something made by hand, which stays as it was.
#[track_caller]
fn refused_over(sql: &str, system: &str, words: &[&str]) {
    let database = PgDatabase::new(sql);
    let before = catalog(&database);
    let output = init(&database, &["--system", system]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for word in words.iter().chain(&["nothing was changed"]) {
        assert!(said.contains(word), "{word:?} in {said}");
    }
    assert!(stdout(&output).is_empty());
    assert_eq!(catalog(&database), before);
}

#[test]
fn all_makes_the_three_systems_and_a_second_time_finds_them_and_changes_nothing() {
    let database = PgDatabase::new("");
    let output = init(&database, &["--json", "--system", "all"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let first = json(&output);
    let made = names(&first["made"]);
    for name in [
        "executor_jobs",
        "executor_jobs_reclaim_idx",
        "executor_jobs_stale_monitor",
        "executor_jobs_stamp",
        "reclaim_stale_jobs",
        "update_job_heartbeat",
        "tasker_tasks",
        "claim_task_for_finalization",
        "tasker_finalization_attempts",
        "tasks",
        "worker_heartbeats",
    ] {
        assert!(made.contains(&name.into()), "{name} in {made:?}");
    }
    assert!(!made.iter().any(|name| name.ends_with("_pkey") || name.ends_with("_seq")), "{made:?}");
    assert_eq!(first["found"], json!([]));
    let before = catalog(&database);
    let output = init(&database, &["--json", "--system", "all"]);
    let second = json(&output);
    assert_eq!((&second["made"], &second["found"]), (&json!([]), &first["made"]));
    assert_eq!(catalog(&database), before);
    assert_eq!(
        database.value("SELECT count(*) FROM pg_namespace WHERE nspname ~ 'claimtop'").as_deref(),
        Some("0")
    );
    let check = database.claimtop(&["check", "--json"]);
    assert_eq!(check.status.code(), Some(0), "{}", stderr(&check));
    assert_eq!(json(&check)["sources"].as_array().map(Vec::len), Some(3));
}

#[test]
fn what_is_missing_is_made_and_rows_survive() {
    let database = PgDatabase::new("");
    init(&database, &["--system", "executor-jobs"]);
    database.run(
        "INSERT INTO executor_jobs (type) VALUES ('run_tsa'); DROP VIEW executor_jobs_reclaim_history;
         DROP FUNCTION update_job_heartbeat; ALTER TABLE executor_jobs ADD COLUMN note text",
    );
    let output = init(&database, &["--json", "--system", "executor-jobs"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let mut made = names(&json(&output)["made"]);
    made.sort();
    assert_eq!(made, ["executor_jobs_reclaim_history", "update_job_heartbeat"]);
    assert_eq!(database.value("SELECT count(*) FROM executor_jobs").as_deref(), Some("1"));
}

#[test]
fn many_at_once_make_everything_exactly_once() {
    let database = PgDatabase::new("");
    make_everything_exactly_once(|| database.command(&["init", "--json", "--system", "task-queue"]));
}

#[test]
fn a_function_of_a_real_system_is_never_overwritten() {
    let own = "CREATE FUNCTION reclaim_stale_jobs() RETURNS jsonb LANGUAGE sql AS 'SELECT NULL::jsonb'";
    refused_over(own, "executor-jobs", &["function reclaim_stale_jobs", "its body is another"]);
    let other = "CREATE FUNCTION update_job_heartbeat(job uuid) RETURNS void LANGUAGE sql AS ''";
    refused_over(
        other,
        "executor-jobs",
        &["function update_job_heartbeat", "its arguments are (job uuid), not"],
    );
    let view = "CREATE VIEW executor_jobs_stale_monitor AS SELECT 1 AS id";
    refused_over(view, "executor-jobs", &["view executor_jobs_stale_monitor", "its text is another"]);
}

#[test]
fn a_table_that_differs_is_named_with_every_difference() {
    let table = "CREATE TABLE tasks (id integer PRIMARY KEY, status varchar(20) NOT NULL DEFAULT 'pending',
        host text NOT NULL, note text, claimed_at timestamptz NOT NULL)";
    let words = [
        "table tasks",
        "the column id is integer, not bigint",
        "the column worker_id is missing",
        "the column claimed_at may not be empty",
        "the column host is unknown and may not be left out",
    ];
    refused_over(table, "task-queue", &words);
    refused_over("CREATE VIEW tasks AS SELECT 1 AS id", "task-queue", &["view tasks", "it is no table"]);
    let index = "CREATE TABLE other (a text); CREATE INDEX idx_tasks_claim ON other (a)";
    refused_over(index, "task-queue", &["index idx_tasks_claim", "ON other"]);
}

#[test]
fn systems_of_sqlite_are_refused_with_a_sentence() {
    let database = PgDatabase::new("");
    let output = init(&database, &["--system", "coordination", "--system", "merge-queue"]);
    assert_eq!(output.status.code(), Some(3));
    let said = stderr(&output);
    for word in ["coordination and merge-queue are on SQLite only", "executor-jobs, finalization, task-queue"]
    {
        assert!(said.contains(word), "{word:?} in {said}");
    }
}

#[test]
fn who_may_not_write_is_refused() {
    let server = Server::start_with("wal_level = replica\nmax_wal_senders = 4");
    let standby = server.standby();
    let user = "CREATE ROLE watcher LOGIN; CREATE ROLE frozen LOGIN SUPERUSER;
                ALTER ROLE frozen SET default_transaction_read_only = on";
    server.connect("postgres").run(user);
    let run = |url: &str, options: &[&str]| {
        command(&[&["init", "--system", "all", url], options].concat()).output().expect("claimtop runs")
    };
    let url = server.url("postgres");
    let as_user = |name: &str| url.replace("claimtop@", &format!("{name}@"));
    for (output, words) in [
        (run(&standby.url("postgres"), &[]), "standby"),
        (run(&as_user("frozen"), &[]), "read-only"),
        (run(&as_user("watcher"), &[]), "GRANT CREATE ON DATABASE"),
        (run(&url, &["--read-only"]), "read-only"),
    ] {
        assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
        assert!(stderr(&output).contains(words), "{words:?} in {}", stderr(&output));
    }
    let tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace";
    assert_eq!(server.connect("postgres").value(tables).as_deref(), Some("0"));
}

#[test]
fn a_writer_that_does_not_end_is_named_after_a_while() {
    let database = PgDatabase::new("");
    let other = database.connect();
    other.run("BEGIN; SELECT pg_advisory_xact_lock(hashtext('claimtop init'))");
    let output = init(&database, &["--system", "task-queue"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("nothing was changed"), "{}", stderr(&output));
}

#[test]
fn it_tells_what_is_left_to_do_by_hand() {
    let database = PgDatabase::new("");
    let text = stdout(&init(&database, &["--system", "all"]));
    for words in ["roles.sql", "claimtop_operator", "cron.schedule", "claimtop sweep", "made"] {
        assert!(text.contains(words), "{words:?} in {text}");
    }
    assert_eq!(
        database.value("SELECT count(*) FROM pg_class WHERE relname = 'claimtop_audit'").as_deref(),
        Some("0")
    );
}

#[test]
fn the_call_that_it_tells_for_a_timer_works_wherever_the_tables_are() {
    let database = PgDatabase::new("CREATE SCHEMA \"Ann's Work\"");
    database.run(&format!("ALTER DATABASE {} SET search_path = \"Ann's Work\"", database.name()));
    let text = stdout(&init(&database, &["--system", "executor-jobs"]));
    let call = "'SELECT \"Ann''s Work\".reclaim_stale_jobs()'";
    assert!(text.contains(call), "{call} in {text}");
    // As the timer has it: a text that is run by somebody with another path.
    database.run(&format!("SET search_path = public; DO $$ BEGIN EXECUTE {call}; END $$"));
}

#[test]
fn a_password_in_the_words_is_refused_and_not_repeated() {
    let mut command = command(&["init", "--system", "all", "postgres://ann:s3cret@db.example/app"]);
    let output = command.output().expect("claimtop runs");
    assert_eq!(output.status.code(), Some(3));
    assert!(!stderr(&output).contains("s3cret"), "{}", stderr(&output));
}

#[test]
fn what_an_earlier_version_made_is_brought_up_to_date() {
    let database = PgDatabase::new("");
    database.run(&format!("BEGIN; {} COMMIT;", include_str!("init_postgres/finalization_0_2.sql")));
    let task = "00000000-0000-7000-8000-000000000001";
    database.run(&format!("SELECT claim_task_for_finalization('{task}', 'p')"));
    let output = init(&database, &["--json", "--system", "finalization"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let made = names(&json(&output)["made"]);
    let expected = [
        "tasker_finalization_attempts.operation",
        "tasker_finalization_attempts.duration_seconds",
        "claim_task_for_finalization",
        "extend_finalization_claim",
        "release_finalization_claim",
    ];
    assert_eq!(made, expected);
    database.run(&format!("SELECT release_finalization_claim('{task}', 'p')"));
    let rows = database.query(
        "SELECT coalesce(operation, '-') || '|' || (duration_seconds >= 0)::text FROM tasker_finalization_attempts
         WHERE operation IS NOT NULL OR duration_seconds IS NULL AND operation IS NULL ORDER BY id",
    );
    let rows: Vec<Option<String>> = rows.into_iter().map(|mut row| row.remove(0)).collect();
    assert_eq!(rows, [None, Some("release|true".to_owned())]);
    assert_eq!(names(&json(&init(&database, &["--json", "--system", "finalization"]))["made"]), [""; 0]);
}

#[test]
fn a_function_that_somebody_changed_is_not_replaced() {
    let changed = include_str!("init_postgres/finalization_0_2.sql").replace("RETURN FOUND;", "RETURN true;");
    refused_over(
        &format!("BEGIN; {changed} COMMIT;"),
        "finalization",
        &["release_finalization_claim", "body"],
    );
}

const STUCK: &str = "INSERT INTO executor_jobs (type, status, locked_at, locked_by, attempts, run_at)
    VALUES ('run_tsa', 'running', now() - interval '35 minutes', 'test-worker-dead', 1, now() - interval '1 hour')";
const FETCH: &str = "SELECT status || ' ' || locked_by || ' ' || attempts FROM fetch_executor_job('w-new')";

fn with_wrapper() -> PgDatabase {
    let database = PgDatabase::new("");
    let output = init(&database, &["--system", "executor-jobs", "--wrapper", "--json"]);
    assert!(names(&json(&output)["made"]).contains(&"fetch_executor_job".to_owned()), "{}", stderr(&output));
    database
}

#[test]
fn the_wrapper_reclaims_before_it_fetches_work() {
    let database = with_wrapper();
    database.run(STUCK);
    assert_eq!(database.value(FETCH).as_deref(), Some("running w-new 3"));
    assert!(database.query(FETCH).is_empty(), "nothing else is due");
    // A second time nothing is made, and a database that had only the tables gets it.
    let again = json(&init(&database, &["--system", "executor-jobs", "--wrapper", "--json"]));
    assert!(names(&again["made"]).is_empty(), "{again:#}");
    let later = PgDatabase::new("");
    assert!(init(&later, &["--system", "executor-jobs"]).status.success());
    let made = json(&init(&later, &["--system", "executor-jobs", "--wrapper", "--json"]));
    assert_eq!(names(&made["made"]), ["fetch_executor_job"]);
}

#[test]
fn a_reclaim_that_fails_in_the_wrapper_is_a_warning_and_work_is_fetched() {
    let database = with_wrapper();
    database.run(STUCK);
    database.run(
        "INSERT INTO executor_jobs (type) VALUES ('build_artifact');
         ALTER TABLE executor_jobs ADD CONSTRAINT broken CHECK (last_error NOT LIKE 'RECLAIMED%')",
    );
    assert_eq!(database.value(FETCH).as_deref(), Some("running w-new 1"));
    database.run("ALTER TABLE executor_jobs DROP CONSTRAINT broken");
    assert_eq!(database.value(FETCH).as_deref(), Some("running w-new 3"), "the next fetch reclaims");
}

#[test]
fn rollback_drops_the_functions_and_views_and_keeps_the_jobs() {
    let database = with_wrapper();
    database.run(STUCK);
    let output = init(&database, &["--system", "executor-jobs", "--rollback", "--json"]);
    let mut dropped = names(&json(&output)["dropped"]);
    dropped.sort();
    let expected = [
        "executor_jobs_reclaim_history",
        "executor_jobs_stale_monitor",
        "executor_jobs_stale_validation",
        "fetch_executor_job",
        "reclaim_stale_jobs",
        "update_job_heartbeat",
    ];
    assert_eq!(dropped, expected, "{}", stderr(&output));
    let left = "SELECT count(*) FROM pg_proc WHERE proname IN ('fetch_executor_job', 'reclaim_stale_jobs')";
    assert_eq!(database.value(left).as_deref(), Some("0"));
    assert_eq!(database.value("SELECT count(*) FROM executor_jobs").as_deref(), Some("1"));
    // All of it can be made again.
    let again = json(&init(&database, &["--system", "executor-jobs", "--wrapper", "--json"]));
    assert_eq!(names(&again["made"]).len(), expected.len(), "{again:#}");
}

#[test]
fn rollback_drops_nothing_if_a_function_is_somebody_elses() {
    let database = with_wrapper();
    database.run(
        "DROP FUNCTION reclaim_stale_jobs();
         CREATE FUNCTION reclaim_stale_jobs() RETURNS jsonb LANGUAGE sql AS $$ SELECT '{}'::jsonb $$",
    );
    let before = catalog(&database);
    let output = init(&database, &["--system", "executor-jobs", "--rollback"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("reclaim_stale_jobs") && stderr(&output).contains("nothing was changed")
    );
    assert_eq!(catalog(&database), before);
}

#[test]
fn wrapper_and_rollback_are_for_executor_jobs_on_a_server() {
    let database = PgDatabase::new("");
    for options in [&["--system", "task-queue", "--wrapper"][..], &["--system", "all", "--rollback"]] {
        let output = init(&database, options);
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("jobs.db");
    let output =
        command(&["init", "--system", "executor-jobs", "--wrapper"]).arg(&file).output().expect("runs");
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("fetch") && !file.exists(), "{}", stderr(&output));
}
