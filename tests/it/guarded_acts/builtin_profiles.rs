//! The acts of the built-in profiles leave behind what the specifications say.

use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::domain::time::Span;
use rusqlite::types::Value::{self, Null};

use super::systems_more::{FINALIZED, JOBS, LEASES, MERGE, REGISTERED_TASKS, TASKS};
use super::{act, actor, applied, fast, is_moved, look, number, reclaim, row, text};
use crate::support::engine::{Engine, engine, on_both};
use crate::support::{COORDINATION, Database, MINUTE, NOW, SECOND};

const NOW_S: i64 = NOW / SECOND;
const NOW_TEXT: &str = "2026-11-15 12:00:00";

/// [`NOW`] in a column with a zone.
fn now() -> Value {
    match engine() {
        Engine::Sqlite => text("2026-11-15T12:00:00.000Z"),
        Engine::Postgres => text("2026-11-15 12:00:00+00"),
    }
}

fn job(schema: &str, attempts: i64, error: Option<&str>) -> Database {
    let database = fast(schema);
    database.run(
        "INSERT INTO executor_jobs (id, type, status, attempts, locked_at, locked_by, last_error)
         VALUES ('job-1', 'run_tsa', 'running', ?1, '2026-11-15T11:00:00Z', 'w1', ?2)",
        (attempts, error),
    );
    database
}

const JOB: &str = "SELECT status, attempts, locked_at, locked_by, last_error FROM executor_jobs";

#[test]
fn a_job_with_attempts_left_is_queued_again_and_the_attempt_counts() {
    on_both(|| {
        let database = job(JOBS, 3, Some("timeout"));
        applied(&mut actor(&database), "job-1", Action::Reclaim);
        let error = "RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 3. timeout";
        assert_eq!(row(&database, JOB), [text("queued"), number(4), Null, Null, text(error)]);
    });
}

#[test]
fn a_job_after_its_last_attempt_is_dead_and_no_attempt_counts() {
    on_both(|| {
        for attempts in [10, 11] {
            let database = job(JOBS, attempts, None);
            applied(&mut actor(&database), "job-1", Action::Reclaim);
            let error = format!(
                "RECLAIMED_TTL: Exceeded TTL (30 min) at attempt {attempts}. Max attempts reached (10). "
            );
            assert_eq!(row(&database, JOB), [text("dead"), number(attempts), Null, Null, text(&error)]);
        }
    });
}

#[test]
fn a_job_of_an_older_database_has_ten_attempts() {
    on_both(|| {
        let older = "CREATE TABLE executor_jobs (id uuid PRIMARY KEY NOT NULL, type text NOT NULL,
        status text NOT NULL, attempts int NOT NULL, locked_at timestamptz, locked_by text, last_error text)";
        let database = job(older, 9, None);
        applied(&mut actor(&database), "job-1", Action::Reclaim);
        let error = "RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 9. ";
        assert_eq!(row(&database, JOB), [text("queued"), number(10), Null, Null, text(error)]);
        let database = job(older, 10, None);
        applied(&mut actor(&database), "job-1", Action::Reclaim);
        assert_eq!(row(&database, JOB)[..2], [text("dead"), number(10)]);
    });
}

#[test]
fn a_job_handed_back_counts_no_attempt() {
    on_both(|| {
        let database = job(JOBS, 3, Some("timeout"));
        applied(&mut actor(&database), "job-1", Action::Release);
        assert_eq!(row(&database, JOB), [text("queued"), number(3), Null, Null, text("timeout")]);
    });
}

#[test]
fn a_job_given_more_time_has_beaten_just_now_and_is_not_stale() {
    on_both(|| {
        let database = job(JOBS, 3, None);
        let mut actor = actor(&database);
        applied(&mut actor, "job-1", Action::Extend);
        assert_eq!(row(&database, "SELECT heartbeat_at, locked_by FROM executor_jobs"), [now(), text("w1")]);
        assert_eq!(look(&mut actor, "job-1").judged.verdict.headline().as_str(), "healthy");
    });
}

#[test]
fn a_merge_queue_entry_is_pending_again() {
    on_both(|| {
        for action in [Action::Reclaim, Action::Release] {
            let database = fast(MERGE);
            database.run(
            "INSERT INTO merge_queue (id, workspace, status, added_at, started_at, agent_id, attempt_count)
             VALUES (41, 'a', 'claimed', 5, ?1, 'agent-x', 2)",
            [NOW_S - 301],
        );
            applied(&mut actor(&database), "merge-queue/entry/41", action);
            let sql = "SELECT status, started_at, agent_id, state_changed_at, attempt_count, added_at FROM merge_queue";
            assert_eq!(
                row(&database, sql),
                [text("pending"), Null, Null, number(NOW_S), number(2), number(5)]
            );
        }
    });
}

