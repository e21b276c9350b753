//! The tests of the specifications, end to end with the program itself.

use super::*;

fn jobs() -> Scene {
    Scene::of(System::ExecutorJobs)
}

/// The rows of executor-jobs: a job of type run_tsa, locked so many minutes ago.
fn job(scene: &Scene, name: &str, minutes: i64, attempts: i64) {
    let at = chrono::Utc::now() - chrono::TimeDelta::minutes(minutes);
    scene.database.run(
        "INSERT INTO executor_jobs (id, dedupe_key, type, status, locked_at, locked_by, attempts)
         VALUES (?1, ?2, 'run_tsa', 'running', ?3, 'test-worker-dead', ?4)",
        (uuid::Uuid::now_v7().to_string(), name, at.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(), attempts),
    );
}

#[test]
fn executor_jobs_a_dead_workers_job_is_queued_by_the_next_sweep() {
    on_both(|| {
        let scene = jobs();
        job(&scene, "test-ttl-reclaim", 35, 1);
        scene.sweep(&[]).summary(0);
        let row = "SELECT status || ' ' || attempts || ' ' || last_error FROM executor_jobs";
        let is = scene.text(row);
        assert!(is.starts_with("queued 2 RECLAIMED_TTL: Exceeded TTL (30 min)"), "{is}");
    });
}

#[test]
fn executor_jobs_no_job_is_left_beyond_twice_its_ttl() {
    on_both(|| {
        let scene = jobs();
        for (number, minutes) in [5, 29, 31, 61, 600, 10_000].into_iter().enumerate() {
            job(&scene, &format!("job-{number}"), minutes, 0);
        }
        scene.sweep(&[]).summary(0);
        assert_eq!(scene.number("SELECT count(*) FROM executor_jobs_stale_validation"), 0);
        assert_eq!(scene.number("SELECT count(*) FROM executor_jobs WHERE status = 'running'"), 2);
    });
}

#[test]
fn executor_jobs_a_job_without_attempts_left_is_dead() {
    on_both(|| {
        let scene = jobs();
        job(&scene, "test-max-attempts", 35, 10);
        scene.sweep(&[]).summary(0);
        assert_eq!(scene.text("SELECT status || attempts FROM executor_jobs"), "dead10");
    });
}

#[test]
fn coordination_the_timer_cleans_up_expired_claims_and_then_orphaned_ones() {
    on_both(|| {
        let scene = Scene::new();
        scene.session("session-abc", SECOND);
        scene.session("stale-session", 11 * MINUTE);
        scene.task("task-active", "session-abc", 20 * MINUTE, SECOND);
        scene.task("task-1", "session-abc", -SECOND, SECOND);
        scene.task("task-2", "dead-session", 20 * MINUTE, SECOND);
        scene.task("task-3", "stale-session", 20 * MINUTE, 11 * MINUTE);
        let run = scene.sweep(&[]);
        assert_eq!(run.tasks("claim:expired"), ["task-1"]);
        let mut orphaned = run.tasks("claim:orphaned");
        orphaned.sort();
        assert_eq!(orphaned, ["task-2", "task-3"]);
        let lines = run.lines();
        let cleanups: Vec<(&Json, &Json)> = lines
            .iter()
            .filter(|line| line["event"] == "claims:cleanup")
            .map(|line| (&line["type"], &line["count"]))
            .collect();
        assert_eq!(cleanups, [(&"expired".into(), &1.into()), (&"orphaned".into(), &2.into())]);
        let stale = lines.iter().find(|line| line["reason"] == "session_stale").expect("an event");
        assert!(stale["staleForMs"].as_i64().is_some_and(|silent| silent >= 11 * MINUTE), "{stale}");
        assert_eq!(scene.held(), ["task-active"]);
    });
}

#[test]
fn coordination_a_session_that_is_deregistered_leaves_no_claim_and_no_lock() {
    on_both(|| {
        let scene = Scene::new();
        scene.session("session-abc", 11 * MINUTE);
        scene.session("session-def", SECOND);
        for (task, session) in
            [("task-1", "session-abc"), ("task-2", "session-abc"), ("task-3", "session-def")]
        {
            scene.task(task, session, 20 * MINUTE, 11 * MINUTE);
        }
        scene.database.run(
            "INSERT INTO locks (resource, session_id, acquired_at, expires_at)
             VALUES ('file', 'session-abc', ?1, ?2)",
            (now() - 100 * MINUTE, now() + MINUTE),
        );
        let run = scene.run(&["release", "DB", "--session", "session-abc", "--yes", "--json"]);
        assert_eq!((run.code, run.lines().len()), (0, 5), "{run:#?}");
        assert_eq!(
            (scene.held(), scene.number("SELECT count(*) FROM locks")),
            (vec!["task-3".to_owned()], 0)
        );
        assert_eq!(scene.text("SELECT id FROM sessions"), "session-def");
        // The timer finds nothing left to do for it.
        assert_eq!(scene.sweep(&[]).summary(0)["applied"], 0);
    });
}

#[test]
fn coordination_sessions_that_never_beat_although_their_claims_do_lose_nothing() {
    on_both(|| {
        let scene = Scene::new();
        for number in 0..5 {
            let session = format!("session-{number}");
            scene.session(&session, 170 * MINUTE);
            scene.task(&format!("task-{number}"), &session, 25 * MINUTE, 5 * SECOND);
            scene.database.run(
                "INSERT INTO locks (resource, session_id, acquired_at, expires_at) VALUES (?1, ?1, ?2, ?3)",
                (&session, now() - 100 * MINUTE, now() + MINUTE),
            );
        }
        assert_eq!(scene.sweep(&[]).summary(0)["applied"], 0);
        assert_eq!((scene.held().len(), scene.number("SELECT count(*) FROM locks")), (5, 5));
    });
}

#[test]
fn the_shipped_timer_and_cron_line_use_sightings_and_options_that_exist() {
    for text in [
        include_str!("../../../assets/systemd/claimtop-sweep.service"),
        include_str!("../../../assets/cron/claimtop-sweep"),
    ] {
        let (_, line) = text.rsplit_once("/usr/bin/claimtop ").expect("a command");
        let words: Vec<&str> = line.lines().next().expect("a line").split(' ').collect();
        let words: Vec<&str> = words.into_iter().take_while(|word| *word != "prod").collect();
        assert!(words.contains(&"--once") && words.contains(&"--sighted"), "{words:?}");
        let scene = Scene::new();
        let mut arguments = words;
        arguments.push("DB");
        assert_eq!(scene.run(&arguments).code, 0);
    }
}
