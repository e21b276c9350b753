//! Which task is taken, and what is answered.

use super::*;
use claimtop::domain::time::Moment;
use claimtop::worker::task_queue::Status;
use serde_json::json;
use std::collections::BTreeSet;

#[test]
fn a_claimed_task_says_whose_it_is_and_since_when() {
    on_both(|mut world| {
        let params = json!({"video_id": "dQw4w9WgXcQ", "quality": "hd"});
        let new = NewTask { params: params.clone(), priority: 5, ..NewTask::of(YOUTUBE) };
        let number = world.add(&new);
        let claim = world.queue.claim(&id("worker-01"), &TaskFilter::default()).unwrap();
        assert_eq!(claim.message(), "Task claimed successfully");
        let now = Moment::from_micros(NOW * 1_000);
        let expected = Task {
            id: number,
            task_type: YOUTUBE.into(),
            status: Status::Claimed,
            params,
            priority: 5,
            attempts: 0,
            max_attempts: 3,
            worker_id: Some("worker-01".into()),
            claimed_at: now,
            created_at: now,
        };
        assert_eq!(claim.task(), Some(expected.clone()));
        assert_eq!(world.queue.task(number).unwrap(), Some(expected));
        assert_eq!(world.queue.task(99).unwrap(), None);
        assert_eq!(world.logs(number), [("created".into(), None), log("claimed", "worker-01")]);
        assert_eq!(Some(world.ground.time("SELECT claimed_at FROM tasks")), now);
        let acquired = Event::ClaimAcquired {
            task_id: number.to_string(),
            session_id: "worker-01".into(),
            expires_at: None,
        };
        assert_eq!(world.events(), [acquired]);
    });
}

#[test]
fn an_empty_queue_has_nothing_to_claim() {
    on_both(|mut world| {
        let claim = world.queue.claim(&id("worker-01"), &TaskFilter::default()).unwrap();
        assert_eq!(claim, TaskClaim::Nothing);
        assert_eq!(claim.message(), "No pending tasks available");
        world.task(0);
        world.claim("worker-01");
        assert_eq!(world.queue.claim(&id("worker-02"), &TaskFilter::default()).unwrap(), TaskClaim::Nothing);
        assert_eq!(world.one::<i64>("SELECT count(*) FROM task_logs WHERE event = 'claimed'"), 1);
    });
}

#[test]
fn who_names_a_task_that_another_took_has_lost_a_race() {
    on_both(|mut world| {
        let task = world.task(0);
        assert_eq!(world.queue.task(task).unwrap().unwrap().status, Status::Pending);
        let mut other = world.ground.place().task_queue(&Clock::system(), &Heard::default());
        assert!(matches!(other.claim_by_id(&id("worker-02"), task).unwrap(), TaskClaim::Task(_)));
        let lost = world.queue.claim_by_id(&id("worker-01"), task).unwrap();
        assert_eq!(lost, TaskClaim::LostRace { status: Status::Claimed, by: Some("worker-02".into()) });
        assert_eq!(lost.message(), "Task already claimed by another worker");
        // Not even the owner can claim it twice.
        assert!(matches!(other.claim_by_id(&id("worker-02"), task).unwrap(), TaskClaim::LostRace { .. }));
        assert_eq!(world.queue.claim_by_id(&id("worker-01"), 99).unwrap(), TaskClaim::Nothing);
        assert_eq!(world.queue.claim(&id("worker-01"), &TaskFilter::default()).unwrap(), TaskClaim::Nothing);
        assert_eq!(world.logs(task).len(), 2);
    });
}

#[test]
fn only_pending_tasks_can_be_claimed() {
    on_both(|mut world| {
        for status in ["claimed", "completed", "failed"] {
            let task = world.task(0);
            world.run(&format!("UPDATE tasks SET status = '{status}' WHERE id = {task}"));
            assert!(matches!(world.queue.claim_by_id(&id("w"), task).unwrap(), TaskClaim::LostRace { .. }));
        }
        assert_eq!(world.queue.claim(&id("w"), &TaskFilter::default()).unwrap(), TaskClaim::Nothing);
    });
}

#[test]
fn only_the_wanted_types_are_taken_in_all_their_versions() {
    on_both(|mut world| {
        let old = world.add(&NewTask::of(YOUTUBE));
        world.queue.register_type(YOUTUBE, "2", None).unwrap();
        let reddit = world.add(&NewTask { priority: 9, ..NewTask::of(REDDIT) });
        let new = world.add(&NewTask::of(YOUTUBE));
        let mut next = |types: &[&str]| {
            let wanted = TaskFilter { types, ..TaskFilter::default() };
            world.queue.claim(&id("worker-01"), &wanted).unwrap().task().map(|task| (task.id, task.task_type))
        };
        assert_eq!(next(&["unheard_of"]), None);
        assert_eq!(next(&["x' OR 1=1 --", "[", "\"", "%"]), None);
        assert_eq!(next(&[YOUTUBE]), Some((old, YOUTUBE.into())));
        assert_eq!(next(&[YOUTUBE, "unheard_of"]), Some((new, YOUTUBE.into())));
        assert_eq!(next(&[YOUTUBE]), None);
        assert_eq!(next(&[YOUTUBE, REDDIT]), Some((reddit, REDDIT.into())));
    });
}

