//! Queues of Rust, Elixir, Go and Node.js.

use super::{HOUR, Queue, naive, written};
use crate::support::engine::on_both;
use crate::support::{MINUTE, NOW, SECOND};

#[test]
fn apalis_gives_jobs_up_with_the_worker_that_was_last_seen_a_minute_ago() {
    let queue = Queue::new(
        "apalis-sqlite",
        "CREATE TABLE Workers (id TEXT NOT NULL UNIQUE, worker_type TEXT NOT NULL, storage_name TEXT NOT NULL,
           layers TEXT, last_seen INTEGER NOT NULL DEFAULT (strftime('%s', 'now')), started_at INTEGER);
         CREATE TABLE Jobs (job BLOB NOT NULL, id TEXT NOT NULL UNIQUE, job_type TEXT NOT NULL,
           status TEXT NOT NULL DEFAULT 'Pending', attempts INTEGER NOT NULL DEFAULT 0,
           max_attempts INTEGER NOT NULL DEFAULT 25, run_at INTEGER NOT NULL, last_result TEXT,
           lock_at INTEGER, lock_by TEXT, done_at INTEGER, priority INTEGER NOT NULL DEFAULT 0,
           FOREIGN KEY (lock_by) REFERENCES Workers (id));
         CREATE INDEX JLBIdx ON Jobs (lock_by);",
    );
    queue.run("PRAGMA foreign_keys = off", ());
    let seconds = |from_now: i64| (NOW + from_now) / SECOND;
    for (worker, seen) in [("beating", -20 * SECOND), ("at-limit", -MINUTE), ("silent", -61 * SECOND)] {
        queue.run(
            "INSERT INTO Workers VALUES (?1, 'mail', 'SqliteStorage', '', ?2, ?3)",
            (worker, seconds(seen), seconds(-HOUR)),
        );
    }
    let jobs = [
        ("runs", "Running", Some("beating")),
        ("queued", "Queued", Some("silent")),
        ("lost", "Running", Some("silent")),
        ("nearly", "Running", Some("at-limit")),
        ("stranger", "Running", Some("nobody")),
        ("waits", "Pending", None),
        ("done", "Done", Some("silent")),
        ("failed", "Failed", Some("beating")),
    ];
    for (id, status, worker) in jobs {
        queue.run(
            "INSERT INTO Jobs VALUES (x'7b7d', ?1, 'mail::Send', ?2, 3, 25, ?3, NULL, ?4, ?5, NULL, 0)",
            (id, status, seconds(-HOUR), worker.map(|_| seconds(-10 * MINUTE)), worker),
        );
    }
    queue.expect(&[
        ("runs", "healthy", &[]),
        ("queued", "orphaned", &["session_stale"]),
        ("lost", "orphaned", &["session_stale"]),
        ("nearly", "expiring", &["deadline_near"]),
        ("stranger", "orphaned", &["session_missing"]),
    ]);
    let claim = queue.claim("lost");
    assert_eq!((&claim["kind"], &claim["holder"]), (&"mail::Send".into(), &"silent".into()));
    assert_eq!((&claim["attempts"], &claim["max_attempts"]), (&3.into(), &25.into()));
    assert_eq!(claim["deadline_at"], "2026-11-15T11:59:59.000Z");
    assert_eq!(claim["session"]["state"], "stale");
    let backlog = &queue.check()["backlog"];
    assert_eq!((&backlog["queued"], &backlog["dead"]), (&1.into(), &1.into()));
}

