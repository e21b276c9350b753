//! Executor-jobs: jobs with a time to live by type.

use rusqlite::ToSql;
use serde_json::json;

use super::{assert_counts, assert_verdict, history, iso};
use crate::support::engine::on_both;
use crate::support::{Database, MINUTE, SECOND};

/// The table as all migrations together leave it, less the constraint on the status: the specification
/// knows `processing`, and databases from before the constraint have it.
pub const SCHEMA: &str = "
    CREATE TABLE executor_jobs (id uuid PRIMARY KEY NOT NULL, type text NOT NULL, entity_type text,
      entity_id uuid, payload jsonb NOT NULL DEFAULT '{}', status text NOT NULL DEFAULT 'queued',
      attempts int NOT NULL DEFAULT 0, max_attempts int NOT NULL DEFAULT 10, run_at timestamptz,
      dedupe_key text, locked_at timestamptz, locked_by text, last_error text, created_at timestamptz,
      updated_at timestamptz, heartbeat_at timestamptz, correlation_id uuid, trace_id text,
      enqueue_source text NOT NULL DEFAULT 'unknown');
    CREATE INDEX executor_jobs_status_run_at ON executor_jobs (status, run_at);
    CREATE INDEX executor_jobs_reclaim_idx ON executor_jobs (status, type, locked_at, heartbeat_at)
      WHERE status IN ('running', 'processing');";

/// A running job, locked this long ago.
fn job(database: &Database, id: &str, kind: &str, locked_ago: i64) {
    job_with(database, id, kind, &iso(-locked_ago), &None::<String>);
}

pub fn job_with(database: &Database, id: &str, kind: &str, locked_at: &dyn ToSql, heartbeat_at: &dyn ToSql) {
    database.run(
        "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, attempts, heartbeat_at)
         VALUES (?1, ?2, 'running', ?3, 'orchestrator-1', 1, ?4)",
        [&id as &dyn ToSql, &kind, locked_at, heartbeat_at],
    );
}

const TTLS: [(&str, i64); 6] = [
    ("protect_document_v2", 5),
    ("document.protected", 5),
    ("run_tsa", 30),
    ("submit_anchor_polygon", 60),
    ("submit_anchor_bitcoin", 60),
    ("build_artifact", 15),
];

#[test]
fn each_type_has_its_time_to_live_and_holds_until_exactly_its_end() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        for (kind, minutes) in TTLS {
            job(&database, &format!("{kind} at"), kind, minutes * MINUTE);
            job(&database, &format!("{kind} after"), kind, minutes * MINUTE + 1);
        }
        let (found, exit) = database.check();
        assert_counts(&found["boards"]["job"], 12, &[("expiring", 6), ("stale", 6)]);
        assert_eq!(found["reasons"], json!({"ttl_exceeded": 6, "deadline_near": 6}));
        assert_eq!(exit, 2);
        for (kind, _) in TTLS {
            let held = database.claim(&format!("{kind} at"));
            assert_verdict(&held, "expiring", &["deadline_near"]);
            assert_eq!((&held["remaining_ms"], &held["overrun"]), (&json!(0), &json!(1.0)));
            let stale = database.claim(&format!("{kind} after"));
            assert_verdict(&stale, "stale", &["ttl_exceeded"]);
            assert_eq!((&stale["kind"], &stale["remaining_ms"]), (&json!(kind), &json!(-1)));
        }
    });
}

#[test]
fn a_type_warns_in_the_last_fifth_of_its_time_but_never_longer_than_five_minutes() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        let warnings = [1, 1, 5, 5, 5, 3];
        for ((kind, minutes), warning) in TTLS.into_iter().zip(warnings) {
            job(&database, &format!("{kind} before"), kind, (minutes - warning) * MINUTE - 1);
            job(&database, &format!("{kind} from"), kind, (minutes - warning) * MINUTE);
        }
        let (found, exit) = database.check();
        assert_counts(&found["boards"]["job"], 12, &[("healthy", 6), ("expiring", 6)]);
        assert_eq!(exit, 1);
        for (kind, _) in TTLS {
            assert_verdict(&database.claim(&format!("{kind} before")), "healthy", &[]);
            assert_verdict(&database.claim(&format!("{kind} from")), "expiring", &["deadline_near"]);
        }
    });
}

