//! Acts on a file that somebody has overwritten: none is done, and the file stays what it was made to be.

use crate::support::options::writable;
use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::profile::Library;
use claimtop::store::{Actor, Order, Profiles, Reader, Seen, StoreError};
use std::path::Path;
use std::process::Command;

use super::COORDINATION;
use crate::support::{Database, MINUTE};

/// By a process of its own: closing a handle on a database drops the locks of this one.
fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg(from).arg(to).status().expect("cp runs");
    assert!(status.success());
}

fn is_same(one: &Path, other: &Path) -> bool {
    Command::new("cmp").arg("-s").args([one, other]).status().expect("cmp runs").success()
}

fn move_log(database: &Database) {
    let moved =
        database.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    assert_eq!(moved, Ok(0));
}

/// A database with a claim that is over, a backup of an earlier state, and somebody about to act.
fn scene(log_is_needed: bool) -> (Database, Actor, Seen) {
    let database = Database::new(COORDINATION);
    move_log(&database);
    copy(&database.path(), &database.beside("backup.db"));
    database.task("task-1", "nobody", -MINUTE);
    if !log_is_needed {
        move_log(&database);
    }
    let mut actor = actor(&database).expect("an actor");
    let seen = actor.find("task-1", None).expect("a look").remove(0);
    (database, actor, seen)
}

fn actor(database: &Database) -> Result<Actor, StoreError> {
    Actor::open(writable(database.options(Profiles::Detect(Library::built_in()), |_| {})))
}

fn reclaim(actor: &mut Actor, seen: &Seen) -> StoreError {
    let word = Authorization::default();
    let order = Order { action: Action::Reclaim, authorization: &word, action_id: "a", dry_run: false };
    actor.act(seen, &order, &mut |_| Ok(())).expect_err("no act")
}

#[test]
fn under_its_log_nobody_acts_and_the_log_is_not_laid_over_the_copy() {
    let (database, mut actor_before, seen) = scene(true);
    copy(&database.beside("backup.db"), &database.path());
    assert!(matches!(reclaim(&mut actor_before, &seen), StoreError::Overwritten { .. }));
    // Whoever comes later is told as well.
    assert!(matches!(actor(&database), Err(StoreError::Overwritten { .. })));
    let options = database.options(Profiles::Detect(Library::built_in()), |_| {});
    assert!(matches!(Reader::open(options), Err(StoreError::Overwritten { .. })));
    drop(actor_before);
    assert!(is_same(&database.path(), &database.beside("backup.db")));
    // Once its log is gone the copy is a database like any other.
    for end in ["-wal", "-shm"] {
        std::fs::remove_file(database.beside(&format!("tasks.db{end}"))).expect("removed");
    }
}

#[test]
fn a_copy_that_needs_no_log_is_not_what_was_seen() {
    let (database, mut actor_before, seen) = scene(false);
    copy(&database.beside("backup.db"), &database.path());
    assert!(matches!(reclaim(&mut actor_before, &seen), StoreError::Replaced { .. }));
    drop(actor_before);
    assert!(is_same(&database.path(), &database.beside("backup.db")));
    let found = actor(&database).expect("an actor").find("task-1", None).expect("a look");
    assert_eq!(found.len(), 0);
}

#[test]
fn what_sqlite_itself_moves_into_the_file_is_no_obstacle() {
    let (database, mut actor_before, seen) = scene(true);
    move_log(&database);
    let word = Authorization::default();
    let order = Order { action: Action::Reclaim, authorization: &word, action_id: "a", dry_run: false };
    let acted = actor_before.act(&seen, &order, &mut |_| {
        move_log_passively(&database);
        Ok(())
    });
    assert_eq!(acted.expect("an act").outcome, Outcome::Applied);
}

/// As another writer would, in the middle of an act.
fn move_log_passively(database: &Database) {
    database
        .connection
        .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get::<_, i64>(0))
        .expect("a checkpoint");
}