#[test]
fn oban_keeps_the_node_in_an_array() {
    on_both(|| {
        let queue = Queue::with(
        "oban",
        "CREATE TABLE oban_jobs (id INTEGER PRIMARY KEY AUTOINCREMENT, state TEXT NOT NULL DEFAULT 'available',
           queue TEXT NOT NULL DEFAULT 'default', worker TEXT NOT NULL, args JSON NOT NULL DEFAULT '{}',
           meta JSON NOT NULL DEFAULT '{}', errors JSON NOT NULL DEFAULT '[]', attempt INTEGER NOT NULL DEFAULT 0,
           max_attempts INTEGER NOT NULL DEFAULT 20, priority INTEGER NOT NULL DEFAULT 0,
           scheduled_at TEXT NOT NULL, attempted_at TEXT, attempted_by JSON NOT NULL DEFAULT '[]',
           completed_at TEXT);
         CREATE INDEX oban_jobs_state ON oban_jobs (state, queue, priority, scheduled_at, id);",
        "CREATE TYPE oban_job_state AS ENUM ('available', 'scheduled', 'executing', 'retryable', 'completed',
           'discarded', 'cancelled');
         CREATE TABLE oban_jobs (id bigserial PRIMARY KEY, state oban_job_state NOT NULL DEFAULT 'available',
           queue text NOT NULL DEFAULT 'default', worker text NOT NULL, args jsonb NOT NULL DEFAULT '{}',
           errors jsonb[] NOT NULL DEFAULT '{}', attempt int NOT NULL DEFAULT 0,
           max_attempts int NOT NULL DEFAULT 20, priority int NOT NULL DEFAULT 0, scheduled_at timestamp(6) NOT NULL,
           attempted_at timestamp(6), attempted_by text[], completed_at timestamp(6));",
    );
        // Ecto writes ISO 8601 without a zone and means UTC.
        let iso = |from_now: i64| written(from_now, "%Y-%m-%dT%H:%M:%S%.6f");
        let jobs = [
            (1, "executing", Some(-10 * MINUTE), "[\"app@web1\"]", 1),
            (2, "executing", Some(-57 * MINUTE), "[\"app@web1\"]", 2),
            (3, "executing", Some(-HOUR - SECOND), "[\"app@web2\"]", 20),
            (4, "executing", Some(-MINUTE), "[]", 1),
            (5, "available", None, "[]", 0),
            (6, "completed", Some(-9 * HOUR), "[\"app@web1\"]", 1),
            (7, "discarded", Some(-9 * HOUR), "[\"app@web1\"]", 20),
            (8, "executing", None, "[]", 1),
        ];
        for (id, state, attempted, by, attempt) in jobs {
            queue.run(
                "INSERT INTO oban_jobs (id, state, worker, attempt, scheduled_at, attempted_at)
             VALUES (?1, ?2, 'App.Mail', ?3, ?4, ?5)",
                (id, state, attempt, iso(-10 * HOUR), attempted.map(iso)),
            );
            let list = by.replace('[', "{").replace(']', "}");
            queue.database.either(
                &format!("UPDATE oban_jobs SET attempted_by = '{by}' WHERE id = {id}"),
                &format!("UPDATE oban_jobs SET attempted_by = '{list}' WHERE id = {id}"),
            );
        }
        let error = r#"{"attempt": 1, "error": "timeout"}"#;
        queue.database.either(
            &format!("UPDATE oban_jobs SET errors = '[{error}]'"),
            &format!("UPDATE oban_jobs SET errors = ARRAY['{error}'::jsonb]"),
        );
        // SQLite keeps whatever somebody writes, and a server only what is an array.
        queue.database.either("UPDATE oban_jobs SET attempted_by = 'torn [' WHERE id = 4", "");
        queue.expect(&[
            ("1", "healthy", &[]),
            ("2", "expiring", &["deadline_near"]),
            ("3", "stale", &["ttl_exceeded"]),
            ("4", "healthy", &[]),
            ("8", "unknown", &["unreadable"]),
        ]);
        let claim = queue.claim("3");
        assert_eq!((&claim["kind"], &claim["holder"]), (&"App.Mail".into(), &"app@web2".into()));
        assert_eq!((&claim["attempts"], &claim["max_attempts"]), (&20.into(), &20.into()));
        assert_eq!((&claim["exhausted"], &claim["error"]), (&true.into(), &"timeout".into()));
        assert!(queue.claim("4")["holder"].is_null());
        let backlog = &queue.check()["backlog"];
        assert_eq!(
            (&backlog["queued"], &backlog["dead"], &backlog["retryable"]),
            (&1.into(), &1.into(), &0.into())
        );
    });
}

