//! The registry: who reports in, and what becomes of those who do not.

use super::*;
use claimtop::worker::task_queue::{
    Completion, HeartbeatInfo, RegisteredWorker, STALE_AFTER, SettleRefusal, StaleWorker, Status,
    WorkerPresence,
};
use serde_json::json;

fn vitals() -> HeartbeatInfo {
    HeartbeatInfo { hostname: "host-a".into(), pid: 4312, version: "1.2".into(), tasks_processed: 7 }
}

fn beat(world: &mut World, worker: &str) {
    world.queue.heartbeat(&id(worker), &vitals()).unwrap();
}

#[test]
fn a_heartbeat_tells_who_is_working_where() {
    on_both(|mut world| {
        beat(&mut world, "worker-01");
        world.later(30);
        beat(&mut world, "worker-01");
        let metadata: String = world.one("SELECT metadata FROM worker_heartbeats");
        let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
        assert_eq!(
            metadata,
            json!({"hostname": "host-a", "pid": 4312, "version": "1.2", "tasks_processed": 7})
        );
        assert_eq!(world.one::<i64>("SELECT count(*) FROM worker_heartbeats"), 1);
        assert_eq!(world.ground.time("SELECT last_seen_at FROM worker_heartbeats"), world.clock.now());
        let session_id = "worker-01".to_owned();
        assert_eq!(
            world.events(),
            [
                Event::SessionRegistered { session_id: session_id.clone(), pid: Some(4312), timestamp: NOW },
                Event::SessionHeartbeat { session_id, timestamp: NOW + 30_000 },
            ]
        );
        let here = HeartbeatInfo::here("1", 0);
        assert_eq!(here.pid, std::process::id());
        assert!(!here.hostname.is_empty());
    });
}

#[test]
fn a_worker_is_active_then_quiet_then_stale() {
    on_both(|mut world| {
        beat(&mut world, "worker-01");
        let mut seen = Vec::new();
        for wait in [0, 60, 1, 239, 1] {
            world.later(wait);
            let [RegisteredWorker { presence, .. }] = world.queue.workers().unwrap()[..] else {
                panic!("one worker")
            };
            seen.push(presence);
        }
        use WorkerPresence::{Active, Quiet, Stale};
        assert_eq!(seen, [Active, Active, Quiet, Quiet, Stale]);
        world.queue.check_stale_workers(STALE_AFTER).unwrap();
        beat(&mut world, "worker-01");
        assert_eq!(world.queue.workers().unwrap()[0].presence, Active);
        assert!(world.queue.sign_off(&id("worker-01")).unwrap());
        assert!(!world.queue.sign_off(&id("stranger")).unwrap());
        assert_eq!(world.queue.workers().unwrap()[0].presence, WorkerPresence::Inactive);
    });
}

#[test]
fn a_workers_tasks_return_when_it_was_silent_for_more_than_five_minutes() {
    on_both(|mut world| {
        let first = world.task(9);
        let second = world.task(8);
        let others = world.task(7);
        beat(&mut world, "worker-01");
        world.claim("worker-01");
        world.claim("worker-01");
        world.later(1);
        beat(&mut world, "worker-02");
        world.claim("worker-02");
        world.run("UPDATE tasks SET attempts = 2");
        world.later(299);
        world.clock.advance(Span::millis(999));
        assert_eq!(
            world.queue.check_stale_workers(STALE_AFTER).unwrap(),
            [],
            "at 300 seconds it is not stale"
        );
        world.events();
        world.clock.advance(Span::millis(1));
        let stale = StaleWorker { id: "worker-01".into(), requeued: vec![first, second] };
        assert_eq!(world.queue.check_stale_workers(STALE_AFTER).unwrap(), [stale]);
        assert_eq!(world.queue.check_stale_workers(STALE_AFTER).unwrap(), [], "once is enough");
        for task in [first, second] {
            let row = world.queue.task(task).unwrap().unwrap();
            assert_eq!((row.status, row.attempts), (Status::Pending, 2));
            assert_eq!((row.worker_id, row.claimed_at), (None, None));
            assert_eq!(world.logs(task).last(), Some(&log("requeued", "worker-01")));
        }
        assert_eq!(world.queue.task(others).unwrap().unwrap().status, Status::Claimed);
        let sql = "SELECT worker_id || ' ' || status FROM worker_heartbeats ORDER BY worker_id";
        assert_eq!(
            world.ground.rows(sql),
            [[Some("worker-01 stale".into())], [Some("worker-02 active".into())]]
        );
        let orphaned = |task: i64| Event::ClaimOrphaned {
            task_id: task.to_string(),
            session_id: "worker-01".into(),
            reason: "session_stale".into(),
            stale_for_ms: Some(301_000),
        };
        let cleanup = Event::ClaimsCleanup { kind: "orphaned".into(), count: 2, timestamp: NOW + 301_000 };
        assert_eq!(world.events(), [orphaned(first), orphaned(second), cleanup]);
    });
}

#[test]
fn who_lost_its_task_while_silent_cannot_complete_it_any_more() {
    on_both(|mut world| {
        let task = world.task(0);
        beat(&mut world, "worker-01");
        world.claim("worker-01");
        world.later(301);
        world.queue.check_stale_workers(STALE_AFTER).unwrap();
        let mut complete = |worker: &str| world.queue.complete(&id(worker), task, &json!(1)).unwrap();
        let pending = SettleRefusal::WrongState { status: Status::Pending };
        assert_eq!(complete("worker-01"), Completion::Refused(pending));
        world.claim("worker-02");
        let mut complete = |worker: &str| world.queue.complete(&id(worker), task, &json!(1)).unwrap();
        assert_eq!(
            complete("worker-01"),
            Completion::Refused(SettleRefusal::OtherWorkers { by: "worker-02".into() })
        );
        assert_eq!(complete("worker-02"), Completion::Completed { attempts: 1 });
    });
}

#[test]
fn a_stale_or_departed_worker_that_still_has_a_task_loses_it_too() {
    on_both(|mut world| {
        for worker in ["gone", "stale", "idle"] {
            beat(&mut world, worker);
        }
        world.queue.sign_off(&id("gone")).unwrap();
        world.queue.sign_off(&id("idle")).unwrap();
        world.run("UPDATE worker_heartbeats SET status = 'stale' WHERE worker_id = 'stale'");
        world.task(0);
        world.task(0);
        world.claim("gone");
        world.claim("stale");
        world.task(0);
        // A worker that never registered cannot be judged by its silence.
        world.claim("stranger");
        world.later(400);
        let found = world.queue.check_stale_workers(STALE_AFTER).unwrap();
        let names: Vec<&str> = found.iter().map(|worker| worker.id.as_str()).collect();
        assert_eq!(names, ["gone", "stale"]);
        let sql = "SELECT status FROM worker_heartbeats WHERE worker_id = 'idle'";
        assert_eq!(world.one::<String>(sql), "inactive");
        assert_eq!(world.one::<String>("SELECT worker_id FROM tasks WHERE status = 'claimed'"), "stranger");
    });
}
