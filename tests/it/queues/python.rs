//! Queues of Python: from one that registers its workers to one that keeps nothing.

use super::{HOUR, Queue, written};
use crate::support::{MINUTE, NOW, SECOND};

/// Only the operator knows when a claim without a deadline is too old.
fn with_config(queue: &Queue, board: &str, expected: &[(&str, &str, &[&str])]) {
    let config = queue.database.beside("config.toml");
    let at = queue.database.path();
    let text = format!("[source.mine]\nat = '{}'\n[source.mine.board.{board}]\nttl = '10m'\n", at.display());
    std::fs::write(&config, text).expect("a config");
    queue.expect_with(&["--profile", &queue.profile, "--config", &config.to_string_lossy()], expected);
}

#[test]
fn litequeue_is_stale_only_by_the_operators_word() {
    let queue = Queue::new(
        "litequeue",
        "CREATE TABLE Queue (data TEXT NOT NULL, message_id TEXT NOT NULL PRIMARY KEY,
           status INTEGER NOT NULL, in_time INTEGER NOT NULL, lock_time INTEGER, done_time INTEGER) STRICT;
         CREATE INDEX TIdx ON Queue (message_id, status);",
    );
    let ns = |from_now: i64| (NOW + from_now) * 1_000_000;
    for (id, status, locked) in [
        ("young", 1, Some(-MINUTE)),
        ("nearly", 1, Some(-9 * MINUTE)),
        ("old", 1, Some(-10 * MINUTE - 1)),
        ("ready", 0, None),
        ("done", 2, Some(-HOUR)),
        ("failed", 3, Some(-HOUR)),
    ] {
        queue.run(
            "INSERT INTO Queue VALUES ('{}', ?1, ?2, ?3, ?4, NULL)",
            (id, status, ns(-HOUR), locked.map(ns)),
        );
    }
    queue.expect(&[
        ("young", "unknown", &["no_deadline"]),
        ("nearly", "unknown", &["no_deadline"]),
        ("old", "unknown", &["no_deadline"]),
    ]);
    with_config(
        &queue,
        "message",
        &[
            ("young", "healthy", &[]),
            ("nearly", "expiring", &["deadline_near"]),
            ("old", "stale", &["ttl_exceeded"]),
        ],
    );
    assert_eq!(queue.claim("old")["claimed_at"], "2026-11-15T11:49:59.999Z");
    let backlog = &queue.check()["backlog"];
    assert_eq!((&backlog["queued"], &backlog["dead"]), (&1.into(), &1.into()));
    assert_eq!(backlog["oldest_queued_s"], 3_600);
}

#[test]
fn persist_queue_has_no_times_for_any_threshold() {
    let queue = Queue::new(
        "persist-queue",
        "CREATE TABLE ack_queue_default (_id INTEGER PRIMARY KEY AUTOINCREMENT, data BLOB, timestamp FLOAT,
           status INTEGER);",
    );
    for (id, status) in [(1, 2), (2, 2), (3, 1), (4, 0), (5, 5), (6, 9)] {
        let put = (NOW - HOUR) as f64 / 1e3 + 0.25;
        queue.run("INSERT INTO ack_queue_default VALUES (?1, x'80', ?2, ?3)", (id, put, status));
    }
    let expected: [(&str, &str, &[&str]); 2] =
        [("1", "unknown", &["no_deadline"]), ("2", "unknown", &["no_deadline"])];
    queue.expect(&expected);
    with_config(&queue, "item", &expected);
    let claim = queue.claim("1");
    assert!(claim["holder"].is_null() && claim["kind"].is_null() && claim["claimed_at"].is_null());
    let backlog = &queue.check()["backlog"];
    assert_eq!((&backlog["queued"], &backlog["dead"]), (&2.into(), &1.into()));
    assert_eq!(backlog["oldest_queued_s"], 3_599);
}

