//! The file itself: how it keeps its changes, and files that are none.

use super::{Practice, healthy};
use crate::support::{COORDINATION, stderr, stdout};
use rusqlite::Connection;

#[test]
fn wal_mode_is_praised_with_the_sizes_of_its_files() {
    let findings = Practice::new().examine(&[], healthy().path());
    findings.expect("journal", "ok", "WAL", "");
    findings.expect("log", "ok", "-wal is there (", "");
    findings.expect("log", "ok", "-shm is there (32 KiB)", "");
    findings.expect("sqlite", "ok", rusqlite::version(), "");
    findings.expect("file system", "ok", "local", "");
}

#[test]
fn a_rollback_journal_is_a_warning_with_the_statement_that_ends_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tasks.db");
    Connection::open(&path).expect("a database").execute_batch(COORDINATION).expect("the tables");
    let findings = Practice::new().examine(&[], &path);
    findings.expect("journal", "warning", "mode delete, not WAL", "PRAGMA journal_mode = WAL");
    assert!(findings.checks().iter().all(|check| check["name"] != "log"), "there is no log to speak of");
    assert_eq!(findings.code, 1);
}

#[test]
fn a_file_that_cannot_be_looked_at_is_exit_code_3_with_the_same_sentence_as_check() {
    let practice = Practice::new();
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("text.db");
    std::fs::write(&text, "this is not a database at all, and long enough to tell").expect("a file");
    let empty = folder.path().join("empty.db");
    std::fs::write(&empty, "").expect("a file");
    let missing = folder.path().join("missing.db");
    for path in [text.as_path(), &empty, &missing, folder.path()] {
        let findings = practice.examine(&[], path);
        assert_eq!(findings.code, 3, "{:#}", findings.object);
        let checked = practice.command(&["check"]).arg(path).output().expect("claimtop runs");
        let said = findings.object["error"].as_str().expect("an error").to_owned();
        assert_eq!(stderr(&checked).trim_end(), format!("claimtop: {said}"));
        let (state, said, fix) = findings.check("reachable");
        assert_eq!(state, "failed");
        assert!(said.contains(&path.display().to_string()) && !fix.is_empty(), "{said} {fix}");
    }
    assert!(!missing.exists(), "looking creates nothing");
}

#[test]
fn a_postgresql_url_gets_the_same_honest_error_as_from_check() {
    let practice = Practice::new();
    let url = "postgres://ann:hunter2@db.example/app";
    let ask = |verb: &str| practice.command(&[verb, url]).output().expect("claimtop runs");
    let (examined, checked) = (ask("doctor"), ask("check"));
    assert_eq!(examined.status.code(), Some(3));
    assert_eq!((stderr(&examined), stdout(&examined)), (stderr(&checked), String::new()));
    let findings = practice.examine(&[], url);
    assert_eq!((findings.code, findings.checks().len()), (3, 0));
    assert!(!findings.object.to_string().contains("hunter2"));
}
