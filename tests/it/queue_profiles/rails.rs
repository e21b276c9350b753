//! Queues of Ruby on Rails, which writes its times without a zone.

use super::{HOUR, Queue, naive};
use crate::support::engine::on_both;
use crate::support::{MINUTE, SECOND, in_their_words};

/// Rails makes the same tables on either engine, and calls a time by the engine's name for it.
fn rails(name: &str, schema: &str) -> Queue {
    Queue::with(name, schema, &in_their_words(schema).replace("datetime(6)", "timestamp(6)"))
}

#[test]
fn delayed_job_locks_a_row_for_four_hours() {
    on_both(|| {
        let queue = rails(
            "delayed-job",
            "CREATE TABLE delayed_jobs (id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
           priority INTEGER DEFAULT 0 NOT NULL, attempts INTEGER DEFAULT 0 NOT NULL, handler TEXT NOT NULL,
           last_error TEXT, run_at datetime(6), locked_at datetime(6), failed_at datetime(6),
           locked_by varchar, queue varchar, created_at datetime(6), updated_at datetime(6));
         CREATE INDEX delayed_jobs_priority ON delayed_jobs (priority, run_at);",
        );
        let rows = [
            (1, Some(-HOUR), None, 0),
            (2, Some(-4 * HOUR + 2 * MINUTE), None, 1),
            (3, Some(-4 * HOUR - SECOND), None, 25),
            (4, None, None, 0),
            // The lock of a job that failed for good stays on it.
            (5, Some(-9 * HOUR), Some(-5 * HOUR), 25),
        ];
        for (id, locked, failed, attempts) in rows {
            queue.run(
            "INSERT INTO delayed_jobs (id, attempts, handler, run_at, locked_at, failed_at, locked_by, queue)
             VALUES (?1, ?2, '--- !ruby/struct:Mail', ?3, ?4, ?5, ?6, 'mailers')",
            (
                id,
                attempts,
                naive(-10 * HOUR),
                locked.map(naive),
                failed.map(naive),
                locked.map(|_| "host:web1 pid:4312"),
            ),
        );
        }
        queue.expect(&[
            ("1", "healthy", &[]),
            ("2", "expiring", &["deadline_near"]),
            ("3", "stale", &["ttl_exceeded"]),
        ]);
        queue.run("UPDATE delayed_jobs SET locked_by = 'delayed_job.0 host:web2 pid:99' WHERE id = 2", ());
        let process = |id: &str| queue.claim(id)["session"].clone();
        assert_eq!((&process("2")["pid"], &process("2")["host"]), (&99.into(), &"web2".into()));
        let claim = queue.claim("3");
        assert_eq!(claim["holder"], "host:web1 pid:4312");
        assert_eq!((&claim["session"]["pid"], &claim["session"]["host"]), (&4312.into(), &"web1".into()));
        assert_eq!(claim["kind"], "mailers");
        assert_eq!((&claim["attempts"], &claim["max_attempts"]), (&25.into(), &25.into()));
        assert_eq!(claim["exhausted"], true);
        assert_eq!(claim["remaining_ms"], -SECOND);
        let backlog = &queue.check()["backlog"];
        assert_eq!((&backlog["queued"], &backlog["dead"]), (&1.into(), &1.into()));
        assert_eq!(backlog["oldest_queued_s"], 36_000);
    });
}

const SOLID: &str = "
    CREATE TABLE solid_queue_jobs (id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, queue_name varchar NOT NULL,
      class_name varchar NOT NULL, arguments TEXT, priority INTEGER DEFAULT 0 NOT NULL, active_job_id varchar,
      finished_at datetime(6), created_at datetime(6) NOT NULL);
    CREATE TABLE solid_queue_claimed_executions (id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
      job_id bigint NOT NULL, process_id bigint, created_at datetime(6) NOT NULL);
    CREATE UNIQUE INDEX by_job ON solid_queue_claimed_executions (job_id);
    CREATE INDEX by_process ON solid_queue_claimed_executions (process_id, job_id);
    CREATE TABLE solid_queue_ready_executions (id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
      job_id bigint NOT NULL, queue_name varchar NOT NULL, priority INTEGER DEFAULT 0 NOT NULL,
      created_at datetime(6) NOT NULL);
    CREATE TABLE solid_queue_failed_executions (id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
      job_id bigint NOT NULL, error TEXT, created_at datetime(6) NOT NULL);
    CREATE TABLE solid_queue_processes (id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, kind varchar NOT NULL,
      last_heartbeat_at datetime(6) NOT NULL, supervisor_id bigint, pid INTEGER NOT NULL, hostname varchar,
      metadata TEXT, created_at datetime(6) NOT NULL, name varchar NOT NULL);";

#[test]
fn solid_queue_claims_by_a_row_of_its_own_that_leads_to_job_and_process() {
    on_both(|| {
        let queue = rails("solid-queue", SOLID);
        for (id, beat) in [(71, -30 * SECOND), (72, -5 * MINUTE - SECOND), (73, -4 * MINUTE - 30 * SECOND)] {
            queue.run(
            "INSERT INTO solid_queue_processes VALUES (?1, 'Worker', ?2, NULL, 4312, 'web1', '{}', ?3, 'w')",
            (id, naive(beat), naive(-HOUR)),
        );
        }
        // Jobs 6 to 8 are ready, failed and finished; the claim on job 9 has lost its job.
        for job in 1..=8 {
            queue.run(
                "INSERT INTO solid_queue_jobs VALUES
             (?1, 'default', 'MailJob', '{\"executions\": 2}', 0, NULL, ?2, ?3)",
                (job, (job == 8).then(|| naive(-MINUTE)), naive(-HOUR)),
            );
        }
        queue.run(
            "INSERT INTO solid_queue_ready_executions VALUES (1, 6, 'default', 0, ?1)",
            [naive(-MINUTE)],
        );
        queue.run("INSERT INTO solid_queue_failed_executions VALUES (1, 7, '{}', ?1)", [naive(-MINUTE)]);
        let claims = [
            (11, 1, Some(71)),
            (12, 2, Some(72)),
            (13, 3, Some(73)),
            (14, 4, Some(99)),
            (15, 5, None),
            (19, 9, Some(71)),
        ];
        for (id, job, process) in claims {
            queue.run(
                "INSERT INTO solid_queue_claimed_executions VALUES (?1, ?2, ?3, ?4)",
                (id, job, process, naive(-20 * MINUTE)),
            );
        }
        queue.expect(&[
            ("11", "healthy", &[]),
            ("12", "orphaned", &["session_stale"]),
            ("13", "expiring", &["deadline_near"]),
            ("14", "orphaned", &["session_missing"]),
            ("15", "orphaned", &["session_missing"]),
            ("19", "healthy", &[]),
        ]);
        let claim = queue.claim("12");
        assert_eq!((&claim["kind"], &claim["holder"]), (&"MailJob".into(), &"72".into()));
        assert_eq!(claim["attempts"], 2);
        assert_eq!(claim["session"]["pid"], 4312);
        assert_eq!(claim["session"]["host"], "web1");
        assert_eq!(claim["claimed_at"], "2026-11-15T11:40:00.000Z");
        assert!(queue.claim("19")["kind"].is_null());
        let check = queue.check();
        assert_eq!((&check["sessions"]["total"], &check["sessions"]["stale"]), (&3.into(), &1.into()));
        assert_eq!((&check["backlog"]["queued"], &check["backlog"]["dead"]), (&1.into(), &1.into()));
    });
}