#[test]
fn the_documents_dead_worker_is_found() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        database.run(
            "INSERT INTO executor_jobs (id, dedupe_key, type, status, locked_at, locked_by, attempts)
         VALUES ('job-1', 'test-ttl-reclaim-1', 'run_tsa', 'running', ?1, 'test-worker-dead', 1)",
            [iso(-35 * MINUTE)],
        );
        let claim = database.claim("job-1");
        assert_verdict(&claim, "stale", &["ttl_exceeded"]);
        assert_eq!(claim["holder"], "test-worker-dead");
        assert_eq!(claim["deadline_at"], iso(-5 * MINUTE));
        assert_eq!(claim["remaining_ms"], -5 * MINUTE);
        assert_eq!(claim["overrun"], 1.17);
        assert_eq!(claim["exhausted"], false);
    });
}

#[test]
fn the_documents_validation_counts_jobs_beyond_twice_their_time() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        job(&database, "stale", "run_tsa", 60 * MINUTE - 1);
        job(&database, "runaway", "run_tsa", 60 * MINUTE);
        job(&database, "long gone", "build_artifact", 60 * MINUTE);
        // Kept alive by its heartbeat, however old its lock: nothing is wrong with it.
        job_with(&database, "beating", "run_tsa", &iso(-600 * MINUTE), &iso(-15 * SECOND));
        let (found, _) = database.check();
        assert_eq!(found["claims"]["runaway"], 2);
        assert_counts(&found["boards"]["job"], 4, &[("healthy", 1), ("stale", 3)]);
        assert_eq!(database.claim("runaway")["overrun"], 2.0);
        assert_eq!(database.claim("long gone")["overrun"], 4.0);
    });
}

#[test]
fn the_later_of_lock_and_heartbeat_counts_and_never_the_heartbeat_alone() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        // A job that was reclaimed and taken anew still carries the beat of its previous attempt.
        job_with(&database, "fresh lock, old beat", "run_tsa", &iso(-5 * SECOND), &iso(-40 * MINUTE));
        job_with(&database, "old lock, fresh beat", "run_tsa", &iso(-180 * MINUTE), &iso(-15 * SECOND));
        job_with(&database, "both old", "run_tsa", &iso(-32 * MINUTE), &iso(-31 * MINUTE));
        job_with(&database, "old beat, older lock", "run_tsa", &iso(-50 * MINUTE), &iso(-20 * MINUTE));
        let (found, _) = database.check();
        assert_counts(&found["boards"]["job"], 4, &[("healthy", 3), ("stale", 1)]);
        for id in ["fresh lock, old beat", "old lock, fresh beat", "old beat, older lock"] {
            assert_verdict(&database.claim(id), "healthy", &[]);
        }
        assert_eq!(database.claim("fresh lock, old beat")["deadline_at"], iso(30 * MINUTE - 5 * SECOND));
        assert_eq!(database.claim("old beat, older lock")["deadline_at"], iso(10 * MINUTE));
        let stale = database.claim("both old");
        assert_verdict(&stale, "stale", &["ttl_exceeded"]);
        assert_eq!(stale["deadline_at"], iso(-MINUTE));
    });
}

#[test]
fn running_and_processing_jobs_are_claims_and_no_others() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        let statuses =
            ["running", "processing", "queued", "succeeded", "failed", "retry_scheduled", "dead", "RUNNING"];
        for status in statuses {
            job(&database, status, "run_tsa", 35 * MINUTE);
            database.run("UPDATE executor_jobs SET status = ?1 WHERE id = ?1", [status]);
        }
        assert_counts(&database.check().0["boards"]["job"], 2, &[("stale", 2)]);
        assert_verdict(&database.claim("running"), "stale", &["ttl_exceeded"]);
        assert_verdict(&database.claim("processing"), "stale", &["ttl_exceeded"]);
    });
}

#[test]
fn a_type_without_a_time_to_live_is_unknown_however_old_or_new() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        job(&database, "old", "generate_signature_evidence", 600 * MINUTE);
        job(&database, "new", "generate_signature_evidence", SECOND);
        let (found, exit) = database.check();
        // The system's own monitor calls the first of them OK.
        assert_counts(&found["boards"]["job"], 2, &[("unknown", 2)]);
        assert_eq!(found["reasons"], json!({"no_deadline": 2}));
        assert_eq!(exit, 1);
        let claim = database.claim("old");
        assert_verdict(&claim, "unknown", &["no_deadline"]);
        assert!(claim["deadline_at"].is_null() && claim["overrun"].is_null(), "{claim}");
    });
}

