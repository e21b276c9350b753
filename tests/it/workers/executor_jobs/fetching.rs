//! Reclaim before fetching work, as the wrappers of executor-jobs do.

use super::*;

/// A job that has been due for long, and whose worker died 35 minutes ago.
fn stuck(scene: &Scene) {
    scene.running("stuck", "run_tsa", Span::minutes(35), None, 1);
    let due = scene.stamp(Span::minutes(-40));
    scene.run(&format!("UPDATE executor_jobs SET run_at = '{due}' WHERE id = '{}'", uuid_of("stuck")));
}

#[test]
fn a_dead_workers_job_is_reclaimed_by_the_next_fetch_and_handed_out() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        stuck(&scene);
        let fetched = jobs.fetch("w-new", &["run_tsa"]).expect("an answer");
        assert_eq!(fetched.reclaimed.expect("a reclaim").reclaimed_count, 1);
        assert_eq!(fetched.job.expect("a job").id, uuid_of("stuck"));
        assert_eq!(scene.row(&uuid_of("stuck"), "status locked_by attempts"), "running w-new 3");
        let nothing = jobs.fetch("w-new", &[]).expect("an answer");
        assert!(nothing.job.is_none() && nothing.reclaimed.expect("a reclaim").reclaimed_count == 0);
    });
}

#[test]
fn a_reclaim_that_fails_does_not_keep_the_worker_from_its_job() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let waiting = enqueue(&mut jobs, "build_artifact");
        stuck(&scene);
        // Whatever a reclaim writes is refused.
        let (broken, mended) = match scene.ground.engine() {
            Engine::Sqlite => (
                "CREATE TRIGGER broken BEFORE UPDATE ON executor_jobs WHEN new.last_error LIKE 'RECLAIMED%'
                 BEGIN SELECT raise(ABORT, 'broken'); END",
                "DROP TRIGGER broken",
            ),
            Engine::Postgres => (
                "ALTER TABLE executor_jobs ADD CONSTRAINT broken CHECK (last_error NOT LIKE 'RECLAIMED%')",
                "ALTER TABLE executor_jobs DROP CONSTRAINT broken",
            ),
        };
        scene.run(broken);
        let fetched = jobs.fetch("w-new", &[]).expect("an answer");
        assert!(fetched.reclaimed.is_err());
        assert_eq!(fetched.job.expect("a job").id, waiting);
        scene.run(mended);
        assert_eq!(jobs.fetch("w-new", &[]).expect("an answer").job.expect("a job").id, uuid_of("stuck"));
    });
}
