//! Heartbeats, success, failure, and who may say so.

use claimtop::worker::executor_jobs::{FailedAttempt, Settled, backoff};

use super::*;

#[test]
fn only_the_owner_of_a_running_job_is_heard() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let id = enqueue(&mut jobs, "run_tsa");
        assert_eq!(jobs.heartbeat(&id, "w-1").unwrap(), Settled::NotOwner);
        claimed(&mut jobs, "w-1");
        let before = scene.row(&id, "status heartbeat_at locked_by updated_at last_error");
        scene.clock.advance(Span::seconds(15));
        for stranger in ["w-2", "", "W-1", "w-1 "] {
            assert_eq!(jobs.heartbeat(&id, stranger).unwrap(), Settled::NotOwner);
            assert_eq!(jobs.succeed(&id, stranger).unwrap(), Settled::NotOwner);
            assert_eq!(jobs.fail(&id, stranger, "no").unwrap(), FailedAttempt::NotOwner);
            assert_eq!(jobs.bury(&id, stranger, "no").unwrap(), Settled::NotOwner);
        }
        assert_eq!(scene.row(&id, "status heartbeat_at locked_by updated_at last_error"), before);
        assert_eq!(jobs.heartbeat(&id, "w-1").unwrap(), Settled::Done);
        assert_eq!(scene.row(&id, "heartbeat_at"), scene.stamp(Span::ZERO));
        assert_eq!(jobs.heartbeat("no such job", "w-1").unwrap(), Settled::NotOwner);
    });
}

#[test]
fn success_frees_the_job_and_keeps_what_tells_later_what_happened() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let id = enqueue(&mut jobs, "run_tsa");
        claimed(&mut jobs, "w-1");
        jobs.fail(&id, "w-1", "TSA unreachable").unwrap();
        scene.clock.advance(Span::minutes(1));
        assert_eq!(claimed(&mut jobs, "w-2").last_error.as_deref(), Some("TSA unreachable"));
        let beat = scene.stamp(Span::ZERO);
        scene.clock.advance(Span::seconds(5));
        assert_eq!(jobs.succeed(&id, "w-2").unwrap(), Settled::Done);
        let row = scene.row(&id, "status attempts locked_at locked_by heartbeat_at last_error");
        assert_eq!(row, format!("succeeded 2 - - {beat} TSA unreachable"));
        // Once more is nobody's business any more.
        assert_eq!(jobs.succeed(&id, "w-2").unwrap(), Settled::NotOwner);
        assert_eq!(jobs.heartbeat(&id, "w-2").unwrap(), Settled::NotOwner);
    });
}

#[test]
fn the_backoff_grows_with_the_attempts_up_to_ten_minutes() {
    for (kind, attempts, seconds) in [
        ("run_tsa", 1, 30),
        ("run_tsa", 2, 60),
        ("run_tsa", 19, 570),
        ("run_tsa", 20, 600),
        ("run_tsa", 21, 600),
        ("build_artifact", 1, 60),
        ("build_artifact", 9, 540),
        ("build_artifact", 10, 600),
        ("build_artifact", i64::MAX, 600),
        ("anything else", 3, 180),
    ] {
        assert_eq!(backoff(kind, attempts), Span::seconds(seconds), "{kind} {attempts}");
    }
}

#[test]
fn a_failed_job_comes_back_after_its_backoff_and_not_before() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let id = enqueue(&mut jobs, "build_artifact");
        for attempt in 1..=3 {
            assert_eq!(claimed(&mut jobs, "w-1").attempts, attempt);
            let run_at = scene.clock.now().plus(Span::seconds(60 * attempt));
            let error = format!("failure {attempt}");
            assert_eq!(jobs.fail(&id, "w-1", &error).unwrap(), FailedAttempt::Retry { run_at });
            let row = scene.row(&id, "status run_at locked_at locked_by last_error");
            assert_eq!(row, format!("retry_scheduled {} - - {error}", run_at.rfc3339()));
            scene.clock.advance(Span::seconds(60 * attempt - 1));
            assert_eq!(jobs.claim("w-1", &[]).unwrap(), None);
            scene.clock.advance(Span::seconds(1));
        }
    });
}

