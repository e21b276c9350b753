//! Whose clock wrote the times decides how often a claim must be seen before it is taken.

use super::two_sightings::{Going, NO_GAP};
use super::*;
use crate::support::engine::{Engine, engine};
use crate::support::uuid_of;

fn stamp(seconds_ago: i64) -> String {
    let at = chrono::Utc::now() - chrono::TimeDelta::seconds(seconds_ago);
    at.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// A running job of type run_tsa, which may take thirty minutes without a sign of life.
fn job(scene: &Scene, name: &str, minutes_ago: i64) {
    scene.database.run(
        "INSERT INTO executor_jobs (id, dedupe_key, type, status, locked_at, locked_by, attempts)
         VALUES (?1, ?1, 'run_tsa', 'running', ?2, 'worker', 1)",
        (uuid_of(name), stamp(minutes_ago * 60)),
    );
}

/// What one look takes of a job that is late: on a server it was stamped by the server's own clock, in a file
/// by whichever process wrote it.
fn taken_by_one_look() -> i64 {
    match engine() {
        Engine::Postgres => 1,
        Engine::Sqlite => 0,
    }
}

#[test]
fn one_sighting_is_enough_where_the_database_stamps_the_times() {
    on_both(|| {
        let scene = Scene::of(System::ExecutorJobs);
        job(&scene, "late", 31);
        let summary = scene.sweep(&["--sighted"]).summary(0);
        assert_eq!(summary["applied"], taken_by_one_look(), "{summary:#}");
        assert_eq!(summary["watching"], 1 - taken_by_one_look(), "{summary:#}");
    });
}

#[test]
fn the_same_holds_for_finalization() {
    on_both(|| {
        let scene = Scene::of(System::Finalization);
        let written = chrono::Utc::now() - chrono::TimeDelta::minutes(10);
        let written = written.format("%Y-%m-%d %H:%M:%S%.3f").to_string();
        scene.database.run(
            "INSERT INTO tasker_tasks (task_uuid, requested_at, created_at, updated_at, claimed_by, claimed_at,
             claim_timeout_seconds) VALUES (?1, ?2, ?2, ?2, 'p', ?2, 60)",
            (uuid_of("late"), written),
        );
        assert_eq!(scene.sweep(&["--sighted"]).summary(0)["applied"], taken_by_one_look());
    });
}

#[test]
fn times_of_workers_still_need_two() {
    on_both(|| {
        let scene = Scene::new();
        scene.expired(1);
        let summary = scene.sweep(&["--sighted"]).summary(0);
        assert_eq!((&summary["applied"], &summary["watching"]), (&0.into(), &1.into()));
    });
}

/// Executor-jobs, test 1: the job of a dead worker is queued again less than 30 s after its time is up.
#[test]
fn executor_jobs_a_continuous_sweep_takes_a_job_at_the_first_look_after_its_ttl() {
    on_both(|| {
        if engine() == Engine::Sqlite {
            return;
        }
        let scene = Scene::of(System::ExecutorJobs);
        scene.config(&format!(
            "[source.here]\nat = {:?}\n[source.here.board.job.kind.run_tsa]\nttl = \"3s\"\n",
            scene.database.source()
        ));
        job(&scene, "dead", 0);
        let mut going = Going::start(&scene, NO_GAP);
        // It is never watched: the first look that finds it late takes it.
        let found = (0..50).map(|_| going.summary());
        let found = found.into_iter().find(|summary| summary["watching"] != 0 || summary["applied"] != 0);
        let found = found.expect("it is found");
        assert_eq!((&found["applied"], &found["watching"]), (&1.into(), &0.into()), "{found:#}");
        assert_eq!(going.end(), 0);
    });
}

#[test]
fn a_time_from_the_future_shows_that_somebody_else_stamps_as_well() {
    on_both(|| {
        let scene = Scene::of(System::ExecutorJobs);
        job(&scene, "late", 31);
        job(&scene, "ahead", -5);
        let summary = scene.sweep(&["--sighted"]).summary(0);
        assert_eq!((&summary["applied"], &summary["watching"]), (&0.into(), &1.into()), "{summary:#}");
    });
}

#[test]
fn executor_jobs_a_job_that_is_late_when_it_appears_is_taken_in_the_next_pass() {
    on_both(|| {
        let scene = Scene::of(System::ExecutorJobs);
        let mut going = Going::start(&scene, NO_GAP);
        assert_eq!(going.summary()["watching"], 0);
        // As the specification writes it: a row that is 35 minutes old, while the sweep runs.
        job(&scene, "test-ttl-reclaim", 35);
        let all = (0..50).map(|_| going.summary());
        let seen = all.into_iter().find(|summary| summary["watching"] != 0 || summary["applied"] != 0);
        // A file has no clock of its own: there it must stand still first.
        let expected = if engine() == Engine::Sqlite { (0, 1) } else { (1, 0) };
        let seen = seen.expect("it is seen");
        assert_eq!(
            (&seen["applied"], &seen["watching"]),
            (&expected.0.into(), &expected.1.into()),
            "{seen:#}"
        );
        assert_eq!(going.end(), 0);
    });
}
