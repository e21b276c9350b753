//! The three tests of executor-jobs, and the edges of its rule.

use claimtop::worker::executor_jobs::{FailedAttempt, Reclaimed, Settled, Ttls};

use super::*;

fn reclaim(scene: &Scene) -> Reclaimed {
    scene.jobs().reclaim_stale_jobs().expect("a reclaim")
}

fn ids(list: &[claimtop::worker::executor_jobs::ReclaimedJob]) -> Vec<String> {
    list.iter().map(|job| name_of(&job.id)).collect()
}

#[test]
fn a_dead_workers_job_is_queued_again() {
    on_both(|scene| {
        scene.running("test-ttl-reclaim", "run_tsa", Span::minutes(35), None, 1);
        let done = reclaim(&scene);
        assert_eq!((done.reclaimed_count, done.dead_count, done.timestamp), (1, 0, scene.clock.now()));
        assert_eq!(ids(&done.reclaimed_jobs), ["test-ttl-reclaim"]);
        let row = scene.row("test-ttl-reclaim", "status attempts locked_at locked_by last_error");
        assert_eq!(row, "queued 2 - - RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 1. ");
    });
}

#[test]
fn no_job_runs_for_twice_its_time() {
    on_both(|scene| {
        for minutes in [10, 29, 31, 59, 61, 600] {
            scene.running(&format!("{minutes}"), "run_tsa", Span::minutes(minutes), None, 1);
        }
        let runaway = format!(
            "SELECT count(*) FROM executor_jobs WHERE status IN ('running', 'processing')
         AND type = 'run_tsa' AND locked_at < '{}'",
            scene.stamp(Span::minutes(-60))
        );
        assert_eq!(scene.number(&runaway), 2);
        assert_eq!(reclaim(&scene).reclaimed_count, 4);
        assert_eq!(scene.number(&runaway), 0);
    });
}

#[test]
fn after_the_last_attempt_it_is_dead_and_its_attempts_stay() {
    on_both(|scene| {
        scene.running("test-attempts", "run_tsa", Span::minutes(35), None, 10);
        let done = reclaim(&scene);
        assert_eq!((done.reclaimed_count, done.dead_count), (0, 1));
        assert_eq!(ids(&done.dead_jobs), ["test-attempts"]);
        let row = scene.row("test-attempts", "status attempts locked_at locked_by last_error");
        let error = "RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 10. Max attempts reached (10). ";
        assert_eq!(row, format!("dead 10 - - {error}"));
    });
}

#[test]
fn the_attempts_decide_by_the_documents_threshold() {
    for (attempts, status, after) in
        [(0, "queued", 1), (8, "queued", 9), (9, "queued", 10), (10, "dead", 10), (11, "dead", 11)]
    {
        on_both(|scene| {
            scene.running("job", "run_tsa", Span::minutes(35), None, attempts);
            reclaim(&scene);
            assert_eq!(scene.row("job", "status attempts"), format!("{status} {after}"));
        });
    }
}

#[test]
fn exactly_at_its_time_a_job_is_still_its_workers() {
    on_both(|scene| {
        for (number, (kind, ttl)) in Ttls::default().iter().enumerate() {
            scene.running(&format!("{number} at"), kind, ttl, None, 1);
            scene.running(&format!("{number} after"), kind, ttl.plus_a_millisecond(), None, 1);
        }
        let done = reclaim(&scene);
        assert_eq!(done.reclaimed_count, 6);
        assert!(ids(&done.reclaimed_jobs).iter().all(|id| id.ends_with("after")), "{done:?}");
        scene.clock.advance(Span::millis(1));
        assert_eq!(reclaim(&scene).reclaimed_count, 6);
    });
}

trait Later {
    fn plus_a_millisecond(self) -> Span;
}

impl Later for Span {
    fn plus_a_millisecond(self) -> Span {
        Span::micros(self.as_micros() + 1_000)
    }
}

