//! Acts and attempts are counted, whoever did them.

use super::metric_values::JOBS;
use super::*;
use crate::support::engine::{Layout, layout, on_both};
use crate::support::{COORDINATION, Database, MINUTE, SECOND};

fn now() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

fn expired_task(database: &Database, id: &str) {
    database.run(
        "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
         VALUES (?1, 'worker-1', ?2, ?3, ?2)",
        (id, now() - 120 * MINUTE, now() - 60 * MINUTE),
    );
}

/// Runs a verb with the same trail.
fn act(state: &Path, arguments: &[&str], database: &Database) -> i32 {
    let mut command = command(arguments);
    command.arg(database.path()).env("XDG_STATE_HOME", state).env_remove("HOME").stdin(Stdio::null());
    command.output().expect("it runs").status.code().expect("a code")
}

#[test]
fn acts_of_other_processes_count_those_from_before_the_start_as_well() {
    let database = Database::new(COORDINATION);
    database.run(
        "INSERT INTO sessions VALUES ('worker-1', '/project', 'cli', ?1, ?1, '{}', NULL)",
        [now() - SECOND],
    );
    expired_task(&database, "first");
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    assert_eq!(act(&state, &["sweep", "--once"], &database), 0);
    // Another database's acts are not told here, though the trail is the same.
    let other = Database::new(COORDINATION);
    expired_task(&other, "elsewhere");
    assert_eq!(act(&state, &["sweep", "--once"], &other), 0);
    let server = Server::with_state(&[], &[&database.path()], folder, &state);
    server.wait_until_read();
    let reclaims = |told: &Exposition, by: &str| {
        told.sum("claimtop_acts_total", &[("action", "reclaim"), ("by", by), ("outcome", "applied")])
    };
    let told = server.scrape();
    assert_eq!((reclaims(&told, "sweeper"), reclaims(&told, "operator")), (Some(1.0), Some(0.0)));
    for id in ["second", "third"] {
        expired_task(&database, id);
        assert_eq!(act(&state, &["reclaim", "--set", "stale", "--yes"], &database), 0);
    }
    let told = server.wait("the operator's acts", |told| reclaims(told, "operator") == Some(2.0));
    assert_eq!(reclaims(&told, "sweeper"), Some(1.0));
}

#[test]
fn reclaims_are_told_by_kind_with_a_zero_before_the_first() {
    let database = Database::new(JOBS);
    for (id, kind, since) in
        [("a", "run_tsa", "-2 hours"), ("b", "run_tsa", "-3 hours"), ("c", "build_artifact", "-1 second")]
    {
        database.run(
            "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, attempts)
             VALUES (?1, ?2, 'running', strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?3), 'w', 1)",
            (id, kind, since),
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let server = Server::with_state(&[], &[&database.path()], folder, &state);
    let of = |told: &Exposition, kind: &str| {
        told.sum("claimtop_acts_total", &[("kind", kind), ("action", "reclaim"), ("by", "sweeper")])
    };
    let told = server.wait_until_read();
    assert_eq!((of(&told, "run_tsa"), of(&told, "build_artifact")), (Some(0.0), Some(0.0)));
    assert_eq!(act(&state, &["sweep", "--once"], &database), 0);
    let told = server.wait("the reclaims", |told| of(told, "run_tsa") == Some(2.0));
    assert_eq!(of(&told, "build_artifact"), Some(0.0));
}

#[test]
fn attempts_to_finalize_count_from_the_start_on() {
    let database = Database::new(include_str!("../../../assets/schema/sqlite/finalization.sql"));
    let attempt = |claimed: bool, message: &str| {
        database.run(
            "INSERT INTO tasker_finalization_attempts (task_uuid, processor_id, claimed, message, attempted_at)
             VALUES ('t', 'secret-processor', ?1, ?2, '2026-11-15 12:00:00.000000')",
            (claimed, message),
        );
    };
    attempt(true, "Successfully claimed for finalization");
    let server = Server::start(&[], &[&database.path()]);
    let told = server.wait_until_read();
    assert_eq!(told.get("finalization_claim_attempts_total", &[]), Some(0.0));
    attempt(true, "Successfully claimed for finalization");
    for message in
        ["Task already claimed for finalization", "Task already complete", "Task already complete", "?"]
    {
        attempt(false, message);
    }
    let told =
        server.wait("five attempts", |told| told.get("finalization_claim_attempts_total", &[]) == Some(5.0));
    assert_eq!(told.get("finalization_claim_success_total", &[]), Some(1.0));
    assert_eq!(told.get("finalization_claim_contention_total", &[]), Some(4.0));
    for (reason, count) in [
        ("already_claimed", 1.0),
        ("already_complete", 2.0),
        ("not_ready", 0.0),
        ("race_condition", 0.0),
        ("other", 1.0),
    ] {
        let told = told.get("finalization_claim_contention_by_reason_total", &[("reason", reason)]);
        assert_eq!(told, Some(count), "{reason}");
    }
    assert!(!server.ask("GET", "/metrics").body.contains("secret"));
}

#[test]
fn attempts_that_go_by_a_uuid_are_counted_too() {
    on_both(|| {
        // Without a rowid nothing tells in which order they came.
        if layout() == Layout::Keys {
            return;
        }
        let database = Database::with(
            &format!(
                "{} DROP TABLE tasker_finalization_attempts;
                 CREATE TABLE tasker_finalization_attempts (finalization_attempt_uuid TEXT PRIMARY KEY, task_uuid TEXT,
                   processor_id TEXT, claimed BOOLEAN, message TEXT, attempted_at TEXT);",
                include_str!("../../../assets/schema/sqlite/finalization.sql")
            ),
            &format!(
                "{} DROP TABLE tasker_finalization_attempts;
                 CREATE TABLE tasker_finalization_attempts (finalization_attempt_uuid uuid PRIMARY KEY, task_uuid uuid,
                   processor_id text, claimed boolean, message text, attempted_at timestamp);",
                include_str!("../../../assets/schema/postgres/finalization.sql")
            ),
        );
        let attempt = |number: u8, seconds: u8| {
            database.either(
                &format!(
                    "INSERT INTO tasker_finalization_attempts VALUES ('u{number}', 't', 'p', 1, 'x', '2026-11-15 12:00:00')"
                ),
                &format!(
                    "INSERT INTO tasker_finalization_attempts VALUES (gen_random_uuid(), gen_random_uuid(), 'p', true, 'x',
                     now() - interval '1 minute' + interval '{seconds} seconds')"
                ),
            );
        };
        attempt(1, 1);
        let server = Server::start(&[], &[std::path::Path::new(&database.source())]);
        let told = server.wait_until_read();
        assert_eq!(told.get("finalization_claim_attempts_total", &[]), Some(0.0));
        attempt(2, 2);
        attempt(3, 3);
        server.wait("two attempts", |told| told.get("finalization_claim_success_total", &[]) == Some(2.0));
    });
}