#[test]
fn a_running_job_without_a_lock_time_is_unreadable_even_if_it_beats() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        job_with(&database, "never locked", "run_tsa", &None::<String>, &None::<String>);
        job_with(&database, "beating", "run_tsa", &None::<String>, &iso(-SECOND));
        let (found, exit) = database.check();
        assert_counts(&found["boards"]["job"], 2, &[("unknown", 2)]);
        assert_eq!(found["reasons"], json!({"unreadable": 2}));
        assert_eq!(exit, 1);
        assert_verdict(&database.claim("never locked"), "unknown", &["unreadable"]);
        assert_verdict(&database.claim("beating"), "unknown", &["unreadable"]);
    });
}

#[test]
fn a_job_is_exhausted_when_its_attempts_reach_its_maximum() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        for (id, attempts, max) in
            [("9 of 10", 9, 10), ("10 of 10", 10, 10), ("11 of 10", 11, 10), ("3 of 3", 3, 3)]
        {
            job(&database, id, "run_tsa", 35 * MINUTE);
            database.run(
                "UPDATE executor_jobs SET attempts = ?1, max_attempts = ?2 WHERE id = ?3",
                (attempts, max, id),
            );
            let claim = database.claim(id);
            assert_eq!((&claim["attempts"], &claim["max_attempts"]), (&json!(attempts), &json!(max)));
            assert_eq!(claim["exhausted"], attempts >= max, "{id}");
            assert_verdict(&claim, "stale", &["ttl_exceeded"]);
        }
    });
}

#[test]
fn the_backlog_counts_queued_retried_and_dead_jobs_and_the_age_of_the_oldest_queued() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        let waiting = [
            ("q1", "queued", 44),
            ("q2", "queued", 3),
            ("q3", "queued", -60),
            ("r1", "retry_scheduled", 500),
            ("r2", "retry_scheduled", -30),
            ("d1", "dead", 9_000),
            ("s1", "succeeded", 9_000),
            ("f1", "failed", 9_000),
        ];
        for (id, status, waited) in waiting {
            database.run(
                "INSERT INTO executor_jobs (id, type, status, run_at) VALUES (?1, 'run_tsa', ?2, ?3)",
                (id, status, iso(-waited * SECOND)),
            );
        }
        let (found, exit) = database.check();
        let backlog =
            json!({"queued": 3, "retry_scheduled": 2, "failed": 1, "dead": 1, "oldest_queued_s": 44});
        assert_eq!(found["backlog"], backlog);
        assert_eq!(found["boards"]["job"]["backlog"], backlog);
        assert_counts(&found["boards"]["job"], 0, &[]);
        assert_eq!(exit, 0);
    });
}

#[test]
fn the_history_holds_the_reclaimed_jobs_newest_first() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        let nested = "RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 2. \
                  RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 1. ";
        let reclaimed = [
            ("older", "queued", "RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 1. ", 90),
            ("newest", "succeeded", nested, 5),
            (
                "dead",
                "dead",
                "RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 10. Max attempts reached (10). ",
                40,
            ),
            ("overwritten", "failed", "handler error", 1),
            ("mentions it", "failed", "after RECLAIMED_TTL: once", 2),
        ];
        for (id, status, error, minutes) in reclaimed {
            database.run(
                "INSERT INTO executor_jobs (id, type, status, last_error, updated_at)
             VALUES (?1, 'run_tsa', ?2, ?3, ?4)",
                (id, status, error, iso(-minutes * MINUTE)),
            );
        }
        let traces = history(&database);
        let ids: Vec<&str> = traces.iter().map(|trace| trace["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["newest", "dead", "older"]);
        let newest = &traces[0];
        assert_eq!(newest["history"], "reclaimed");
        assert_eq!((&newest["kind"], &newest["what"]), (&json!("run_tsa"), &json!(nested)));
        assert_eq!(newest["at"], iso(-5 * MINUTE));
    });
}
