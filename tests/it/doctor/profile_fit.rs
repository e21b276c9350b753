//! Profiles that fit, nearly fit, or could be anybody's.

use super::{Practice, healthy};
use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database};

/// The tables of coordination, changed.
fn changed(from: &str, to: &str) -> Database {
    assert!(COORDINATION.contains(from), "{from}");
    Database::new(&COORDINATION.replace(from, to))
}

#[test]
fn a_profile_that_fits_is_named_with_its_boards() {
    on_both(|| {
        let findings = Practice::new().examine(&[], healthy().source());
        findings.expect("profile", "ok", "coordination fits: task, lock", "");
    });
}

#[test]
fn a_missing_table_of_claims_is_named() {
    on_both(|| {
        let database = Database::new(COORDINATION);
        database.run("DROP TABLE task_claims", []);
        let findings = Practice::new().examine(&[], database.source());
        findings.expect("tables", "warning", "there is no table task_claims", "claimtop init");
        assert_eq!(findings.code, 1, "the locks can still be judged");
    });
}

#[test]
fn a_missing_registry_is_named() {
    on_both(|| {
        let database = Database::new(COORDINATION);
        database.run("DROP TABLE sessions", []);
        let findings = Practice::new().examine(&[], database.source());
        findings.expect("columns", "warning", "there is no table sessions", "profile show coordination");
    });
}

#[test]
fn a_column_of_the_wrong_type_leaves_its_board_out() {
    on_both(|| {
        let database = changed(
            "acquired_at INTEGER NOT NULL, expires_at INTEGER NOT NULL",
            "acquired_at INTEGER NOT NULL, expires_at TEXT NOT NULL",
        );
        // As each engine spells it.
        let declared = if database.server().is_some() { "text" } else { "TEXT" };
        let findings = Practice::new().examine(&[], database.source());
        findings.expect(
            "columns",
            "warning",
            &format!("locks.expires_at is declared {declared} but read as a number"),
            "profile show",
        );
    });
}

#[test]
fn a_profile_that_nearly_fits_fails_column_by_column() {
    on_both(|| {
        let database = Database::new(
            "CREATE TABLE task_claims (task_id TEXT PRIMARY KEY, owner TEXT, claimed_at INTEGER, until INTEGER)",
        );
        let findings = Practice::new().examine(&[], database.source());
        findings.expect("profile", "failed", "session_id", "profile show coordination");
        findings.expect("profile", "failed", "expires_at", "");
        assert_eq!(findings.code, 2, "nothing can be judged, but it was looked at");
    });
}

#[test]
fn a_database_of_somebody_else_fails_with_the_way_out() {
    on_both(|| {
        let database = Database::new("CREATE TABLE invoices (id INTEGER PRIMARY KEY, total INTEGER)");
        let findings = Practice::new().examine(&[], database.source());
        findings.expect("profile", "failed", "no profile fits", "write a profile");
        assert_eq!(findings.code, 2);
    });
}

#[test]
fn a_named_profile_that_does_not_fit_fails_even_beside_others() {
    on_both(|| {
        let database = healthy();
        let options = ["--profile", "coordination", "--profile", "merge-queue"];
        let findings = Practice::new().examine(&options, database.source());
        findings.expect("profile", "failed", "merge-queue does not fit: table merge_queue is missing", "");
        assert_eq!(findings.code, 2);
    });
}

const ANYBODYS: &str = "
    CREATE TABLE task_types (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE tasks (id TEXT PRIMARY KEY, task_type_id INTEGER, status TEXT, worker_id TEXT, claimed_at TEXT,
      attempts INTEGER, max_attempts INTEGER, error_message TEXT, priority INTEGER, created_at TEXT,
      updated_at TEXT, completed_at TEXT);";

#[test]
fn a_profile_that_could_be_anybodys_wants_to_be_confirmed() {
    on_both(|| {
        let (practice, database) = (Practice::new(), Database::new(ANYBODYS));
        let findings = practice.examine(&[], database.source());
        findings.expect("confirmation", "warning", "task-queue could be anybody's", "--profile task-queue");
        let config = practice.config(database.source(), "profiles = [\"task-queue\"]");
        for options in [["--profile", "task-queue"], ["--config", &config]] {
            let findings = practice.examine(&options, database.source());
            assert!(findings.checks().iter().all(|check| check["name"] != "confirmation"), "{options:?}");
        }
    });
}
