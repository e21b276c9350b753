//! Putting jobs into the queue and taking them out.

use std::collections::BTreeSet;
use std::thread;

use claimtop::worker::WorkerError;
use claimtop::worker::executor_jobs::Settled;

use super::*;

#[test]
fn a_dedupe_key_makes_two_jobs_one_even_after_it_is_done() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let new = NewJob::of("run_tsa", json!({"document": 7})).deduped_by("tsa-7");
        let Enqueued::New(id) = jobs.enqueue(&new).unwrap() else { panic!("it is the first") };
        assert_eq!(jobs.enqueue(&new).unwrap(), Enqueued::Duplicate(id.clone()));
        let other = NewJob::of("build_artifact", json!({})).deduped_by("tsa-7");
        assert_eq!(jobs.enqueue(&other).unwrap().id(), id);
        claimed(&mut jobs, "w-1");
        assert_eq!(jobs.enqueue(&new).unwrap(), Enqueued::Duplicate(id.clone()));
        jobs.succeed(&id, "w-1").unwrap();
        assert_eq!(jobs.enqueue(&new).unwrap(), Enqueued::Duplicate(id));
        assert_eq!(scene.number("SELECT count(*) FROM executor_jobs"), 1);
    });
}

#[test]
fn jobs_without_a_key_are_all_different() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let ids: BTreeSet<String> = (0..5).map(|_| enqueue(&mut jobs, "run_tsa")).collect();
        assert_eq!(ids.len(), 5);
    });
}

#[test]
fn a_claim_counts_an_attempt_and_stamps_lock_and_heartbeat() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let new = NewJob::of("run_tsa", json!({"document": 7})).deduped_by("tsa-7").at_most(4);
        let id = jobs.enqueue(&new).unwrap().id().to_owned();
        scene.clock.advance(Span::seconds(3));
        let job = claimed(&mut jobs, "w-1");
        assert_eq!(
            (job.id.as_str(), job.kind.as_str(), job.payload),
            (&*id, "run_tsa", json!({"document": 7}))
        );
        assert_eq!((job.attempts, job.max_attempts, job.last_error), (1, 4, None));
        assert_eq!((job.dedupe_key.as_deref(), job.claimed_at), (Some("tsa-7"), scene.clock.now()));
        let now = scene.stamp(Span::ZERO);
        let row = scene.row(&id, "status attempts locked_by locked_at heartbeat_at updated_at");
        assert_eq!(row, format!("running 1 w-1 {now} {now} {now}"));
    });
}

#[test]
fn the_job_that_has_been_due_longest_comes_first_whether_new_or_tried() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let now = scene.clock.now();
        let put = |jobs: &mut Jobs, seconds: i64| {
            let new = NewJob::of("run_tsa", json!({})).not_before(now.plus(Span::seconds(seconds)));
            jobs.enqueue(&new).unwrap().id().to_owned()
        };
        let (late, early, middle) = (put(&mut jobs, 30), put(&mut jobs, 10), put(&mut jobs, 20));
        scene.run(&format!("UPDATE executor_jobs SET status = 'retry_scheduled' WHERE id = '{middle}'"));
        scene.clock.advance(Span::seconds(40));
        let order: Vec<String> = (0..3).map(|_| claimed(&mut jobs, "w-1").id).collect();
        assert_eq!(order, [early, middle, late]);
        assert_eq!(jobs.claim("w-1", &[]).unwrap(), None);
    });
}

#[test]
fn a_job_is_due_at_its_time_and_not_a_millisecond_before() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let due = scene.clock.now().plus(Span::seconds(60));
        jobs.enqueue(&NewJob::of("run_tsa", json!({})).not_before(due)).unwrap();
        scene.clock.advance(Span::millis(59_999));
        assert_eq!(jobs.claim("w-1", &[]).unwrap(), None);
        scene.clock.advance(Span::millis(1));
        assert!(jobs.claim("w-1", &[]).unwrap().is_some());
    });
}

#[test]
fn a_worker_gets_only_the_types_it_names() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        enqueue(&mut jobs, "run_tsa");
        let artifact = enqueue(&mut jobs, "build_artifact");
        assert_eq!(jobs.claim("w-1", &["protect_document_v2"]).unwrap(), None);
        let job = jobs.claim("w-1", &["protect_document_v2", "build_artifact"]).unwrap().unwrap();
        assert_eq!(job.id, artifact);
        assert_eq!(jobs.claim("w-1", &["build_artifact"]).unwrap(), None);
        assert_eq!(jobs.claim("w-1", &[]).unwrap().unwrap().kind, "run_tsa");
    });
}

#[test]
fn what_makes_no_sense_is_refused_with_a_sentence() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let refused = [
            jobs.enqueue(&NewJob::of(" ", json!({}))).unwrap_err(),
            jobs.enqueue(&NewJob::of("run_tsa", json!({})).at_most(0)).unwrap_err(),
            jobs.claim("", &[]).unwrap_err(),
        ];
        for error in refused {
            assert!(matches!(error, WorkerError::Invalid(_)), "{error}");
        }
        assert_eq!(scene.number("SELECT count(*) FROM executor_jobs"), 0);
    });
}

#[test]
fn eight_workers_take_every_job_exactly_once() {
    on_both(|scene| {
        let mut jobs = scene.jobs();
        let all: BTreeSet<String> = (0..80).map(|_| enqueue(&mut jobs, "run_tsa")).collect();
        let workers: Vec<Jobs> = (0..8).map(|_| scene.jobs()).collect();
        let taken: Vec<String> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .zip(workers)
                .map(|(number, mut jobs)| {
                    scope.spawn(move || {
                        let worker = format!("w-{number}");
                        let mut mine = Vec::new();
                        while let Some(job) = jobs.claim(&worker, &[]).unwrap() {
                            assert_eq!(jobs.succeed(&job.id, &worker).unwrap(), Settled::Done);
                            mine.push(job.id);
                        }
                        mine
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(taken.len(), 80);
        assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), all);
        assert_eq!(scene.number("SELECT count(*) FROM executor_jobs WHERE status = 'succeeded'"), 80);
        assert_eq!(scene.number("SELECT count(*) FROM executor_job_runs"), 160);
    });
}

#[test]
fn a_claim_reads_the_queue_by_its_index() {
    let scene = Scene::new();
    let sql = "EXPLAIN QUERY PLAN SELECT id, run_at, created_at FROM executor_jobs
               WHERE status = 'queued' AND run_at <= '2026' ORDER BY run_at, created_at, id LIMIT 1";
    let mut statement = scene.raw().prepare(sql).unwrap();
    let plan: Vec<String> =
        statement.query_map([], |row| row.get(3)).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(plan.len(), 1, "{plan:?}");
    assert!(plan[0].contains("executor_jobs_claim_idx"), "{plan:?}");
}
