//! Merge-queue: databases from before its later columns, and with the lock table of its
//! reference schema, or without one.

use serde_json::json;

use super::merge_queue::{NOW_S, SCHEMA, entry, lock};
use super::{assert_counts, assert_verdict, iso};
use crate::support::engine::on_both;
use crate::support::{Database, SECOND};

/// The columns that the specification itself names.
const OLD_QUEUE: &str = "
    CREATE TABLE merge_queue (id INTEGER PRIMARY KEY AUTOINCREMENT, workspace TEXT NOT NULL UNIQUE,
      bead_id TEXT, priority INTEGER NOT NULL DEFAULT 5, status TEXT NOT NULL DEFAULT 'pending',
      added_at INTEGER NOT NULL, started_at INTEGER, completed_at INTEGER, error_message TEXT, agent_id TEXT);";

const LOCK_WITHOUT_ID: &str = "
    CREATE TABLE queue_processing_lock (agent_id TEXT NOT NULL, acquired_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL);";

#[test]
fn an_older_database_without_the_later_columns_is_judged_alike() {
    on_both(|| {
        let database = Database::new(OLD_QUEUE);
        let held = entry(&database, "claimed", "a", 10);
        let stale = entry(&database, "claimed", "b", 301);
        entry(&database, "pending", "", 0);
        let (found, exit) = database.check();
        assert_eq!(found["profile"], "merge-queue");
        assert_counts(&found["boards"]["entry"], 2, &[("healthy", 1), ("stale", 1)]);
        assert_eq!(found["backlog"]["queued"], 1);
        assert_eq!(exit, 2);
        assert_verdict(&database.claim(&held), "healthy", &[]);
        let claim = database.claim(&stale);
        assert_verdict(&claim, "stale", &["ttl_exceeded"]);
        assert!(claim["attempts"].is_null() && claim["max_attempts"].is_null(), "{claim}");
        assert_eq!(claim["exhausted"], false);
    });
}

#[test]
fn without_a_lock_table_entries_are_judged_by_their_start() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        database.batch("DROP TABLE queue_processing_lock");
        let id = entry(&database, "claimed", "a", 1_200);
        let (found, _) = database.check();
        assert!(found["boards"]["lock"].is_null());
        assert_counts(&found["boards"]["entry"], 1, &[("stale", 1)]);
        let claim = database.claim(&id);
        assert_verdict(&claim, "stale", &["ttl_exceeded"]);
        assert_eq!((&claim["overrun"], &claim["deadline_at"]), (&json!(4.0), &json!(iso(-900 * SECOND))));
    });
}

#[test]
fn a_lock_table_without_an_id_is_read_all_the_same() {
    let database = Database::new(&[OLD_QUEUE, LOCK_WITHOUT_ID].concat());
    lock(&database, "a", -1);
    lock(&database, "b", 100);
    let (found, exit) = database.check();
    assert_counts(&found["boards"]["lock"], 2, &[("healthy", 1), ("stale", 1)]);
    assert_eq!(exit, 2);
    let stale = database.list(&["--board", "lock", "--set", "stale"]);
    assert_eq!(stale.len(), 1);
    assert_eq!((&stale[0]["id"], &stale[0]["holder"]), (&json!("1"), &json!("a")));
}

#[test]
fn the_lock_that_keeps_an_entry_alive_needs_no_id_either() {
    on_both(|| {
        let database = Database::new(&[OLD_QUEUE, LOCK_WITHOUT_ID].concat());
        entry(&database, "claimed", "a", 1_200);
        lock(&database, "a", 200);
        assert_counts(&database.check().0["boards"]["entry"], 1, &[("healthy", 1)]);
    });
}

#[test]
fn the_lock_alone_is_a_board_too() {
    on_both(|| {
        let database =
            Database::new(&LOCK_WITHOUT_ID.replace("(agent_id", "(id INTEGER PRIMARY KEY, agent_id"));
        lock(&database, "a", -1);
        let (found, exit) = database.check();
        assert_counts(&found["boards"]["lock"], 1, &[("stale", 1)]);
        assert!(found["boards"]["entry"].is_null());
        assert_eq!(exit, 2);
    });
}

#[test]
fn attempts_and_the_last_error_are_listed() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        let id = entry(&database, "claimed", "a", 301);
        database
            .run("UPDATE merge_queue SET attempt_count = 3, error_message = 'conflict in Cargo.lock'", []);
        let claim = database.claim(&id);
        assert_eq!((&claim["attempts"], &claim["max_attempts"]), (&json!(3), &json!(3)));
        assert_eq!(claim["exhausted"], true);
        assert_eq!(claim["error"], "conflict in Cargo.lock");
        database.run("UPDATE merge_queue SET attempt_count = 2", []);
        assert_eq!(database.claim(&id)["exhausted"], false);
    });
}

#[test]
fn an_entry_that_was_recovered_is_queued_again() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        entry(&database, "claimed", "a", 301);
        assert_eq!(database.check().1, 2);
        // The specification's own recovery.
        database.run(
        "UPDATE merge_queue SET status = 'pending', started_at = NULL, agent_id = NULL, state_changed_at = ?1
         WHERE status = 'claimed' AND started_at IS NOT NULL AND started_at < ?2",
        (NOW_S, NOW_S - 300),
    );
        let (found, exit) = database.check();
        assert_counts(&found["boards"]["entry"], 0, &[]);
        assert_eq!(found["backlog"]["queued"], 1);
        assert_eq!(exit, 0);
    });
}

#[test]
fn the_other_tables_of_the_running_code_do_not_disturb() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        database.batch(
            "CREATE TABLE sessions (id INTEGER PRIMARY KEY, name TEXT UNIQUE, status TEXT, state TEXT,
               workspace_path TEXT, created_at INTEGER, updated_at INTEGER, queue_status TEXT);
             CREATE TABLE agents (agent_id TEXT PRIMARY KEY, registered_at TEXT, last_seen TEXT);
             CREATE TABLE session_locks (lock_id TEXT PRIMARY KEY, session TEXT UNIQUE, agent_id TEXT,
               acquired_at TEXT, expires_at TEXT);",
        );
        entry(&database, "claimed", "a", 10);
        let (found, exit) = database.check();
        assert_eq!(found["profile"], "merge-queue");
        assert!(found["sessions"].is_null());
        assert_counts(&found["boards"]["entry"], 1, &[("healthy", 1)]);
        assert_eq!(exit, 0);
    });
}