#[test]
fn river_names_the_last_of_its_clients() {
    on_both(|| {
        let queue = Queue::with(
        "river",
        "CREATE TABLE river_job (id INTEGER PRIMARY KEY, args BLOB NOT NULL DEFAULT '{}', attempt INTEGER NOT NULL DEFAULT 0,
           attempted_at TIMESTAMP, attempted_by BLOB, created_at TIMESTAMP NOT NULL, errors BLOB,
           finalized_at TIMESTAMP, kind TEXT NOT NULL, max_attempts INTEGER NOT NULL,
           metadata BLOB NOT NULL DEFAULT '{}', priority INTEGER NOT NULL DEFAULT 1,
           queue TEXT NOT NULL DEFAULT 'default', state TEXT NOT NULL DEFAULT 'available',
           scheduled_at TIMESTAMP NOT NULL);
         CREATE TABLE river_leader (elected_at TIMESTAMP NOT NULL, expires_at TIMESTAMP NOT NULL,
           leader_id TEXT NOT NULL, name TEXT PRIMARY KEY NOT NULL DEFAULT 'default');",
        "CREATE TYPE river_job_state AS ENUM ('available', 'cancelled', 'completed', 'discarded', 'pending',
           'retryable', 'running', 'scheduled');
         CREATE TABLE river_job (id bigserial PRIMARY KEY, state river_job_state NOT NULL DEFAULT 'available',
           attempt smallint NOT NULL DEFAULT 0, max_attempts smallint NOT NULL, attempted_at timestamptz,
           created_at timestamptz NOT NULL, scheduled_at timestamptz NOT NULL, priority smallint NOT NULL DEFAULT 1,
           args jsonb, attempted_by text[], errors jsonb[], kind text NOT NULL);
         CREATE UNLOGGED TABLE river_leader (elected_at timestamptz NOT NULL, expires_at timestamptz NOT NULL,
           leader_id text NOT NULL, name text PRIMARY KEY);",
    );
        // Go leaves out the fraction where it is zero.
        let text = |from_now: i64| written(from_now, "%Y-%m-%d %H:%M:%S");
        let jobs = [
            (1, "running", Some(-20 * MINUTE)),
            (2, "running", Some(-HOUR - SECOND)),
            (3, "available", None),
            (4, "completed", Some(-5 * HOUR)),
            (5, "discarded", Some(-5 * HOUR)),
        ];
        for (id, state, attempted) in jobs {
            queue.run(
            "INSERT INTO river_job (id, attempt, attempted_at, created_at, kind, max_attempts, state, scheduled_at)
             VALUES (?1, 25, ?2, ?3, 'sort', 25, ?4, ?3)",
            (id, attempted.map(text), text(-6 * HOUR), state),
        );
        }
        queue.database.either(
            r#"UPDATE river_job SET attempted_by = jsonb('["web1_a", "web2_b"]')"#,
            "UPDATE river_job SET attempted_by = '{web1_a,web2_b}'",
        );
        queue.run(
            "INSERT INTO river_leader VALUES (?1, ?2, 'web2_b', 'default')",
            [text(-HOUR), text(9 * SECOND)],
        );
        queue.expect(&[
            ("1", "healthy", &[]),
            ("2", "stale", &["ttl_exceeded"]),
            ("default", "healthy", &[]),
        ]);
        let claim = queue.claim("2");
        assert_eq!((&claim["kind"], &claim["holder"]), (&"sort".into(), &"web2_b".into()));
        assert_eq!((&claim["attempts"], &claim["exhausted"]), (&25.into(), &true.into()));
        assert_eq!(queue.claim("default")["holder"], "web2_b");
        let backlog = &queue.check()["backlog"];
        assert_eq!((&backlog["queued"], &backlog["dead"]), (&1.into(), &1.into()));
    });
}

