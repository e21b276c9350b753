//! The file or its schema changes under a reader that stays open.

use super::{COORDINATION, Database, MINUTE, SECOND, mixed, on_both, open, poll, told};
use crate::support::engine::on_both_layouts;
use crate::support::server::until;
use claimtop::store::{Filter, StoreError};
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// What a reader that was opened just now tells.
fn fresh(database: &Database) -> String {
    told(&poll(&mut open(database)))
}

#[test]
fn a_deleted_file_is_told_and_not_read_on() {
    let database = mixed();
    let mut reader = open(&database);
    poll(&mut reader);
    for name in ["tasks.db", "tasks.db-wal", "tasks.db-shm"] {
        fs::remove_file(database.beside(name)).expect(name);
    }
    for _ in 0..2 {
        let error = reader.poll().expect_err("nothing to read");
        assert!(matches!(error, StoreError::Deleted { .. }), "{error:?}");
        assert!(error.to_string().contains("tasks.db"), "{error}");
    }
}

/// Puts another database, closed and whole, in the place of this one.
fn replace(database: &Database, claims: i64) {
    let other = Database::new(COORDINATION);
    other.session("beating", SECOND);
    for number in 0..claims {
        other.task(&format!("other-{number}"), "beating", -MINUTE);
    }
    let path = database.beside("other.db");
    other.connection.execute("VACUUM INTO ?1", [path.to_str().expect("UTF-8")]).expect("a copy");
    let copy = Connection::open(&path).expect("the copy");
    copy.pragma_update(None, "journal_mode", "WAL").expect("WAL mode");
    copy.close().expect("closed");
    fs::rename(path, database.path()).expect("replaced");
}

#[test]
fn a_file_replaced_by_another_is_read_and_known_to_be_another() {
    let database = mixed();
    let mut reader = open(&database);
    poll(&mut reader);
    let before = reader.fingerprint();
    // Its application has stopped and left its log empty.
    database.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("a checkpoint");
    replace(&database, 3);
    let after = poll(&mut reader);
    assert_eq!((after.counts().total, after.counts().stale), (3, 3));
    assert_ne!(reader.fingerprint(), before);
    // And once more, for the new one is watched like the first.
    replace(&database, 4);
    assert_eq!(poll(&mut reader).counts().stale, 4);
}

#[test]
fn writes_to_the_file_that_took_the_place_are_seen() {
    let database = mixed();
    let mut reader = open(&database);
    poll(&mut reader);
    database.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("a checkpoint");
    replace(&database, 3);
    poll(&mut reader);
    let writer = Connection::open(database.path()).expect("the new file");
    for left in (0..3).rev() {
        let finish = "DELETE FROM task_claims WHERE task_id = ?1";
        assert_eq!(writer.execute(finish, [format!("other-{left}")]).expect("a write"), 1);
        assert_eq!(poll(&mut reader).counts().total, left);
    }
}

#[test]
fn a_file_that_comes_back_after_its_deletion_is_read_again() {
    let database = mixed();
    let mut reader = open(&database);
    poll(&mut reader);
    for name in ["tasks.db", "tasks.db-wal", "tasks.db-shm"] {
        fs::remove_file(database.beside(name)).expect(name);
    }
    assert!(reader.poll().is_err());
    replace(&database, 2);
    assert_eq!(poll(&mut reader).counts().stale, 2);
}

#[test]
fn a_change_of_the_schema_between_polls_is_followed() {
    on_both(|| {
        let database = mixed();
        let mut reader = open(&database);
        poll(&mut reader);
        for change in [
            "ALTER TABLE task_claims ADD COLUMN priority INTEGER",
            "CREATE INDEX one_more ON task_claims(expires_at, session_id)",
            "DROP INDEX idx_claims_expires",
            "DROP INDEX idx_claims_session",
            "DROP INDEX idx_sessions_heartbeat",
            "ALTER TABLE task_claims DROP COLUMN agent_type",
            "ALTER TABLE sessions DROP COLUMN pid",
            "CREATE TABLE copy AS SELECT * FROM task_claims; DROP TABLE task_claims;
         ALTER TABLE copy RENAME TO task_claims",
            "DROP TABLE locks",
            "DROP INDEX IF EXISTS one_more",
            "VACUUM",
        ] {
            database.batch(change);
            let now = poll(&mut reader);
            assert_eq!(told(&now), fresh(&database), "after {change}");
            assert_eq!(now.counts().total, 5, "after {change}");
            database.run("UPDATE task_claims SET expires_at = expires_at - 1", []);
            assert_eq!(told(&poll(&mut reader)), fresh(&database), "after a write after {change}");
        }
    });
}

