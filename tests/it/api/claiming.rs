//! Claims over HTTP: every case of the specification's test sections.

use serde_json::json;
use std::collections::BTreeSet;
use std::thread;

use super::{Server, on_both};

#[test]
fn a_claim_answers_the_task_in_the_shape_of_the_specification() {
    on_both(|server| {
        let id = server.task(&json!({
            "task_type": "youtube_video_scrape", "priority": 5, "params": {"video_id": "dQw4w9WgXcQ", "quality": "hd"},
        }));
        let answer = server.claim(&json!({"worker_id": "worker-01"}));
        assert_eq!(answer.status, 200, "{answer:?}");
        let object = answer.json();
        assert_eq!(object["success"], true);
        assert_eq!(object["message"], "Task claimed successfully");
        let task = &object["task"];
        let told =
            ["id", "task_type", "status", "params", "priority", "attempts", "max_attempts", "worker_id"];
        let told: Vec<_> = told.iter().map(|key| task[key].clone()).collect();
        let expected = json!([
            id, "youtube_video_scrape", "claimed", {"video_id": "dQw4w9WgXcQ", "quality": "hd"}, 5, 0, 3, "worker-01",
        ]);
        assert_eq!(json!(told), expected);
        for time in ["claimed_at", "created_at"] {
            let text = task[time].as_str().expect("a time");
            assert!(text.len() == 20 && text.ends_with('Z'), "{text}");
        }
        assert_eq!(server.get(&format!("/api/tasks/{id}")).json()["task"], *task);
        let logged: i64 = server.ground.one("SELECT count(*) FROM task_logs WHERE event = 'claimed'");
        assert_eq!(logged, 1);
    });
}

#[test]
fn nothing_to_claim_is_404_with_the_filters() {
    on_both(|server| {
        let wish =
            json!({"worker_id": "w", "task_types": ["youtube_video_scrape"], "max_attempts_remaining": 1});
        for wish in [&json!({"worker_id": "w"}), &wish] {
            let answer = server.claim(wish);
            assert_eq!(answer.status, 404);
            let filters = json!({
                "task_types": wish.get("task_types"), "max_attempts_remaining": wish.get("max_attempts_remaining"),
            });
            let expected =
                json!({"success": false, "message": "No pending tasks available", "filters": filters});
            assert_eq!(answer.json(), expected);
        }
    });
}

#[test]
fn a_task_that_was_named_and_is_gone_is_409() {
    on_both(|server| {
        let id = server.task(&json!({"task_type": "youtube_video_scrape"}));
        let path = format!("/api/tasks/{id}/claim");
        assert_eq!(server.post(&path, &json!({"worker_id": "one"})).status, 200);
        let lost = server.post(&path, &json!({"worker_id": "two"}));
        assert_eq!(lost.status, 409);
        let expected = json!({
            "success": false, "error": "Task already claimed by another worker",
            "message": "Race condition detected, please retry",
        });
        assert_eq!(lost.json(), expected);
        assert_eq!(server.post("/api/tasks/999999/claim", &json!({"worker_id": "two"})).status, 404);
    });
}

#[test]
fn filters_and_orders_are_those_of_the_specification() {
    on_both(|server| {
        let task = |kind: &str, priority: i64, max_attempts: i64| {
            server.task(&json!({"task_type": kind, "priority": priority, "max_attempts": max_attempts}))
        };
        let (low, high, middle) = (
            task("youtube_video_scrape", 1, 9),
            task("reddit_post_fetch", 9, 1),
            task("youtube_video_scrape", 5, 3),
        );
        let order = |wish: serde_json::Value| -> Vec<i64> {
            let mut client = server.client();
            let mut all = Vec::new();
            while let answer = client.send("POST", "/api/tasks/claim", &wish.to_string())
                && answer.status == 200
            {
                all.push(answer.json()["task"]["id"].as_i64().expect("an id"));
            }
            server.ground.run("UPDATE tasks SET status = 'pending', worker_id = NULL, claimed_at = NULL");
            all
        };
        assert_eq!(order(json!({"worker_id": "w"})), [high, middle, low]);
        assert_eq!(order(json!({"worker_id": "w", "sort_order": "asc"})), [low, middle, high]);
        assert_eq!(order(json!({"worker_id": "w", "sort_by": "created_at"})), [low, high, middle]);
        let newest = json!({"worker_id": "w", "sort_by": "created_at", "sort_order": "desc"});
        assert_eq!(order(newest), [middle, high, low]);
        let random: BTreeSet<i64> =
            order(json!({"worker_id": "w", "sort_by": "random"})).into_iter().collect();
        assert_eq!(random, BTreeSet::from([low, high, middle]));
        let youtube = json!({"worker_id": "w", "task_types": ["youtube_video_scrape", "no_such_type"]});
        assert_eq!(order(youtube), [middle, low]);
        assert_eq!(order(json!({"worker_id": "w", "task_types": ["no_such_type"]})), [0; 0]);
        assert_eq!(order(json!({"worker_id": "w", "max_attempts_remaining": 3})), [low]);
    });
}

/// Ten workers at once on this many tasks: how many got one, and how many were told that there is none.
fn ten_workers(server: &Server, tasks: usize) -> (usize, usize) {
    for _ in 0..tasks {
        server.task(&json!({"task_type": "youtube_video_scrape"}));
    }
    let answers: Vec<_> = thread::scope(|scope| {
        let worker = |number: usize| {
            let mut client = server.client();
            let wish = json!({"worker_id": format!("worker-{number}")}).to_string();
            scope.spawn(move || client.send("POST", "/api/tasks/claim", &wish))
        };
        let workers: Vec<_> = (0..10).map(worker).collect();
        workers.into_iter().map(|worker| worker.join().expect("an answer")).collect()
    });
    let got: Vec<i64> = answers
        .iter()
        .filter(|answer| answer.status == 200)
        .map(|answer| answer.json()["task"]["id"].as_i64().expect("an id"))
        .collect();
    assert_eq!(got.iter().collect::<BTreeSet<_>>().len(), got.len(), "a task twice: {got:?}");
    (got.len(), answers.iter().filter(|answer| answer.status == 404).count())
}

#[test]
fn ten_workers_on_ten_tasks_get_one_each() {
    on_both(|server| assert_eq!(ten_workers(&server, 10), (10, 0)));
}

#[test]
fn ten_workers_on_five_tasks_get_five() {
    on_both(|server| assert_eq!(ten_workers(&server, 5), (5, 5)));
}

#[test]
fn of_ten_workers_that_name_one_task_nine_lose_the_race() {
    on_both(|server| {
        let id = server.task(&json!({"task_type": "youtube_video_scrape"}));
        let path = format!("/api/tasks/{id}/claim");
        let mut statuses: Vec<u16> = thread::scope(|scope| {
            let worker = |number: usize| {
                let (mut client, path) = (server.client(), &path);
                let wish = json!({"worker_id": format!("worker-{number}")}).to_string();
                scope.spawn(move || client.send("POST", path, &wish).status)
            };
            let workers: Vec<_> = (0..10).map(worker).collect();
            workers.into_iter().map(|worker| worker.join().expect("an answer")).collect()
        });
        statuses.sort_unstable();
        assert_eq!(statuses, [vec![200], vec![409; 9]].concat());
        let logged: i64 = server.ground.one("SELECT count(*) FROM task_logs WHERE event = 'claimed'");
        assert_eq!(logged, 1);
    });
}
