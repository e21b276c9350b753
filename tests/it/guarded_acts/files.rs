//! The file itself: replaced, deleted, locked, or not to be written.

use crate::support::options::writable;
use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::profile::Library;
use claimtop::store::StoreError;
use claimtop::store::{Acted, Actor, Order, Profiles, Seen};
use rusqlite::Connection;
use std::time::Duration;

use super::{UNDO, actor, dump, fast, look};
use crate::support::{COORDINATION, Database, SECOND};

fn overdue() -> Database {
    let database = fast(COORDINATION);
    database.session("w-1", SECOND);
    database.task("task-1", "w-1", -SECOND);
    database
}

fn attempt(actor: &mut Actor, seen: &Seen) -> Result<Acted, StoreError> {
    let word = Authorization::default();
    let order = Order { action: Action::Reclaim, authorization: &word, action_id: "a", dry_run: false };
    actor.act(seen, &order, &mut |_| panic!("a record of nothing"))
}

#[test]
fn a_replaced_file_is_not_written() {
    let database = overdue();
    let mut actor = actor(&database);
    let seen = look(&mut actor, "task-1");
    let copy = database.beside("copy.db");
    database.connection.execute("VACUUM INTO ?1", [copy.to_str()]).unwrap();
    std::fs::rename(&copy, database.path()).unwrap();
    let found = attempt(&mut actor, &seen);
    // The log of the old file is still there, and SQLite would lay it over the new one.
    assert!(matches!(found, Err(StoreError::Overwritten { .. })), "{found:?}");
    for suffix in ["-wal", "-shm"] {
        // These belong to the file that is gone.
        let _ = std::fs::remove_file(database.beside(&format!("tasks.db{suffix}")));
    }
    let new = Connection::open(database.path()).unwrap();
    assert_eq!(dump(&new), dump(&database.connection), "both files have the claim");
    assert!(dump(&new).iter().any(|row| row.starts_with("task_claims")));

    let undone = actor.undo(&[], UNDO, &mut |_| Ok(()));
    assert!(matches!(undone, Err(StoreError::Replaced { .. })), "{undone:?}");
}

#[test]
fn a_deleted_file_is_not_written() {
    let database = overdue();
    let mut actor = actor(&database);
    let seen = look(&mut actor, "task-1");
    std::fs::remove_file(database.path()).unwrap();
    let found = attempt(&mut actor, &seen);
    assert!(matches!(found, Err(StoreError::Deleted { .. })), "{found:?}");
}

#[test]
fn a_locked_database_is_waited_for_no_longer_than_allowed() {
    let database = overdue();
    let options = database.options(Profiles::Detect(Library::built_in()), |options| {
        options.busy_timeout = Duration::from_millis(20);
    });
    let mut actor = Actor::open(writable(options)).unwrap();
    let seen = look(&mut actor, "task-1");
    let before = dump(&database.connection);
    database.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let found = attempt(&mut actor, &seen);
    assert!(matches!(found, Err(StoreError::Locked { waited_ms: 20, .. })), "{found:?}");
    database.connection.execute_batch("ROLLBACK").unwrap();
    assert_eq!(dump(&database.connection), before);
    let acted = super::reclaim(&mut actor, &seen);
    assert_eq!(acted.outcome, Outcome::Applied, "once it is free");
}

#[test]
fn a_reader_of_a_database_without_a_log_keeps_the_commit_out() {
    let database = overdue();
    database.connection.pragma_update(None, "journal_mode", "DELETE").unwrap();
    let options = database.options(Profiles::Detect(Library::built_in()), |options| {
        options.busy_timeout = Duration::from_millis(20);
    });
    let mut actor = Actor::open(writable(options)).unwrap();
    let seen = look(&mut actor, "task-1");
    let before = dump(&database.connection);
    database.connection.execute_batch("BEGIN; SELECT * FROM task_claims;").unwrap();
    let acted = super::reclaim(&mut actor, &seen);
    assert!(super::is_refused(&acted.outcome), "{acted:?}");
    assert!(acted.changes.is_empty());
    database.connection.execute_batch("COMMIT").unwrap();
    assert_eq!(dump(&database.connection), before);
    assert_eq!(super::reclaim(&mut actor, &seen).outcome, Outcome::Applied);
}
