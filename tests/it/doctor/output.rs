//! The page, the JSON, the exit code of several sources, and no trace of the visit.

use super::{AT_NOW, Practice, healthy};
use crate::support::engine::{Engine, engine, on_both};
use crate::support::{MINUTE, stdout};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

#[test]
fn the_page_has_marks_sentences_fixes_and_a_sum() {
    on_both(|| {
        let (practice, database) = (Practice::new(), healthy());
        database.task("old", "session-1", -300 * MINUTE);
        let output = practice.doctor(&[], database.source());
        let page = stdout(&output);
        let (shown, reachable) = match engine() {
            Engine::Sqlite => (database.source(), "it can be opened and read"),
            Engine::Postgres => ("postgresql://".into(), "it lets "),
        };
        assert!(page.starts_with(&shown), "{page}");
        assert!(page.contains(&format!("  ✓ reachable     {reachable}")), "{page}");
        assert!(page.contains("  ! sweeping      1 claim expired more than 1h ago"), "{page}");
        assert!(page.lines().any(|line| line.trim_start().starts_with("fix: see whether")), "{page}");
        assert!(page.trim_end().ends_with("to look at, 0 failed"), "{page}");
        assert_eq!(output.status.code(), Some(1));
    });
}

#[test]
fn json_is_one_object_a_source_with_nothing_but_the_promised_keys() {
    on_both(|| {
        let (practice, database) = (Practice::new(), healthy());
        let mut command = practice.command(&["doctor", "--json", "/nonexistent/tasks.db"]);
        let output = command.args(AT_NOW).arg(database.source()).output().expect("claimtop runs");
        let objects: Vec<serde_json::Value> =
            stdout(&output).lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        assert_eq!(objects.len(), 2);
        for object in &objects {
            let keys: Vec<&String> = object.as_object().expect("an object").keys().collect();
            assert_eq!(keys, ["source", "engine", "state", "error", "checks"]);
            for check in object["checks"].as_array().expect("checks") {
                let keys: Vec<&String> = check.as_object().expect("an object").keys().collect();
                assert_eq!(keys, ["name", "state", "said", "fix"]);
                assert!(["ok", "warning", "failed"].iter().any(|state| check["state"] == *state), "{check}");
                assert_eq!(check["fix"].is_null(), check["state"] == "ok", "{check}");
            }
        }
        assert_eq!((objects[0]["state"].as_str(), objects[1]["error"].is_null()), (Some("failed"), true));
        assert_eq!(output.status.code(), Some(3), "an error goes before a warning");
    });
}

#[test]
fn a_source_that_cannot_be_judged_goes_before_one_that_is_not_there() {
    on_both(|| {
        let practice = Practice::new();
        let database = crate::support::Database::new("CREATE TABLE invoices (id INTEGER)");
        let mut command = practice.command(&["doctor", "/nonexistent/tasks.db"]);
        let output = command.arg(database.source()).output().expect("claimtop runs");
        assert_eq!(output.status.code(), Some(2));
    });
}

#[test]
fn no_source_is_bad_usage() {
    let output = Practice::new().command(&["doctor"]).output().expect("claimtop runs");
    assert_eq!(output.status.code(), Some(3));
}

/// Every name in a folder with what is in it; read by another process, for the locks' sake.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry"));
    names
        .map(|entry| {
            let name = entry.file_name().into_string().expect("UTF-8");
            // The log's index is memory that readers share: only its name counts.
            let is_shared = name.ends_with("-shm");
            let bytes = Command::new("cat").arg(entry.path()).output().expect("cat runs").stdout;
            (name, if is_shared { Vec::new() } else { bytes })
        })
        .collect()
}

#[test]
fn a_visit_leaves_no_trace() {
    let (practice, database) = (Practice::new(), healthy());
    database.run("DROP INDEX idx_claims_expires", []);
    let folder = database.path().parent().expect("a folder").to_path_buf();
    let before = contents(&folder);
    for options in [&[][..], &["--json"], &["--read-only"]] {
        practice.doctor(options, database.path());
        assert_eq!(contents(&folder), before, "{options:?}");
    }
    assert!(!practice.state().exists(), "the folder of the trail is not made by looking");
}

#[test]
fn a_visit_to_a_rollback_database_leaves_nothing_beside_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tasks.db");
    let connection = rusqlite::Connection::open(&path).expect("a database");
    connection.execute_batch(crate::support::COORDINATION).expect("the tables");
    connection.close().expect("closed");
    let before = contents(folder.path());
    Practice::new().doctor(&[], &path);
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn a_visit_to_the_database_of_a_killed_application_leaves_its_log_as_it_was() {
    let (database, folder) = (healthy(), tempfile::tempdir().expect("a folder"));
    for end in ["", "-wal", "-shm"] {
        let from = format!("{}{end}", database.path().display());
        let copied = Command::new("cp").arg(from).arg(folder.path()).status().expect("cp runs");
        assert!(copied.success());
    }
    let before = contents(folder.path());
    assert_eq!(before.len(), 3);
    let findings = Practice::new().examine(&[], folder.path().join("tasks.db"));
    findings.expect("queries", "ok", "a poll over 1 claim took", "");
    assert_eq!(contents(folder.path()), before);
}