#[test]
fn the_last_attempt_that_fails_is_the_end() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let id = jobs.enqueue(&NewJob::of("run_tsa", json!({})).at_most(3)).unwrap().id().to_owned();
        for attempt in 1..=3 {
            claimed(&mut jobs, "w-1");
            let failed = jobs.fail(&id, "w-1", "still broken").unwrap();
            assert_eq!(failed == FailedAttempt::Dead, attempt == 3, "{attempt}: {failed:?}");
            scene.clock.advance(Span::minutes(10));
        }
        assert_eq!(
            scene.row(&id, "status attempts locked_at locked_by last_error"),
            "dead 3 - - still broken"
        );
        assert_eq!(jobs.claim("w-1", &[]).unwrap(), None);
        assert_eq!(jobs.fail(&id, "w-1", "again").unwrap(), FailedAttempt::NotOwner);
    });
}

#[test]
fn a_job_that_cannot_succeed_is_buried_at_its_first_attempt() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let id = enqueue(&mut jobs, "run_tsa");
        claimed(&mut jobs, "w-1");
        assert_eq!(jobs.bury(&id, "w-1", "precondition_failed: no document").unwrap(), Settled::Done);
        let row = scene.row(&id, "status attempts last_error");
        assert_eq!(row, "dead 1 precondition_failed: no document");
    });
}

#[test]
fn a_run_is_two_rows_and_a_crash_leaves_only_the_first() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let id = enqueue(&mut jobs, "run_tsa");
        claimed(&mut jobs, "w-1");
        scene.clock.advance(Span::seconds(2));
        jobs.fail(&id, "w-1", "no answer").unwrap();
        scene.clock.advance(Span::minutes(1));
        claimed(&mut jobs, "w-2");
        scene.clock.advance(Span::minutes(31));
        assert_eq!(jobs.reclaim_stale_jobs().unwrap().reclaimed_count, 1);
        claimed(&mut jobs, "w-3");
        scene.clock.advance(Span::millis(250));
        jobs.succeed(&id, "w-3").unwrap();
        let sql = format!(
        "SELECT attempt || ' ' || status || ' ' || worker_id || ' ' || coalesce(CAST(duration_ms AS text), '-')
           || ' ' || coalesce(error, '-') FROM executor_job_runs WHERE job_id = '{id}' ORDER BY created_at, id"
    );
        let runs: Vec<String> =
            scene.ground.rows(&sql).into_iter().map(|mut row| Cell::of(row.remove(0))).collect();
        let expected = [
            "1 started w-1 - -",
            "1 failed w-1 2000 no answer",
            "2 started w-2 - -",
            "4 started w-3 - -",
            "4 succeeded w-3 250 -",
        ];
        assert_eq!(runs, expected);
    });
}

#[test]
fn every_step_of_a_job_is_told() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let id = enqueue(&mut jobs, "run_tsa");
        claimed(&mut jobs, "w-1");
        scene.clock.advance(Span::seconds(15));
        jobs.heartbeat(&id, "w-1").unwrap();
        jobs.heartbeat(&id, "w-2").unwrap();
        jobs.succeed(&id, "w-1").unwrap();
        let (task_id, session_id) = (id, "w-1".to_owned());
        let ttl = 30 * 60_000;
        let expected = [
            Event::ClaimAcquired {
                task_id: task_id.clone(),
                session_id: session_id.clone(),
                expires_at: Some(NOW + ttl),
            },
            Event::ClaimExtended {
                task_id: task_id.clone(),
                session_id: session_id.clone(),
                expires_at: Some(NOW + 15_000 + ttl),
            },
            Event::ClaimReleased { task_id, session_id, reason: "succeeded".into(), held_for_ms: 15_000 },
        ];
        assert_eq!(*scene.events.lock().unwrap(), expected);
    });
}
