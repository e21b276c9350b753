//! Task-queue: claiming from the task queue, with every case of its test sections.

mod many_workers;
mod settling;
mod taking;
mod workers;

use claimtop::domain::time::Span;
use claimtop::reference::System;
use claimtop::worker::task_queue::{
    ClaimOrder, Enqueued, NewTask, Operations, Task, TaskClaim, TaskFilter, WorkerId,
};
use claimtop::worker::{Clock, Event};

use super::both_engines::{Cell, Engine, Ground, Heard, Place, engines, standing};
use crate::support::NOW;

const YOUTUBE: &str = "youtube_video_scrape";
const REDDIT: &str = "reddit_post_fetch";

/// A queue with two types, its clock standing at [`NOW`], and an detector's own connection.
struct World {
    ground: Ground,
    clock: Clock,
    heard: Heard,
    queue: Box<dyn Operations>,
}

/// The same on both engines.
#[track_caller]
fn on_both(test: impl Fn(World)) {
    for &engine in engines() {
        println!("on {engine:?}");
        test(World::on(engine));
    }
}

impl World {
    fn new() -> World {
        World::on(Engine::Sqlite)
    }

    fn on(engine: Engine) -> World {
        let ground = Ground::new(engine, System::TaskQueue);
        let (clock, heard) = (standing(), Heard::default());
        let queue = ground.place().task_queue(&clock, &heard);
        let mut world = World { ground, clock, heard, queue };
        world.queue.register_type(YOUTUBE, "1", None).unwrap();
        world.queue.register_type(REDDIT, "1", None).unwrap();
        world
    }

    fn add(&mut self, task: &NewTask<'_>) -> i64 {
        match self.queue.enqueue(task).unwrap() {
            Enqueued::Added(id) => id,
            other => panic!("not added: {other:?}"),
        }
    }

    /// A task of this priority.
    fn task(&mut self, priority: i64) -> i64 {
        self.add(&NewTask { priority, ..NewTask::of(YOUTUBE) })
    }

    fn claim(&mut self, worker: &str) -> Task {
        self.queue.claim(&id(worker), &TaskFilter::default()).unwrap().task().expect("a task")
    }

    /// The number of the task that comes first in this order.
    fn first(&mut self, order: ClaimOrder) -> Option<i64> {
        let wanted = TaskFilter { order, ..TaskFilter::default() };
        self.queue.claim(&id("worker-01"), &wanted).unwrap().task().map(|task| task.id)
    }

    fn later(&self, seconds: i64) {
        self.clock.advance(Span::seconds(seconds));
    }

    fn one<T: Cell>(&self, sql: &str) -> T {
        self.ground.one(sql)
    }

    fn run(&self, sql: &str) {
        self.ground.run(sql);
    }

    /// What the trail says of a task: event and worker.
    fn logs(&self, task: i64) -> Vec<(String, Option<String>)> {
        let sql = format!("SELECT event, worker_id FROM task_logs WHERE task_id = {task} ORDER BY id");
        let rows = self.ground.rows(&sql).into_iter();
        rows.map(|mut row| (Cell::of(row.remove(0)), Cell::of(row.remove(0)))).collect()
    }

    fn events(&self) -> Vec<Event> {
        std::mem::take(&mut self.heard.lock().unwrap())
    }
}

fn id(text: &str) -> WorkerId {
    WorkerId::new(text).unwrap()
}

fn log(event: &str, worker: &str) -> (String, Option<String>) {
    (event.into(), Some(worker.into()))
}

#[test]
fn a_key_adds_a_task_once_whatever_became_of_it() {
    on_both(|mut world| {
        let task = NewTask { dedupe_key: Some("video-1"), ..NewTask::of(YOUTUBE) };
        let first = world.add(&task);
        assert_eq!(world.queue.enqueue(&task).unwrap(), Enqueued::Duplicate(first));
        world.claim("worker-01");
        assert_eq!(world.queue.enqueue(&task).unwrap(), Enqueued::Duplicate(first));
        assert_eq!(world.one::<i64>("SELECT count(*) FROM tasks"), 1);
        assert_eq!(world.queue.enqueue(&NewTask::of("unheard_of")).unwrap(), Enqueued::UnknownType);
        let long = "k".repeat(65);
        let refused = world.queue.enqueue(&NewTask { dedupe_key: Some(&long), ..NewTask::of(YOUTUBE) });
        assert!(refused.unwrap_err().to_string().contains("64 characters"));
        assert!(world.queue.enqueue(&NewTask { max_attempts: 0, ..NewTask::of(YOUTUBE) }).is_err());
        assert_eq!(world.logs(first)[0], ("created".into(), None));
    });
}

#[test]
fn a_type_keeps_its_number_when_it_is_registered_again() {
    on_both(|mut world| {
        let first = world.queue.register_type("t", "1", None).unwrap();
        let schema = serde_json::json!({"type": "object"});
        assert_eq!(world.queue.register_type("t", "1", Some(&schema)).unwrap(), first);
        assert_ne!(world.queue.register_type("t", "2", None).unwrap(), first);
        let kept: String =
            world.one("SELECT param_schema FROM task_types WHERE name = 't' AND version = '1'");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&kept).unwrap(), schema);
        assert!(world.queue.register_type("", "1", None).is_err());
    });
}

#[test]
fn its_tables_fit_the_profile_that_watches_them() {
    on_both(|mut world| {
        world.task(5);
        world.task(1);
        let vitals = claimtop::worker::task_queue::HeartbeatInfo::here("1", 0);
        world.queue.heartbeat(&id("worker-01"), &vitals).unwrap();
        let task = world.claim("worker-01");
        let (found, exit) = world.ground.check();
        assert_eq!((&found["profile"], exit), (&"task-queue".into(), 0));
        assert_eq!(found["boards"]["task"]["total"], 1, "{found:#}");
        assert_eq!(found["backlog"]["queued"], 1);
        let seen = world.ground.claim(&task.id.to_string());
        assert_eq!((&seen["holder"], &seen["kind"]), (&"worker-01".into(), &YOUTUBE.into()));
        assert_eq!(seen["session"]["state"], "alive");
        assert!(matches!(world.queue.claim_by_id(&id("w"), task.id).unwrap(), TaskClaim::LostRace { .. }));
    });
}