#[test]
fn both_the_lock_and_the_heartbeat_must_be_old() {
    let minutes = Span::minutes;
    for (locked, beat, reclaimed) in [
        (minutes(90), Some(minutes(1)), 0),
        // A heartbeat from before the claim: `COALESCE(heartbeat_at, locked_at)` would call it stale.
        (minutes(1), Some(minutes(90)), 0),
        (minutes(90), Some(minutes(30)), 0),
        (minutes(90), Some(minutes(31)), 1),
        (minutes(31), Some(minutes(90)), 1),
        (minutes(31), None, 1),
    ] {
        on_both(|scene| {
            scene.running("job", "run_tsa", locked, beat, 1);
            assert_eq!(reclaim(&scene).reclaimed_count, reclaimed, "{locked} {beat:?}");
        });
    }
}

#[test]
fn what_has_no_ttl_no_lock_or_no_readable_time_is_never_reclaimed() {
    let scene = Scene::new();
    scene.running("unlisted", "generate_signature_evidence", Span::minutes(100_000), None, 1);
    for id in ["no lock", "no time", "no beat"] {
        scene.running(id, "run_tsa", Span::minutes(100_000), None, 1);
    }
    for (name, change) in [
        ("no lock", "locked_at = NULL"),
        ("no time", "locked_at = 'yesterday'"),
        ("no beat", "heartbeat_at = x'ff'"),
    ] {
        scene.run(&format!("UPDATE executor_jobs SET {change} WHERE id = '{}'", uuid_of(name)));
    }
    assert_eq!((reclaim(&scene).reclaimed_count, reclaim(&scene).dead_count), (0, 0));
    // A type can be given one.
    let mut jobs = scene.jobs_with(&[("generate_signature_evidence", Span::minutes(7))]);
    let done = jobs.reclaim_stale_jobs().unwrap();
    assert_eq!(ids(&done.reclaimed_jobs), ["unlisted"]);
    assert_eq!(done.reclaimed_jobs[0].ttl_minutes, 7);
}

#[test]
fn times_in_another_programs_form_are_the_same_instants() {
    on_both(|scene| {
        // As text the first is older than every time of its day, the second younger than none.
        for (id, locked_at) in [
            ("fresh", "2026-11-15 11:59:00+00"),
            ("east", "2026-11-15T13:59:00+02:00"),
            ("stale", "2026-11-15T13:00:00+02:00"),
        ] {
            scene.running(id, "run_tsa", Span::ZERO, None, 1);
            let id = uuid_of(id);
            scene.run(&format!("UPDATE executor_jobs SET locked_at = '{locked_at}' WHERE id = '{id}'"));
        }
        assert_eq!(ids(&reclaim(&scene).reclaimed_jobs), ["stale"]);
    });
}

#[test]
fn only_running_and_processing_jobs_are_reclaimed() {
    on_both(|scene| {
        for status in ["queued", "running", "processing", "succeeded", "failed", "retry_scheduled", "dead"] {
            scene.running(status, "run_tsa", Span::minutes(35), None, 1);
            scene.run(&format!(
                "UPDATE executor_jobs SET status = '{status}' WHERE id = '{}'",
                uuid_of(status)
            ));
        }
        let done = reclaim(&scene);
        let mut taken = ids(&done.reclaimed_jobs);
        taken.sort_unstable();
        assert_eq!(taken, ["processing", "running"]);
    });
}

#[test]
fn a_second_reclaim_finds_nothing() {
    on_both(|scene| {
        for (id, attempts) in [("again", 1), ("over", 10)] {
            scene.running(id, "run_tsa", Span::minutes(35), None, attempts);
        }
        reclaim(&scene);
        let columns = "status attempts run_at locked_at locked_by last_error updated_at heartbeat_at";
        let before = [scene.row("again", columns), scene.row("over", columns)];
        scene.clock.advance(Span::minutes(1));
        let second = reclaim(&scene);
        assert_eq!((second.reclaimed_count, second.dead_count), (0, 0));
        assert!(second.reclaimed_jobs.is_empty() && second.dead_jobs.is_empty());
        assert_eq!([scene.row("again", columns), scene.row("over", columns)], before);
    });
}