#[test]
fn a_merge_queue_without_newer_columns_is_served_as_well() {
    on_both(|| {
        let database = fast(
            "CREATE TABLE merge_queue (id INTEGER PRIMARY KEY, workspace TEXT, status TEXT NOT NULL,
           added_at INTEGER, started_at INTEGER, agent_id TEXT);
         CREATE TABLE queue_processing_lock (id INTEGER PRIMARY KEY, agent_id TEXT, acquired_at INTEGER,
           expires_at INTEGER);",
        );
        database.run("INSERT INTO merge_queue VALUES (41, 'a', 'claimed', 5, ?1, 'agent-x')", [NOW_S - 301]);
        applied(&mut actor(&database), "41", Action::Reclaim);
        assert_eq!(
            row(&database, "SELECT * FROM merge_queue"),
            [number(41), text("a"), text("pending"), number(5), Null, Null]
        );
    });
}

#[test]
fn locks_are_rows_that_go() {
    on_both(|| {
        let database = fast(MERGE);
        database.run("INSERT INTO queue_processing_lock VALUES (1, 'agent-x', 5, ?1)", [NOW_S - 1]);
        applied(&mut actor(&database), "merge-queue/lock/1", Action::Reclaim);
        assert_eq!(row(&database, "SELECT count(*) FROM queue_processing_lock"), [number(0)]);

        let database = fast(COORDINATION);
        database.session("live", SECOND);
        for resource in ["a/b c", "a/b d"] {
            database
                .run("INSERT INTO locks VALUES (?1, 'live', ?2, ?2, 'exclusive', 0)", (resource, NOW - 1));
        }
        let mut actor = actor(&database);
        let seen = look(&mut actor, "a/b c");
        let address = actor.address(&seen);
        applied(&mut actor, &address, Action::Reclaim);
        assert_eq!(row(&database, "SELECT count(*), max(resource) FROM locks"), [number(1), text("a/b d")]);
    });
}

#[test]
fn a_task_of_the_coordination_database_goes_and_its_neighbours_stay() {
    on_both(|| {
        for action in [Action::Reclaim, Action::Release] {
            let database = fast(COORDINATION);
            database.session("live", SECOND);
            database.task("task-1", "live", -SECOND);
            database.task("task-2", "live", -SECOND);
            applied(&mut actor(&database), "task-1", action);
            assert_eq!(
                row(&database, "SELECT count(*), max(task_id) FROM task_claims"),
                [number(1), text("task-2")]
            );
        }
    });
}

#[test]
fn more_time_is_counted_from_now() {
    on_both(|| {
        let database = fast(COORDINATION);
        database.session("live", SECOND);
        database.task("task-1", "live", -SECOND);
        let mut actor = actor(&database);
        let expiry = "SELECT expires_at FROM task_claims";
        applied(&mut actor, "task-1", Action::Extend);
        assert_eq!(row(&database, expiry), [number(NOW + 30 * MINUTE)]);
        let seen = look(&mut actor, "task-1");
        let word = Authorization { by: Some(Span::minutes(7)), ..Authorization::default() };
        assert_eq!(act(&mut actor, &seen, Action::Extend, &word).outcome, Outcome::Applied);
        assert_eq!(row(&database, expiry), [number(NOW + 7 * MINUTE)]);
    });
}

#[test]
fn a_finalization_is_free_again() {
    on_both(|| {
        for action in [Action::Reclaim, Action::Release] {
            let database = fast(FINALIZED);
            database.run(
                "INSERT INTO tasker_tasks VALUES ('u-1', false, 'p1', '2026-11-15 11:58:00', 60, NULL, '{}')",
                [],
            );
            applied(&mut actor(&database), "u-1", action);
            let [at, by, timeout, complete, updated] = row(
            &database,
            "SELECT claimed_at, claimed_by, claim_timeout_seconds, CASE WHEN complete THEN 1 ELSE 0 END, updated_at
             FROM tasker_tasks",
        )
        .try_into()
        .unwrap();
            assert_eq!([at, by, timeout, complete], [Null, Null, number(60), number(0)]);
            assert!(matches!(&updated, Value::Text(at) if at.starts_with("2026-11-15")), "{updated:?}");
        }
    });
}

fn task(schema: &str) -> Database {
    let database = fast(schema);
    database.run(
        "INSERT INTO tasks (id, task_type_id, status, worker_id, claimed_at, attempts)
         VALUES (7, 1, 'claimed', 'w1', '2026-11-15 11:50:00', 1)",
        [],
    );
    database
}