#[test]
fn a_task_is_taken_if_more_attempts_are_left_than_asked() {
    on_both(|mut world| {
        let task = world.task(0);
        for (attempts, asked, taken) in [
            (0, 2, true),
            (0, 3, false),
            (1, 1, true),
            (1, 2, false),
            (2, 0, true),
            (2, 1, false),
            (3, 0, false),
        ] {
            world.run(&format!("UPDATE tasks SET status = 'pending', attempts = {attempts}"));
            for order in [ClaimOrder::Priority, ClaimOrder::Creation, ClaimOrder::Random] {
                world.run("UPDATE tasks SET status = 'pending', worker_id = NULL");
                let wanted =
                    TaskFilter { max_attempts_remaining: Some(asked), order, ..TaskFilter::default() };
                let claim = world.queue.claim(&id("w"), &wanted).unwrap();
                assert_eq!(claim.task().map(|task| task.id), taken.then_some(task), "{attempts} {asked}");
            }
        }
        world.run("UPDATE tasks SET status = 'pending', attempts = 7");
        assert!(world.first(ClaimOrder::Priority).is_some(), "without the filter attempts do not matter");
    });
}

#[test]
fn the_highest_priority_goes_first_and_among_equals_the_oldest() {
    on_both(|mut world| {
        let mut tasks = Vec::new();
        for priority in [1, 5, -3, 5, 9] {
            tasks.push(world.task(priority));
            world.later(1);
        }
        // The same second as the last: then the number decides, also between types.
        world.clock.advance(Span::seconds(-1));
        tasks.push(world.add(&NewTask { priority: 9, ..NewTask::of(REDDIT) }));
        let order: Vec<i64> = std::iter::from_fn(|| world.first(ClaimOrder::Priority)).collect();
        let expected: Vec<i64> = [4, 5, 1, 3, 0, 2].iter().map(|place| tasks[*place]).collect();
        assert_eq!(order, expected);
    });
}

#[test]
fn by_creation_the_oldest_goes_first_whatever_its_priority() {
    on_both(|mut world| {
        let mut tasks = Vec::new();
        for (kind, priority) in [(YOUTUBE, 1), (REDDIT, 9), (YOUTUBE, 5), (REDDIT, 0)] {
            tasks.push(world.add(&NewTask { priority, ..NewTask::of(kind) }));
            world.later(1);
        }
        let order: Vec<i64> = std::iter::from_fn(|| world.first(ClaimOrder::Creation)).collect();
        assert_eq!(order, tasks);
    });
}

#[test]
fn at_random_every_task_comes_and_not_always_in_one_order() {
    for &engine in engines() {
        let mut orders = BTreeSet::new();
        for _ in 0..4 {
            let mut world = World::on(engine);
            let tasks: Vec<i64> = (0..12).map(|priority| world.task(priority)).collect();
            let order: Vec<i64> = std::iter::from_fn(|| world.first(ClaimOrder::Random)).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, tasks);
            orders.insert(order);
        }
        assert!(orders.len() > 1, "four shuffles of twelve tasks were all the same");
    }
}

#[test]
fn an_index_serves_every_ordered_claim() {
    let mut world = World::new();
    world.task(0);
    for (order, index) in
        [(ClaimOrder::Priority, "idx_tasks_claim"), (ClaimOrder::Creation, "idx_tasks_oldest")]
    {
        let sql = format!("EXPLAIN QUERY PLAN {}", order.statement());
        let Ground::Sqlite(file) = &world.ground else { panic!("no file") };
        let mut statement = file.connection.prepare(&sql).unwrap();
        let rows = statement.query_map([None::<i64>; 4], |row| row.get::<_, String>(3)).unwrap();
        let plan: Vec<String> = rows.collect::<Result<_, _>>().unwrap();
        assert!(plan.iter().any(|line| line.contains("SEARCH t USING") && line.contains(index)), "{plan:#?}");
        assert!(!plan.iter().any(|line| line.starts_with("SCAN t") && !line.contains("SCAN k")), "{plan:#?}");
        // What is sorted is one row per type, never the queue.
        let sorts = plan.iter().filter(|line| line.contains("TEMP B-TREE")).count();
        assert!(sorts <= 1, "{plan:#?}");
    }
}

#[test]
fn a_workers_id_is_letters_digits_dashes_and_underscores() {
    let longest = "a".repeat(255);
    for good in ["worker-youtube-01", "W_1", "-", "0", &longest] {
        assert_eq!(WorkerId::new(good).unwrap().as_str(), good);
    }
    let long = "a".repeat(256);
    for bad in [
        "",
        " ",
        "worker 1",
        "worker\n",
        "w\0",
        "wörker",
        "w'; DROP TABLE tasks; --",
        "../w",
        "w\u{202e}",
        "１",
        &long,
    ] {
        let error = WorkerId::new(bad).unwrap_err().to_string();
        assert!(error.starts_with("Invalid worker_id format"), "{error}");
        assert!(!error.contains(['\n', '\0']), "{error:?}");
    }
}
