//! The relative of task-queue in SQLite: the same workers and tasks, but with leases of a minute.

use serde_json::json;

use super::{assert_counts, assert_no_profile_fits, assert_verdict, history, iso, naive};
use crate::support::engine::on_both;
use crate::support::{Database, MINUTE, SECOND};

const SCHEMA: &str = "
    CREATE TABLE task_queue (id INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL,
      priority INTEGER NOT NULL DEFAULT 100, payload TEXT NOT NULL DEFAULT '{}',
      compatibility TEXT NOT NULL DEFAULT '{}', status TEXT NOT NULL DEFAULT 'queued',
      attempts INTEGER NOT NULL DEFAULT 0, max_attempts INTEGER NOT NULL DEFAULT 5, run_after_utc DATETIME,
      lease_until_utc DATETIME, reserved_at_utc DATETIME, processing_started_utc DATETIME,
      finished_at_utc DATETIME, locked_by TEXT, error_message TEXT, idempotency_key TEXT,
      created_at_utc DATETIME, updated_at_utc DATETIME,
      region TEXT GENERATED ALWAYS AS (json_extract(compatibility, '$.region')) VIRTUAL);
    CREATE TABLE workers (worker_id TEXT PRIMARY KEY, capabilities TEXT NOT NULL DEFAULT '{}',
      heartbeat_utc DATETIME NOT NULL);
    CREATE TABLE task_logs (log_id INTEGER PRIMARY KEY AUTOINCREMENT, task_id INTEGER NOT NULL,
      at_utc DATETIME NOT NULL, level TEXT NOT NULL, message TEXT, details TEXT);";

fn worker(database: &Database, id: &str, silent_for: i64) {
    database.run("INSERT INTO workers (worker_id, heartbeat_utc) VALUES (?1, ?2)", (id, naive(-silent_for)));
}

/// A task in this status, reserved a minute before its lease ends; answers its id.
fn task(database: &Database, status: &str, worker: &str, lease_ends_in: i64) -> String {
    database.run(
        "INSERT INTO task_queue (type, status, locked_by, reserved_at_utc, lease_until_utc, created_at_utc)
         VALUES ('video', ?1, ?2, ?3, ?4, ?5)",
        (status, worker, naive(lease_ends_in - MINUTE), naive(lease_ends_in), naive(-10 * MINUTE)),
    );
    database.text("SELECT max(id) FROM task_queue")
}

#[test]
fn a_lease_warns_twelve_seconds_ahead_and_holds_until_exactly_its_end() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        worker(&database, "w", SECOND);
        for (ends_in, verdict, reasons) in [
            (13, "healthy", &[][..]),
            (12, "expiring", &["deadline_near"]),
            (0, "expiring", &["deadline_near"]),
            (-1, "stale", &["lease_expired"]),
            (-60, "stale", &["lease_expired"]),
        ] {
            let id = task(&database, "leased", "w", ends_in * SECOND);
            let claim = database.claim(&id);
            assert_verdict(&claim, verdict, reasons);
            assert_eq!(claim["deadline_at"], iso(ends_in * SECOND));
            assert_eq!(claim["claimed_at"], iso((ends_in - 60) * SECOND));
            assert_eq!((&claim["kind"], &claim["holder"]), (&json!("video"), &json!("w")));
        }
        let (found, exit) = database.check();
        assert_eq!((&found["profile"], &found["generic"]), (&json!("task-queue"), &json!(true)));
        assert_counts(&found["boards"]["lease"], 5, &[("healthy", 1), ("expiring", 2), ("stale", 2)]);
        assert_eq!(found["claims"]["runaway"], 1);
        assert_eq!(exit, 2);
    });
}