const TASK: &str = "SELECT status, worker_id, claimed_at, attempts, updated_at FROM tasks";

#[test]
fn a_task_is_pending_again_and_the_log_tells() {
    on_both(|| {
        for action in [Action::Reclaim, Action::Release] {
            for schema in [REGISTERED_TASKS, TASKS] {
                let database = task(schema);
                let acted = applied(&mut actor(&database), "7", action);
                assert_eq!(acted.changes.len(), 2, "the task and its log: {acted:?}");
                assert_eq!(row(&database, TASK), [text("pending"), Null, Null, number(1), text(NOW_TEXT)]);
                let log = row(
                    &database,
                    "SELECT (SELECT count(*) FROM task_logs), task_id, event, worker_id, created_at FROM task_logs",
                );
                assert_eq!(log, [number(1), number(7), text("requeued"), text("w1"), text(NOW_TEXT)]);
                let why = row(&database, "SELECT message FROM task_logs");
                assert_ne!(why, [text("")]);
            }
        }
    });
}

#[test]
fn a_database_without_the_log_or_with_another_is_served_as_well() {
    on_both(|| {
        let another = "DROP TABLE task_logs;
        CREATE TABLE task_logs (log_id INTEGER PRIMARY KEY, task_id INTEGER, level TEXT);";
        for change in ["DROP TABLE task_logs;", another] {
            let database = task(&format!("{TASKS} {change}"));
            applied(&mut actor(&database), "7", Action::Reclaim);
            assert_eq!(row(&database, TASK)[..2], [text("pending"), Null]);
        }
    });
}

#[test]
fn a_lease_counts_the_attempt_and_ends_in_the_dead_letters() {
    on_both(|| {
        for (attempts, status) in [(0, "queued"), (3, "queued"), (4, "dead_letter")] {
            let database = fast(LEASES);
            database.run(
            "INSERT INTO task_queue (id, type, status, attempts, locked_by, reserved_at_utc, lease_until_utc)
             VALUES (5, 'a', 'leased', ?1, 'w1', '2026-11-15 11:50:00', '2026-11-15 11:51:00')",
            [attempts],
        );
            applied(&mut actor(&database), "5", Action::Reclaim);
            let sql = "SELECT status, attempts, locked_by, lease_until_utc FROM task_queue";
            assert_eq!(row(&database, sql), [text(status), number(attempts + 1), Null, Null]);
        }
    });
}

#[test]
fn a_lease_handed_back_counts_nothing_and_an_extended_one_ends_later() {
    on_both(|| {
        for (action, rest) in [
            (Action::Release, [text("queued"), number(4), Null, Null]),
            (Action::Extend, [text("leased"), number(4), text("w1"), text("2026-11-15 12:01:00")]),
        ] {
            let database = fast(LEASES);
            database.run(
            "INSERT INTO task_queue (id, type, status, attempts, locked_by, reserved_at_utc, lease_until_utc)
             VALUES (5, 'a', 'leased', 4, 'w1', '2026-11-15 11:50:00', '2026-11-15 11:51:00')",
            [],
        );
            applied(&mut actor(&database), "5", action);
            let sql = "SELECT status, attempts, locked_by, lease_until_utc FROM task_queue";
            assert_eq!(row(&database, sql), rest, "{action}");
        }
    });
}

#[test]
fn a_second_reclaim_finds_nothing_to_take() {
    on_both(|| {
        for (database, id) in [(job(JOBS, 3, None), "job-1"), (task(TASKS), "7")] {
            let mut actor = actor(&database);
            let seen = look(&mut actor, id);
            assert_eq!(reclaim(&mut actor, &seen).outcome, Outcome::Applied);
            let again = reclaim(&mut actor, &seen);
            assert!(is_moved(&again.outcome), "{:?}", again.outcome);
            assert!(again.changes.is_empty());
        }
    });
}

#[test]
fn a_dry_run_tells_everything_and_writes_nothing() {
    on_both(|| {
        let database = task(TASKS);
        let mut actor = actor(&database);
        let seen = look(&mut actor, "7");
        let before = database.dump();
        let word = Authorization::default();
        let order = claimtop::store::Order {
            action: Action::Reclaim,
            authorization: &word,
            action_id: "a",
            dry_run: true,
        };
        let acted = actor.act(&seen, &order, &mut |_| panic!("a record of a dry run")).unwrap();
        assert_eq!((acted.outcome, acted.changes.len()), (Outcome::Applied, 2));
        let preview = acted.preview.join("\n");
        assert!(preview.contains("UPDATE") && preview.contains(":now = '2026-11-15 12:00:00"), "{preview}");
        assert_eq!(database.dump(), before);
    });
}