#[test]
fn procrastinate_keeps_the_start_of_a_job_among_its_events() {
    let queue = Queue::new(
        "procrastinate",
        "CREATE TABLE procrastinate_workers (id INTEGER PRIMARY KEY, last_heartbeat TEXT NOT NULL);
         CREATE TABLE procrastinate_jobs (id INTEGER PRIMARY KEY, queue_name TEXT NOT NULL, task_name TEXT NOT NULL,
           priority INTEGER NOT NULL DEFAULT 0, lock TEXT, queueing_lock TEXT, args TEXT NOT NULL DEFAULT '{}',
           status TEXT NOT NULL DEFAULT 'todo', scheduled_at TEXT, attempts INTEGER NOT NULL DEFAULT 0,
           abort_requested INTEGER NOT NULL DEFAULT 0, worker_id INTEGER REFERENCES procrastinate_workers (id));
         CREATE TABLE procrastinate_events (id INTEGER PRIMARY KEY, job_id INTEGER NOT NULL, type TEXT, at TEXT);
         CREATE INDEX procrastinate_events_job_id ON procrastinate_events (job_id);",
    );
    let text = |from_now: i64| written(from_now, "%Y-%m-%d %H:%M:%S%.6f+00");
    for (worker, beat) in [(1, -5 * SECOND), (2, -31 * SECOND)] {
        queue.run("INSERT INTO procrastinate_workers VALUES (?1, ?2)", (worker, text(beat)));
    }
    for (id, status, worker) in [
        (1, "doing", Some(1)),
        (2, "doing", Some(2)),
        // A worker that was pruned takes its name off its jobs, and they stay `doing`.
        (3, "doing", None),
        (4, "todo", None),
        (5, "succeeded", Some(2)),
        (6, "failed", Some(1)),
    ] {
        queue.run(
            "INSERT INTO procrastinate_jobs (id, queue_name, task_name, status, scheduled_at, attempts, worker_id)
             VALUES (?1, 'default', 'app.mail', ?2, ?3, 1, ?4)",
            (id, status, text(-HOUR), worker),
        );
        for (event, at) in
            [("started", -50 * MINUTE), ("deferred_for_retry", -30 * MINUTE), ("started", -20 * MINUTE)]
        {
            queue.run(
                "INSERT INTO procrastinate_events (job_id, type, at) SELECT ?1, ?2, ?3 WHERE ?4 <> 'todo'",
                (id, event, text(at), status),
            );
        }
    }
    queue.expect(&[
        ("1", "healthy", &[]),
        ("2", "orphaned", &["session_stale"]),
        ("3", "orphaned", &["session_missing"]),
    ]);
    let claim = queue.claim("2");
    assert_eq!((&claim["kind"], &claim["holder"]), (&"app.mail".into(), &"2".into()));
    assert_eq!((&claim["attempts"], &claim["max_attempts"]), (&1.into(), &serde_json::Value::Null));
    assert_eq!(claim["claimed_at"], "2026-11-15T11:40:00.000Z");
    let backlog = &queue.check()["backlog"];
    assert_eq!((&backlog["queued"], &backlog["dead"]), (&1.into(), &1.into()));
    assert_eq!(queue.database.list(&["--profile", &queue.profile, "--history"]).len(), 5);
}

#[test]
fn huey_leaves_nothing_behind_but_its_locks() {
    let queue = Queue::new(
        "huey",
        "CREATE TABLE kv (queue TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (queue, key));
         CREATE TABLE task (id INTEGER NOT NULL PRIMARY KEY, queue TEXT NOT NULL, data BLOB NOT NULL,
           priority REAL NOT NULL DEFAULT 0.0);",
    );
    queue.run("INSERT INTO task (queue, data) VALUES ('accept', x'80'), ('accept', x'80')", ());
    // The other key is the result of a task.
    queue.run("INSERT INTO kv VALUES ('accept', 'accept.lock.L1', x'31'), ('accept', '0c1f-44', x'80')", ());
    queue.expect(&[("accept,accept.lock.L1", "unknown", &["no_deadline"])]);
    assert_eq!(queue.claim("accept,accept.lock.L1")["address"], "huey/lock/accept,accept.lock.L1");
    assert_eq!(queue.check()["backlog"]["queued"], 2);
}
