//! `claimtop init`: the tables of a system, made once and never altered.

use rusqlite::Connection;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

use crate::support::{COORDINATION, claimtop, command, json, lines, stderr, stdout};

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("tasks.db");
    (folder, path)
}

fn init(path: &Path, options: &[&str]) -> Output {
    let mut arguments = vec!["init", "--system", "coordination"];
    arguments.extend(options);
    claimtop(&arguments, path)
}

/// Everything the database was made of, in its own words.
fn schema(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).expect("a database");
    let mut statement =
        connection.prepare("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name").expect("a schema");
    let texts = statement.query_map([], |row| row.get(0)).expect("a schema");
    texts.map(|text| text.expect("a text")).collect()
}

/// The names of the objects of an answer.
pub fn names(list: &Json) -> Vec<String> {
    let entries = list.as_array().expect("a list");
    entries.iter().map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect()
}

/// A database made by hand, and what it answers to init.
fn init_over(sql: &str) -> (TempDir, PathBuf, Output) {
    let (folder, path) = folder();
    Connection::open(&path).expect("a database").execute_batch(sql).expect(sql);
    let before = schema(&path);
    let output = init(&path, &[]);
    if !output.status.success() {
        assert_eq!(schema(&path), before, "nothing was changed");
    }
    (folder, path, output)
}