#[test]
fn a_worker_that_lost_its_job_is_told_so() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let id = enqueue(&mut jobs, "protect_document_v2");
        claimed(&mut jobs, "w-1");
        scene.clock.advance(Span::minutes(6));
        reclaim(&scene);
        claimed(&mut jobs, "w-2");
        assert_eq!(jobs.heartbeat(&id, "w-1").unwrap(), Settled::NotOwner);
        assert_eq!(jobs.succeed(&id, "w-1").unwrap(), Settled::NotOwner);
        assert_eq!(jobs.fail(&id, "w-1", "late").unwrap(), FailedAttempt::NotOwner);
        assert_eq!(scene.row(&id, "status locked_by attempts"), "running w-2 3");
    });
}

#[test]
fn a_worker_that_beats_is_never_reclaimed() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let id = enqueue(&mut jobs, "protect_document_v2");
        claimed(&mut jobs, "w-1");
        for _ in 0..20 {
            scene.clock.advance(Span::minutes(5));
            assert_eq!(reclaim(&scene).reclaimed_count, 0);
            assert_eq!(jobs.heartbeat(&id, "w-1").unwrap(), Settled::Done);
        }
        scene.clock.advance(Span::millis(5 * 60_000 + 1));
        assert_eq!(reclaim(&scene).reclaimed_count, 1);
    });
}

#[test]
fn a_job_whose_workers_always_crash_is_dead_after_six_claims() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let id = enqueue(&mut jobs, "run_tsa");
        let mut claims = 0;
        while let Some(job) = jobs.claim("w-1", &[]).unwrap() {
            claims += 1;
            assert_eq!(job.attempts, 2 * claims - 1);
            scene.clock.advance(Span::minutes(31));
            reclaim(&scene);
        }
        assert_eq!((claims, scene.row(&id, "status attempts")), (6, "dead 11".into()));
        // Every reclaim has left its prefix: counted, they are the reclaims.
        assert_eq!(scene.row(&id, "last_error").matches("RECLAIMED_TTL:").count(), 6);
    });
}

#[test]
fn the_monitoring_views_follow() {
    let scene = Scene::at(Clock::system());
    for (id, kind, minutes) in [
        ("ok", "run_tsa", 10),
        ("warning", "run_tsa", 25),
        ("stale", "run_tsa", 40),
        ("runaway", "run_tsa", 61),
    ] {
        scene.running(id, kind, Span::minutes(minutes), None, 1);
    }
    scene.running("unlisted", "other", Span::minutes(600), None, 1);
    let column = |sql: &str| -> Vec<String> {
        let mut statement = scene.raw().prepare(sql).unwrap();
        let ids = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        ids.map(|id| name_of(&id.unwrap())).collect()
    };
    let health = |status: &str| {
        column(&format!("SELECT id FROM executor_jobs_stale_monitor WHERE health_status = '{status}'"))
    };
    assert_eq!(
        ["STALE", "WARNING", "OK", "UNKNOWN"].map(health),
        [vec!["runaway", "stale"], vec!["warning"], vec!["ok"], vec!["unlisted"]]
    );
    assert_eq!(column("SELECT id FROM executor_jobs_stale_validation"), ["runaway"]);
    reclaim(&scene);
    let mut history = column("SELECT id FROM executor_jobs_reclaim_history");
    history.sort();
    assert_eq!(history, ["runaway", "stale"]);
}

#[test]
fn the_result_reads_as_the_documents_json() {
    on_both(|scene| {
        scene.running("job", "build_artifact", Span::minutes(16), None, 1);
        let result = serde_json::to_value(reclaim(&scene)).unwrap();
        let expected = json!({
            "reclaimed_count": 1, "dead_count": 0, "timestamp": scene.stamp(Span::ZERO),
            "reclaimed_jobs": [{"id": uuid_of("job"), "type": "build_artifact", "attempts": 2, "max_attempts": 10,
                                "ttl_minutes": 15, "locked_by": "w-dead"}],
            "dead_jobs": [],
        });
        assert_eq!(result, expected);
    });
}