#[test]
fn graphile_worker_locks_jobs_and_named_queues_in_a_schema_of_any_name() {
    on_both(|| {
        let mut queue = Queue::with(
        "graphile-worker",
        "CREATE TABLE _private_tasks (id INTEGER PRIMARY KEY, identifier TEXT NOT NULL);
         CREATE TABLE _private_job_queues (id INTEGER PRIMARY KEY, queue_name TEXT NOT NULL UNIQUE,
           locked_at TEXT, locked_by TEXT, is_available INTEGER AS (locked_at IS NULL) STORED);
         CREATE TABLE _private_jobs (id INTEGER PRIMARY KEY, job_queue_id INTEGER, task_id INTEGER NOT NULL,
           payload TEXT, priority INTEGER NOT NULL DEFAULT 0, run_at TEXT NOT NULL, attempts INTEGER NOT NULL,
           max_attempts INTEGER NOT NULL DEFAULT 25, last_error TEXT, updated_at TEXT, locked_at TEXT,
           locked_by TEXT, is_available INTEGER AS (locked_at IS NULL AND attempts < max_attempts) STORED);",
        "CREATE TABLE _private_tasks (id int PRIMARY KEY, identifier text NOT NULL);
         CREATE TABLE _private_job_queues (id int PRIMARY KEY, queue_name text NOT NULL UNIQUE,
           locked_at timestamptz, locked_by text,
           is_available boolean GENERATED ALWAYS AS (locked_at IS NULL) STORED NOT NULL);
         CREATE TABLE _private_jobs (id bigint PRIMARY KEY, job_queue_id int, task_id int NOT NULL, payload json,
           priority smallint NOT NULL DEFAULT 0, run_at timestamptz NOT NULL, attempts smallint NOT NULL,
           max_attempts smallint NOT NULL DEFAULT 25, last_error text, updated_at timestamptz,
           locked_at timestamptz, locked_by text,
           is_available boolean GENERATED ALWAYS AS (locked_at IS NULL AND attempts < max_attempts) STORED NOT NULL);",
    );
        let schema = if queue.database.server().is_some() { "public" } else { "main" };
        queue.in_schema(schema);
        queue.run("INSERT INTO _private_tasks VALUES (5, 'send_mail')", ());
        let queues = [(1, "serial", Some(-HOUR)), (2, "blocked", Some(-HOUR)), (3, "free", None)];
        for (id, name, locked) in queues {
            queue.run(
                "INSERT INTO _private_job_queues VALUES (?1, ?2, ?3, ?4)",
                (id, name, locked.map(naive), locked.map(|_| "pool-c763")),
            );
        }
        let jobs = [
            (11, Some(1), Some(-HOUR), 1, 25),
            (12, None, Some(-4 * HOUR - SECOND), 1, 1),
            (13, None, Some(-4 * HOUR + MINUTE), 2, 25),
            (14, Some(2), None, 0, 25),
            (15, None, None, 25, 25),
        ];
        for (id, named, locked, attempts, most) in jobs {
            queue.run(
            "INSERT INTO _private_jobs (id, job_queue_id, task_id, run_at, attempts, max_attempts, locked_at, locked_by)
             VALUES (?1, ?2, 5, ?3, ?4, ?5, ?6, ?7)",
            (id, named, naive(-5 * HOUR), attempts, most, locked.map(naive), locked.map(|_| "pool-c763")),
        );
        }
        queue.expect(&[
            ("11", "healthy", &[]),
            ("12", "stale", &["ttl_exceeded"]),
            ("13", "expiring", &["deadline_near"]),
            ("serial", "healthy", &[]),
            ("blocked", "orphaned", &["session_missing"]),
        ]);
        let claim = queue.claim("12");
        assert_eq!((&claim["kind"], &claim["holder"]), (&"send_mail".into(), &"pool-c763".into()));
        assert_eq!((&claim["attempts"], &claim["exhausted"]), (&1.into(), &true.into()));
        let backlog = &queue.check()["backlog"];
        assert_eq!((&backlog["queued"], &backlog["dead"]), (&1.into(), &1.into()));

        let reclaim = queue.parsed().boards[0].reclaim.clone().expect("an act");
        let also = format!("UPDATE {schema}._private_job_queues");
        assert!(reclaim.also[0].sql.starts_with(&also), "{reclaim:?}");
        let later = if schema == "main" { "max(run_at, :now)" } else { "greatest(run_at, :now)" };
        assert_eq!(reclaim.set["run_at"], later);
    });
}