#[test]
fn a_table_dropped_and_made_anew_is_read_anew() {
    on_both(|| {
        let database = mixed();
        let mut reader = open(&database);
        assert_eq!(poll(&mut reader).counts().total, 5);
        database.batch("DROP TABLE task_claims; DROP TABLE locks");
        let error = reader.poll().expect_err("no board is left");
        assert!(matches!(error, StoreError::NoProfile { .. }), "{error:?}");
        let anew = COORDINATION.replace("CREATE TABLE sessions", "CREATE TABLE IF NOT EXISTS sessions");
        let anew = anew.replace("CREATE INDEX", "CREATE INDEX IF NOT EXISTS");
        database.batch(&anew);
        database.task("new", "beating", -MINUTE);
        let after = poll(&mut reader);
        assert_eq!((after.counts().total, after.counts().stale), (1, 1));
        assert_eq!(told(&after), fresh(&database));
    });
}

#[test]
fn a_registry_that_comes_and_goes_changes_what_is_known_of_holders() {
    on_both(|| {
        let database = mixed();
        let mut reader = open(&database);
        assert_eq!(poll(&mut reader).counts().orphaned, 2);
        database.batch("ALTER TABLE sessions RENAME TO away");
        let without = poll(&mut reader);
        assert_eq!(without.counts().orphaned, 0);
        assert!(without.notices.iter().any(|notice| notice.contains("sessions")), "{:?}", without.notices);
        database.batch("ALTER TABLE away RENAME TO sessions");
        let back = poll(&mut reader);
        assert_eq!(back.counts().orphaned, 2);
        assert_eq!(told(&back), fresh(&database));
    });
}

/// The locks that the kernel knows of on the index of the log.
fn locks_on_index(database: &Database) -> usize {
    let index = fs::metadata(database.beside("tasks.db-shm")).expect("the index of the log").ino();
    let all = fs::read_to_string("/proc/locks").unwrap_or_default();
    all.lines().filter(|line| line.contains(&format!(":{index} "))).count()
}

/// Without that lock the next process to open the database takes itself for the first one, and
/// truncates the index under the reader's feet.
#[test]
fn a_reader_that_went_over_to_a_new_file_keeps_its_lock_beside_it() {
    let mut database = mixed();
    let mut reader = open(&database);
    poll(&mut reader);
    database.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("a checkpoint");
    // The application stops; from here on the reader is alone.
    *database.connection = Connection::open_in_memory().expect("another database");
    if locks_on_index(&database) == 0 {
        // A kernel that does not tell.
        return;
    }
    replace(&database, 3);
    poll(&mut reader);
    // The kernel's list is read piece by piece: while others lock and unlock, one reading may miss a line.
    until("its lock", || locks_on_index(&database) == 1);
}

#[test]
fn a_list_goes_on_past_a_table_that_is_dropped_under_it() {
    on_both_layouts(|| {
        let database = Database::new(COORDINATION);
        database.batch("BEGIN");
        // More than fit on one page.
        for number in 0..2_500 {
            database.task(&format!("task-{number}"), "nobody", -MINUTE);
        }
        database.batch("COMMIT");
        let lock = "INSERT INTO locks (resource, session_id, acquired_at, expires_at) VALUES ('lock', 'nobody', 0, 0)";
        database.batch(lock);
        for dropped in ["task_claims", "locks"] {
            let mut listed: Vec<(String, String)> = Vec::new();
            let done = open(&database).list(&Filter::default(), |claim| {
                if listed.is_empty() {
                    database.batch(&format!("ALTER TABLE {dropped} RENAME TO away"));
                }
                listed.push((claim.board, claim.judged.claim.key.text()));
                true
            });
            done.expect("a list");
            let of = |board: &str| listed.iter().filter(|(name, _)| name == board).collect::<Vec<_>>();
            let locks = of("lock").iter().filter(|(_, id)| id == "lock").count();
            let tasks = of("task").iter().filter(|(_, id)| id.starts_with("task-")).count();
            assert_eq!(locks + tasks, listed.len(), "a claim of another board");
            let expected = if dropped == "locks" { (2_500, 0) } else { (2_000, 1) };
            assert_eq!((tasks, locks), expected, "without {dropped}");
            database.batch(&format!("ALTER TABLE away RENAME TO {dropped}"));
        }
    });
}
