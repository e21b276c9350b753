//! Completing and failing: who may, when, and what becomes of the task.

use super::*;
use claimtop::worker::task_queue::{Completion, FailureOutcome, Retry, SettleRefusal, Status};
use serde_json::json;

#[test]
fn a_completed_task_keeps_its_result_and_counts_its_attempt() {
    on_both(|mut world| {
        let task = world.task(0);
        world.claim("worker-01");
        assert_eq!(world.queue.task(task).unwrap().unwrap().attempts, 0, "a claim is no attempt");
        world.later(7);
        world.events();
        let done = world.queue.complete(&id("worker-01"), task, &json!({"views": 3})).unwrap();
        assert_eq!(done, Completion::Completed { attempts: 1 });
        let row = world.queue.task(task).unwrap().unwrap();
        assert_eq!((row.status, row.worker_id.as_deref()), (Status::Completed, Some("worker-01")));
        let result: String = world.one("SELECT result FROM tasks");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&result).unwrap(), json!({"views": 3}));
        assert_eq!(world.ground.time("SELECT completed_at FROM tasks"), world.clock.now());
        assert_eq!(world.logs(task)[1..], [log("claimed", "worker-01"), log("completed", "worker-01")]);
        let released = Event::ClaimReleased {
            task_id: task.to_string(),
            session_id: "worker-01".into(),
            reason: "completed".into(),
            held_for_ms: 7_000,
        };
        assert_eq!(world.events(), [released]);
    });
}

#[test]
fn a_word_about_a_task_counts_only_from_its_worker_while_it_is_claimed() {
    on_both(|mut world| {
        let task = world.task(0);
        let words = |world: &mut World, worker: &str, task: i64| {
            let worker = id(worker);
            let Completion::Refused(one) = world.queue.complete(&worker, task, &json!(1)).unwrap() else {
                panic!("completed");
            };
            let FailureOutcome::Refused(two) =
                world.queue.fail(&worker, task, "e", Retry::Worthwhile).unwrap()
            else {
                panic!("failed");
            };
            assert_eq!(one, two);
            one
        };
        assert_eq!(words(&mut world, "worker-01", 99), SettleRefusal::NotFound);
        let pending = SettleRefusal::WrongState { status: Status::Pending };
        assert_eq!(words(&mut world, "worker-01", task), pending);
        assert_eq!(pending.to_string(), "the task is pending, not claimed");
        world.claim("worker-01");
        let others = SettleRefusal::OtherWorkers { by: "worker-01".into() };
        assert_eq!(words(&mut world, "worker-02", task), others);
        // Case matters.
        assert_eq!(words(&mut world, "Worker-01", task), others);
        world.queue.complete(&id("worker-01"), task, &json!(1)).unwrap();
        let over = SettleRefusal::WrongState { status: Status::Completed };
        assert_eq!(words(&mut world, "worker-01", task), over);
        assert_eq!(words(&mut world, "worker-02", task), others);
        assert_eq!(world.logs(task).len(), 3, "a refusal leaves no trace");
        assert_eq!(world.one::<i64>("SELECT attempts FROM tasks"), 1);
    });
}

#[test]
fn a_failing_task_is_retried_until_its_attempts_are_used_up() {
    on_both(|mut world| {
        let task = world.task(0);
        for (attempt, expected) in [
            (1, FailureOutcome::Retried { attempts: 1 }),
            (2, FailureOutcome::Retried { attempts: 2 }),
            (3, FailureOutcome::Failed { attempts: 3 }),
        ] {
            world.claim("worker-01");
            let error = format!("timeout {attempt}");
            assert_eq!(
                world.queue.fail(&id("worker-01"), task, &error, Retry::Worthwhile).unwrap(),
                expected
            );
            assert_eq!(world.one::<String>("SELECT error_message FROM tasks"), error);
            if attempt < 3 {
                let row = world.queue.task(task).unwrap().unwrap();
                assert_eq!((row.status, row.worker_id, row.claimed_at), (Status::Pending, None, None));
                assert!(world.one::<Option<String>>("SELECT completed_at FROM tasks").is_none());
            }
        }
        assert_eq!(world.queue.claim(&id("worker-01"), &TaskFilter::default()).unwrap(), TaskClaim::Nothing);
        let events: Vec<String> = world.logs(task).into_iter().map(|(event, _)| event).collect();
        assert_eq!(events, ["created", "claimed", "retried", "claimed", "retried", "claimed", "failed"]);
    });
}

#[test]
fn a_failure_that_will_not_pass_is_final_at_once() {
    on_both(|mut world| {
        let task = world.task(0);
        world.claim("worker-01");
        let failed = world.queue.fail(&id("worker-01"), task, "no such video", Retry::Pointless).unwrap();
        assert_eq!(failed, FailureOutcome::Failed { attempts: 1 });
        assert_eq!(world.queue.task(task).unwrap().unwrap().status, Status::Failed);
        let only = world.add(&NewTask { max_attempts: 1, ..NewTask::of(YOUTUBE) });
        world.claim("worker-01");
        let failed = world.queue.fail(&id("worker-01"), only, "e", Retry::Worthwhile).unwrap();
        assert_eq!(failed, FailureOutcome::Failed { attempts: 1 });
    });
}

#[test]
fn success_after_a_retry_clears_the_error() {
    on_both(|mut world| {
        let task = world.task(0);
        world.claim("worker-01");
        world.queue.fail(&id("worker-01"), task, "'; DROP TABLE tasks; --", Retry::Worthwhile).unwrap();
        assert_eq!(world.claim("worker-02").attempts, 1);
        let done = world.queue.complete(&id("worker-02"), task, &json!(null)).unwrap();
        assert_eq!(done, Completion::Completed { attempts: 2 });
        assert!(world.one::<Option<String>>("SELECT error_message FROM tasks").is_none());
    });
}
