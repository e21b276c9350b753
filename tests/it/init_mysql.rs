//! `claimtop init` on MySQL and MariaDB: made once, compared ever after, and never altered silently.

use serde_json::json;
use std::process::Output;

use crate::init::{make_everything_exactly_once, names};
use crate::support::mysql::MyDatabase;
use crate::support::{json, stderr, stdout};

const AUDIT: &str = include_str!("../../assets/schema/mysql/audit.sql");
const ROLES: &str = include_str!("../../assets/schema/mysql/roles.sql");

fn init(database: &MyDatabase, options: &[&str]) -> Output {
    database.claimtop(&[&["init"], options].concat())
}

/// Every table, column and index of the database, in the catalog's words.
fn catalog(database: &MyDatabase) -> String {
    database.run("SET SESSION group_concat_max_len = 1000000");
    let parts = [
        "SELECT GROUP_CONCAT(CONCAT_WS(' ', table_name, engine, create_time) ORDER BY 1) FROM information_schema.tables WHERE table_schema = DATABASE()",
        "SELECT GROUP_CONCAT(CONCAT_WS(' ', table_name, column_name, column_type, is_nullable, column_default) ORDER BY 1) FROM information_schema.columns WHERE table_schema = DATABASE()",
        "SELECT GROUP_CONCAT(CONCAT_WS(' ', table_name, index_name, column_name, non_unique) ORDER BY 1) FROM information_schema.statistics WHERE table_schema = DATABASE()",
    ];
    parts.map(|sql| database.text(sql)).join("\n")
}