#[test]
fn a_missing_file_is_made_with_its_tables_and_indexes() {
    let (_folder, path) = folder();
    let output = init(&path, &["--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let made = json(&output);
    let tables: Vec<&str> = made["made"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|entry| entry["kind"] == "table")
        .map(|entry| entry["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(tables, ["change_journal", "locks", "resumable_claims", "sessions", "task_claims"]);
    assert!(names(&made["made"]).contains(&"idx_task_claims_expires".into()));
    assert_eq!(made["found"], json!([]));
    let mode: String = Connection::open(&path)
        .expect("a database")
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .expect("a mode");
    assert_eq!(mode, "wal");
}

#[test]
fn a_second_time_finds_everything_and_changes_nothing() {
    let (_folder, path) = folder();
    let first = json(&init(&path, &["--json"]));
    let before = schema(&path);
    let second = json(&init(&path, &["--json"]));
    assert_eq!(second["made"], json!([]));
    assert_eq!(second["found"], first["made"]);
    assert_eq!(schema(&path), before);
}

#[test]
fn the_table_says_what_was_made_and_what_was_there() {
    let (_folder, path) = folder();
    let text = stdout(&init(&path, &[]));
    assert!(text.contains("0 there already"), "{text}");
    assert!(text.lines().any(|line| line.contains("made") && line.contains("task_claims")), "{text}");
    Connection::open(&path).expect("a database").execute_batch("DROP TABLE locks").expect("a drop");
    let text = stdout(&init(&path, &[]));
    assert!(text.contains("3 made"), "the table and its two indexes: {text}");
    assert!(text.lines().any(|line| line.contains("there") && line.contains("task_claims")), "{text}");
}

#[test]
fn rows_survive_it() {
    let (_folder, path) = folder();
    init(&path, &[]);
    let connection = Connection::open(&path).expect("a database");
    connection.execute("INSERT INTO sessions (id, project_path) VALUES ('ann', '/')", []).expect("a row");
    assert!(init(&path, &[]).status.success());
    let rows: i64 =
        connection.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0)).expect("a count");
    assert_eq!(rows, 1);
}

#[test]
fn its_own_profile_finds_the_tables_and_nothing_is_wrong_with_them() {
    let (_folder, path) = folder();
    init(&path, &[]);
    let check = claimtop(&["check", "--json"], &path);
    assert_eq!(check.status.code(), Some(0), "{}", stderr(&check));
    assert_eq!(json(&check)["sources"][0]["profile"], "coordination");
    let detected = claimtop(&["profile", "detect"], &path);
    assert!(stdout(&detected).contains("coordination"), "{}", stdout(&detected));
    assert!(lines(&claimtop(&["list", "--json"], &path)).is_empty());
}

#[test]
fn all_systems_share_one_database_and_a_second_time_finds_them() {
    let (_folder, path) = folder();
    let first = claimtop(&["init", "--json", "--system", "all"], &path);
    assert!(first.status.success(), "{}", stderr(&first));
    let second = claimtop(&["init", "--json", "--system", "all"], &path);
    let (first, second) = (json(&first), json(&second));
    assert_eq!(second["made"], json!([]));
    let total = |answer: &Json| names(&answer["made"]).len() + names(&answer["found"]).len();
    assert_eq!(total(&second), total(&first));
    let check = claimtop(&["check"], &path);
    assert_eq!(check.status.code(), Some(0), "{}{}", stdout(&check), stderr(&check));
}

/// Several at once, of which one makes each object and the others find it.
pub fn make_everything_exactly_once(mut command: impl FnMut() -> Command) {
    let start = |_| command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("claimtop starts");
    let running: Vec<_> = (0..6).map(start).collect();
    let mut made: BTreeMap<String, usize> = BTreeMap::new();
    for child in running {
        let output = child.wait_with_output().expect("its end");
        assert!(output.status.success(), "{}", stderr(&output));
        for name in names(&json(&output)["made"]) {
            *made.entry(name).or_default() += 1;
        }
    }
    assert!(made.len() > 4 && made.values().all(|times| *times == 1), "{made:?}");
}

#[test]
fn many_at_once_make_everything_exactly_once() {
    let (_folder, path) = folder();
    make_everything_exactly_once(|| {
        let mut command = command(&["init", "--json", "--system", "coordination"]);
        command.arg(&path);
        command
    });
}

#[test]
fn a_table_with_a_missing_column_is_an_error_that_names_it() {
    let (_folder, path, output) = init_over("CREATE TABLE locks (resource TEXT PRIMARY KEY NOT NULL)");
    assert_eq!(output.status.code(), Some(3));
    let said = stderr(&output);
    for words in [path.to_str().expect("UTF-8"), "locks", "expires_at is missing", "nothing was changed"] {
        assert!(said.contains(words), "{words:?} in {said}");
    }
    assert!(stdout(&output).is_empty());
}

#[test]
fn a_column_of_another_type_is_an_error_that_names_both() {
    let sql = COORDINATION.replace("expires_at INTEGER NOT NULL, lock_type", "expires_at TEXT, lock_type");
    let (_folder, _path, output) = init_over(&sql);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("the column expires_at is TEXT, not INTEGER"), "{}", stderr(&output));
}

#[test]
fn a_column_that_must_be_filled_and_that_nobody_here_knows_is_an_error() {
    let (_folder, path) = folder();
    init(&path, &[]);
    let connection = Connection::open(&path).expect("a database");
    let change = "DROP TABLE locks; CREATE TABLE locks (resource TEXT PRIMARY KEY NOT NULL,
        session_id TEXT NOT NULL, acquired_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
        lock_type TEXT NOT NULL, refresh_count INTEGER NOT NULL, note TEXT, host TEXT NOT NULL)";
    connection.execute_batch(change).expect(change);
    let output = init(&path, &[]);
    assert_eq!(output.status.code(), Some(3));
    let said = stderr(&output);
    assert!(said.contains("host") && !said.contains("note"), "{said}");
}

#[test]
fn a_view_or_an_index_under_the_name_of_another_is_an_error() {
    let (_folder, _path, view) = init_over("CREATE VIEW sessions AS SELECT 1 AS id");
    assert_eq!(view.status.code(), Some(3));
    assert!(stderr(&view).contains("view sessions"), "{}", stderr(&view));
    let sql = "CREATE TABLE other (a TEXT); CREATE INDEX idx_locks_session ON other(a)";
    let (_folder, _path, index) = init_over(sql);
    assert_eq!(index.status.code(), Some(3));
    assert!(stderr(&index).contains("it is on other, not on locks"), "{}", stderr(&index));
}

#[test]
fn a_table_in_other_letters_is_the_same_table() {
    let (_folder, _path, output) = init_over("CREATE TABLE Sessions (ID text PRIMARY KEY)");
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("table Sessions is there already"), "{}", stderr(&output));
}