#[test]
fn leased_tasks_are_claims_although_the_systems_own_recovery_overlooks_them() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        worker(&database, "dead", 301 * SECOND);
        let leased = task(&database, "leased", "dead", -4 * MINUTE);
        let processing = task(&database, "processing", "dead", -4 * MINUTE);
        for status in ["completed", "failed", "dead_letter", "queued"] {
            task(&database, status, "dead", -4 * MINUTE);
        }
        let (found, _) = database.check();
        assert_counts(&found["boards"]["lease"], 2, &[("orphaned", 2), ("stale", 2)]);
        for id in [leased, processing] {
            let claim = database.claim(&id);
            assert_verdict(&claim, "orphaned", &["session_stale", "lease_expired"]);
            assert_eq!(claim["conclusion"], "probably dead");
        }
        assert_eq!(found["backlog"], json!({"queued": 1, "dead": 2, "oldest_queued_s": 600}));
    });
}

#[test]
fn a_running_lease_of_a_silent_worker_is_orphaned_and_of_an_unregistered_one_healthy() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        worker(&database, "at the edge", 300 * SECOND);
        worker(&database, "silent", 301 * SECOND);
        let kept = task(&database, "leased", "at the edge", 50 * SECOND);
        let stale = task(&database, "leased", "silent", 50 * SECOND);
        let unheard_of = task(&database, "leased", "unheard of", 50 * SECOND);
        assert_verdict(&database.claim(&kept), "healthy", &[]);
        assert_verdict(&database.claim(&stale), "orphaned", &["session_stale"]);
        assert_verdict(&database.claim(&unheard_of), "healthy", &[]);
        let (found, _) = database.check();
        assert_counts(&found["boards"]["lease"], 3, &[("healthy", 2), ("orphaned", 1)]);
        assert_eq!(found["sessions"], json!({"total": 2, "alive": 1, "stale": 1}));
    });
}

#[test]
fn a_lease_without_an_end_cannot_be_judged() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        worker(&database, "w", SECOND);
        let id = task(&database, "leased", "w", MINUTE);
        database.run("UPDATE task_queue SET lease_until_utc = NULL", []);
        assert_verdict(&database.claim(&id), "unknown", &["unreadable"]);
        assert_eq!(database.check().1, 1);
    });
}

#[test]
fn attempts_are_counted_against_the_maximum_of_five() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        worker(&database, "w", SECOND);
        let id = task(&database, "leased", "w", MINUTE);
        for (attempts, exhausted) in [(4, false), (5, true)] {
            database.run("UPDATE task_queue SET attempts = ?1", [attempts]);
            let claim = database.claim(&id);
            assert_eq!((&claim["max_attempts"], &claim["exhausted"]), (&json!(5), &json!(exhausted)));
        }
    });
}

#[test]
fn its_log_of_another_shape_is_no_history_and_no_error() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        task(&database, "leased", "w", MINUTE);
        database.run(
            "INSERT INTO task_logs (task_id, at_utc, level, message) VALUES (1, ?1, 'INFO', 'reclaimed')",
            [naive(-SECOND)],
        );
        assert!(history(&database).is_empty());
    });
}

#[test]
fn without_workers_only_the_lease_counts() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        database.batch("DROP TABLE workers");
        task(&database, "leased", "w", 50 * SECOND);
        task(&database, "leased", "w", -SECOND);
        let (found, _) = database.check();
        assert_counts(&found["boards"]["lease"], 2, &[("healthy", 1), ("stale", 1)]);
        assert!(found["sessions"].is_null());
    });
}

#[test]
fn a_queue_of_the_same_name_without_leases_is_not_mistaken_for_it() {
    on_both(|| {
        let database = Database::new(
            "CREATE TABLE task_queue (id INTEGER PRIMARY KEY, status TEXT, priority INTEGER, claimed_by TEXT,
           claimed_at TEXT, retry_count INTEGER, max_retries INTEGER);
         CREATE TABLE worker_heartbeats (worker_id TEXT PRIMARY KEY, last_heartbeat TEXT NOT NULL,
           tasks_processed INTEGER, current_task_id INTEGER, started_at TEXT NOT NULL);
         CREATE TABLE task_logs (id INTEGER PRIMARY KEY, task_id INTEGER, message TEXT);",
        );
        assert_no_profile_fits(&database);
    });
}