#[test]
fn all_makes_the_three_systems_and_a_second_time_finds_them_and_changes_nothing() {
    let Some(database) = MyDatabase::new("") else { return };
    let output = init(&database, &["--json", "--system", "all"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let first = json(&output);
    let made = names(&first["made"]);
    for name in [
        "executor_jobs",
        "executor_jobs_reclaim_idx",
        "executor_job_runs",
        "tasker_tasks",
        "tasker_finalization_attempts",
        "tasks",
        "tasks_dedupe_key",
        "worker_heartbeats",
    ] {
        assert!(made.contains(&name.into()), "{name} in {made:?}");
    }
    assert_eq!(first["found"], json!([]));
    let before = catalog(&database);
    assert!(!before.contains("claimtop_model"), "{before}");
    assert_eq!(before.matches("InnoDB").count(), 10, "{before}");
    let second = json(&init(&database, &["--json", "--system", "all"]));
    assert_eq!((&second["made"], &second["found"]), (&json!([]), &first["made"]));
    assert_eq!(catalog(&database), before);
}

#[test]
fn the_profiles_of_the_three_systems_fit_and_judge_their_claims() {
    let Some(database) = MyDatabase::new("") else { return };
    let output = init(&database, &["--system", "all"]);
    assert!(stdout(&output).contains("assets/schema/mysql/roles.sql"), "{}", stdout(&output));
    database.run(
        "INSERT INTO executor_jobs (type, status, attempts, locked_by, locked_at, heartbeat_at) VALUES
           ('run_tsa', 'running', 1, 'w1', NOW(6) - INTERVAL 40 MINUTE, NOW(6) - INTERVAL 31 MINUTE),
           ('run_tsa', 'running', 1, 'w2', NOW(6) - INTERVAL 40 MINUTE, NOW(6)), ('run_tsa', 'failed', 1, NULL, NULL, NULL);
         INSERT INTO executor_jobs (type) VALUES ('run_tsa');
         INSERT INTO tasker_tasks (claimed_by, claimed_at) VALUES ('p1', NOW(6) - INTERVAL 31 SECOND), ('p2', NOW(6)), (NULL, NULL);
         INSERT INTO task_types (name) VALUES ('mail');
         INSERT INTO worker_heartbeats (worker_id, last_seen_at, metadata) VALUES
           ('dead', NOW(6) - INTERVAL 1 HOUR, '{\"pid\": 7}'), ('alive', NOW(6), NULL);
         INSERT INTO tasks (task_type_id, status, worker_id, claimed_at) VALUES
           (1, 'claimed', 'dead', NOW(6) - INTERVAL 50 MINUTE), (1, 'claimed', 'alive', NOW(6));
        ",
    );
    let check = database.claimtop(&["check", "--json"]);
    assert_eq!(check.status.code(), Some(2), "{}", stderr(&check));
    let check = json(&check);
    println!("{check:#}");
    for (profile, board) in [("executor-jobs", "job"), ("finalization", "task"), ("task-queue", "task")] {
        let sources = check["sources"].as_array().expect("sources");
        let source = sources.iter().find(|source| source["profile"] == profile).expect("its profile");
        let counts = &source["boards"][board];
        assert_eq!((&counts["total"], &counts["healthy"]), (&json!(2), &json!(1)), "{source:#}");
    }
}

#[test]
fn what_is_missing_is_made_and_rows_survive() {
    let Some(database) = MyDatabase::new("") else { return };
    init(&database, &["--system", "executor-jobs"]);
    database.run(
        "INSERT INTO executor_jobs (type) VALUES ('run_tsa');
         DROP TABLE executor_job_runs;
         ALTER TABLE executor_jobs DROP INDEX executor_jobs_reclaim_idx;
         ALTER TABLE executor_jobs ADD COLUMN note text;
        ",
    );
    let output = init(&database, &["--json", "--system", "executor-jobs"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let made = names(&json(&output)["made"]);
    assert_eq!(made, ["executor_jobs_reclaim_idx", "executor_job_runs", "executor_job_runs_job_idx"]);
    assert_eq!(database.text("SELECT count(*) FROM executor_jobs"), "1");
}

#[test]
fn what_differs_is_told_and_nothing_is_made_beside_it() {
    for (sql, system, word) in [
        ("CREATE TABLE tasks (id INT PRIMARY KEY)", "task-queue", "the column id is int"),
        (
            "CREATE TABLE task_logs (id BIGINT AUTO_INCREMENT PRIMARY KEY, task_id BIGINT NOT NULL) ENGINE=MyISAM",
            "task-queue",
            "it is stored in MyISAM, not in InnoDB",
        ),
        ("CREATE VIEW tasker_tasks AS SELECT 1 AS task_uuid", "finalization", "it is no table"),
    ] {
        let Some(database) = MyDatabase::new(sql) else { return };
        let before = catalog(&database);
        let output = init(&database, &["--system", system]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(word) && said.contains("nothing was changed"), "{said}");
        assert_eq!(catalog(&database), before);
    }
    let Some(database) = MyDatabase::new("") else { return };
    init(&database, &["--system", "task-queue"]);
    database.run("ALTER TABLE task_logs DROP INDEX idx_task_logs_task, ADD INDEX idx_task_logs_task (event)");
    let said = stderr(&init(&database, &["--system", "task-queue"]));
    assert!(said.contains("the index idx_task_logs_task") && said.contains("not on (task_id, id)"), "{said}");
    let said = stderr(&init(&database, &["--system", "merge-queue"]));
    assert!(said.contains("merge-queue is not available on MySQL"), "{said}");
}

#[test]
fn many_at_once_make_everything_exactly_once() {
    let Some(database) = MyDatabase::new("") else { return };
    make_everything_exactly_once(|| database.command(&["init", "--json", "--system", "task-queue"]));
}

#[test]
fn what_a_killed_run_left_behind_is_in_nobodys_way() {
    let Some(database) = MyDatabase::new("CREATE TABLE claimtop_model_tasks (id INT)") else { return };
    let output = init(&database, &["--system", "task-queue"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!catalog(&database).contains("claimtop_model"));
}

#[test]
fn the_trail_is_append_only_and_the_roles_may_do_what_they_need_and_no_more() {
    let Some(database) = MyDatabase::new("") else { return };
    init(&database, &["--system", "all"]);
    for script in [AUDIT, AUDIT, ROLES, ROLES] {
        database.run(script);
    }
    database.run("INSERT INTO claimtop_audit VALUES ('a', 'b', 'c')");
    for sql in ["UPDATE claimtop_audit SET at = 'x'", "DELETE FROM claimtop_audit"] {
        let said = database.refused(sql);
        assert!(said.contains("append-only"), "{said}");
    }
    let watcher = database.account("claimtop_watcher");
    let operator = database.account("claimtop_operator");
    for (sql, watches, acts) in [
        ("SELECT count(*) FROM tasks", true, true),
        ("SELECT count(*) FROM claimtop_audit", false, true),
        ("SELECT id FROM tasks WHERE id = 1 FOR UPDATE", false, true),
        ("UPDATE tasks SET status = 'pending' WHERE id = 1", false, true),
        ("UPDATE tasks SET params = '{}' WHERE id = 1", false, false),
        ("UPDATE worker_heartbeats SET last_seen_at = NOW(6)", false, false),
        ("INSERT INTO task_logs (task_id, event) VALUES (1, 'requeued')", false, true),
        ("DELETE FROM task_logs", false, false),
        ("TRUNCATE claimtop_audit", false, false),
        ("DROP TABLE claimtop_audit", false, false),
        ("INSERT INTO claimtop_audit VALUES ('d', 'b', 'c')", false, true),
    ] {
        assert_eq!(operator.may(sql), acts, "operator: {sql}");
        // MariaDB lets whoever may read a row lock it.
        if !(sql.contains("FOR UPDATE") && database.is_mariadb()) {
            assert_eq!(watcher.may(sql), watches, "watcher: {sql}");
        }
    }
}