#[test]
fn another_database_keeps_its_tables_and_its_mode() {
    let (_folder, path, output) = init_over("CREATE TABLE invoices (id INTEGER PRIMARY KEY)");
    assert!(output.status.success(), "{}", stderr(&output));
    let mode: String = Connection::open(&path)
        .expect("a database")
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .expect("a mode");
    assert_eq!(mode, "delete");
    assert!(schema(&path).iter().any(|text| text.contains("invoices")));
}

#[test]
fn read_only_refuses_and_makes_no_file() {
    let (_folder, path) = folder();
    let output = init(&path, &["--read-only"]);
    assert_eq!(output.status.code(), Some(5));
    assert!(stderr(&output).contains("read-only"), "{}", stderr(&output));
    assert!(!path.exists());
}

#[test]
fn what_cannot_be_a_database_is_said() {
    let (folder, path) = folder();
    fs::write(&path, "name,task\nann,1\n".repeat(100)).expect("a file");
    let nowhere = folder.path().join("no/such/tasks.db");
    let cases = [
        (path.clone(), "is not a SQLite database"),
        (folder.path().to_path_buf(), "is a directory"),
        (nowhere, "there is no folder"),
    ];
    for (at, words) in cases {
        let output = init(&at, &[]);
        assert_eq!(output.status.code(), Some(3), "{}", at.display());
        assert!(stderr(&output).contains(words), "{words:?} in {}", stderr(&output));
    }
    assert_eq!(fs::read_to_string(&path).expect("the file"), "name,task\nann,1\n".repeat(100));
}

#[test]
fn an_unknown_system_is_answered_with_the_five() {
    let (_folder, path) = folder();
    let output = claimtop(&["init", "--system", "cordination"], &path);
    assert_eq!(output.status.code(), Some(3));
    for system in ["coordination", "executor-jobs", "merge-queue", "finalization", "task-queue", "all"] {
        assert!(stderr(&output).contains(system), "{system} in {}", stderr(&output));
    }
    assert!(!path.exists());
}

#[test]
fn a_writer_that_does_not_end_is_named_after_a_while() {
    let (_folder, path) = folder();
    init(&path, &[]);
    let connection = Connection::open(&path).expect("a database");
    connection.execute_batch("DROP TABLE locks; BEGIN IMMEDIATE").expect("a transaction");
    let output = init(&path, &[]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("locked by another process"), "{}", stderr(&output));
}

#[test]
fn the_word_memory_is_a_file_like_any_other() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = command(&["init", "--system", "coordination", ":memory:"]);
    let output = command.current_dir(folder.path()).output().expect("claimtop runs");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(folder.path().join(":memory:").is_file());
}

#[test]
fn columns_that_a_later_version_brought_are_added_and_rows_survive() {
    let (_folder, path) = folder();
    let connection = Connection::open(&path).expect("a database");
    let old = "CREATE TABLE tasker_finalization_attempts (id INTEGER PRIMARY KEY AUTOINCREMENT, task_uuid TEXT NOT NULL,
                 processor_id TEXT NOT NULL, claimed BOOLEAN NOT NULL, already_claimed_by TEXT, task_state TEXT,
                 message TEXT, attempted_at TEXT NOT NULL);
               INSERT INTO tasker_finalization_attempts (task_uuid, processor_id, claimed, attempted_at)
                 VALUES ('t', 'p', 1, '2026-11-15 12:00:00.000000');";
    connection.execute_batch(old).expect(old);
    let init = || {
        let arguments = ["init", path.to_str().expect("UTF-8"), "--json", "--system", "finalization"];
        let output = command(&arguments).output().expect("claimtop runs");
        assert!(output.status.success(), "{}", stderr(&output));
        json(&output)
    };
    let made = names(&init()["made"]);
    for column in ["operation", "duration_seconds"] {
        let column = format!("tasker_finalization_attempts.{column}");
        assert!(made.contains(&column), "{column} in {made:?}");
    }
    let kept = "SELECT count(*) FROM tasker_finalization_attempts WHERE operation IS NULL AND duration_seconds IS NULL";
    let kept: i64 = connection.query_row(kept, [], |row| row.get(0)).expect("a count");
    assert_eq!(kept, 1);
    assert_eq!(names(&init()["made"]), [""; 0]);
}