#[test]
fn what_others_clean_up_is_counted_as_far_as_two_polls_show_it() {
    on_both(|| {
        if layout() != Layout::Rowids {
            return;
        }
        let database = Database::new(COORDINATION);
        database.run(
            "INSERT INTO sessions VALUES ('worker-1', '/project', 'cli', ?1, ?1, '{}', NULL)",
            [now() - SECOND],
        );
        database.run(
            "INSERT INTO sessions VALUES ('worker-2', '/project', 'cli', ?1, ?1, '{}', NULL)",
            [now() - SECOND],
        );
        for id in ["cleaned-1", "cleaned-2", "renewed", "taken"] {
            expired_task(&database, id);
        }
        let server = Server::start(&[], &[Path::new(&database.source())]);
        let cleaned = |told: &Exposition| told.sum("claimtop_claims_cleaned_up_total", &[("board", "task")]);
        let stale = |told: &Exposition| told.sum("claimtop_claims", &[("board", "task"), ("set", "stale")]);
        let told = server.wait("four stale claims", |told| stale(told) == Some(4.0));
        assert_eq!(cleaned(&told), Some(0.0), "a zero before the first");
        // What its holder renews is not cleaned up; what another session takes is.
        database.at_once(|| {
            database.run(
                "UPDATE task_claims SET expires_at = ?1, last_heartbeat = ?2 WHERE task_id = 'renewed'",
                (now() + 60 * MINUTE, now()),
            );
            database.run(
                "UPDATE task_claims SET session_id = 'worker-2', claimed_at = ?2, expires_at = ?1,
                 last_heartbeat = ?2 WHERE task_id = 'taken'",
                (now() + 60 * MINUTE, now()),
            );
            database.run("DELETE FROM task_claims WHERE task_id LIKE 'cleaned-%'", ());
        });
        let told = server.wait("no stale claim", |told| stale(told) == Some(0.0));
        assert_eq!(cleaned(&told), Some(3.0));
    });
}

#[test]
fn jobs_that_anybody_reclaimed_within_an_hour_fire_the_alert_of_too_many() {
    on_both(|| {
        if layout() != Layout::Rowids {
            return;
        }
        let database = Database::of(claimtop::reference::System::ExecutorJobs);
        database.either(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 101)
             INSERT INTO executor_jobs (id, type, last_error)
             SELECT 'job-' || i, 'run_tsa', 'RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 1. ' FROM n",
            "INSERT INTO executor_jobs (type, last_error)
             SELECT 'run_tsa', 'RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 1. ' FROM generate_series(1, 101)",
        );
        let server = Server::start(&[], &[Path::new(&database.source())]);
        let told = server.wait("the reclaims", |told| {
            told.sum("claimtop_kind_reclaimed_last_hour", &[("kind", "run_tsa")]) == Some(101.0)
        });
        let labels =
            [("severity", "warning"), ("profile", "executor-jobs"), ("board", "job"), ("kind", "run_tsa")];
        super::alert_rules::assert_alert("TooManyReclaims", &labels, &told);
    });
}
