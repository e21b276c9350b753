//! Databases with tables that no profile can use, or not now.

use super::{COORDINATION, Scratch, code, refused_database, run_on, says};
use crate::support::Database;
use crate::support::engine::on_both;

#[test]
fn a_database_without_known_tables_has_its_tables_named() {
    on_both(|| {
        let database = Database::new("CREATE TABLE customers (id int); CREATE TABLE invoices (id int);");
        says(&refused_database(&[], &database), &["customers", "invoices", "--profile"]);
    });
}

#[test]
fn a_database_without_any_table_is_told_so() {
    on_both(|| {
        // A file with a header and nothing else: made by a pragma that has to be stored.
        let database = Database::with("PRAGMA user_version = 7;", "");
        says(&refused_database(&[], &database), &["no tables"]);
    });
}

#[test]
fn a_nearly_fitting_table_has_its_missing_column_named() {
    on_both(|| {
        let schema = "CREATE TABLE task_claims (task_id TEXT, session_id TEXT, claimed_at INTEGER)";
        let said = refused_database(&[], &Database::new(schema));
        says(&said, &["coordination", "task_claims.expires_at is missing"]);
    });
}

#[test]
fn a_time_column_of_the_wrong_type_is_named_with_its_type() {
    on_both(|| {
        let schema = COORDINATION.replace("expires_at INTEGER", "expires_at TEXT");
        let said = refused_database(&[], &Database::new(&schema));
        says(&said.to_lowercase(), &["task_claims.expires_at", "text", "number"]);
    });
}

#[test]
fn a_database_that_stays_locked_is_given_up_after_the_time_set() {
    on_both(|| {
        let (scratch, database) = (Scratch::new(), super::healthy());
        let config = scratch.file("config.toml", "busy_timeout = \"50ms\"\n");
        // With a log beside it, a file is never locked against readers.
        database.either(
            "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE",
            "BEGIN; LOCK TABLE task_claims IN ACCESS EXCLUSIVE MODE",
        );
        let said = refused_database(&["--config", config.to_str().expect("UTF-8")], &database);
        says(&said, &["locked", "50 ms", "writer"]);
        database.batch("ROLLBACK");
        assert_eq!(code(&run_on(&["check"], &database)), 0);
    });
}
