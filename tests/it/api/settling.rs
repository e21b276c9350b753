//! Tasks are created, completed, failed and given back over HTTP.

use serde_json::{Value as Json, json};

use super::{Server, on_both};

fn claimed(server: &Server, worker: &str) -> i64 {
    let id = server.task(&json!({"task_type": "youtube_video_scrape", "max_attempts": 2}));
    assert_eq!(server.post(&format!("/api/tasks/{id}/claim"), &json!({"worker_id": worker})).status, 200);
    id
}

fn status(server: &Server, id: i64) -> Json {
    server.get(&format!("/api/tasks/{id}")).json()["task"]["status"].clone()
}

#[test]
fn a_task_is_completed_once_and_by_its_worker_alone() {
    on_both(|server| {
        let id = claimed(&server, "one");
        let path = format!("/api/tasks/{id}/complete");
        assert_eq!(server.post(&path, &json!({"worker_id": "two"})).status, 403);
        assert_eq!(status(&server, id), "claimed");
        let done = server.post(&path, &json!({"worker_id": "one", "result": {"views": 3}}));
        assert_eq!(done.json(), json!({"success": true, "status": "completed", "attempts": 1}));
        assert_eq!(server.post(&path, &json!({"worker_id": "one"})).status, 409);
        assert_eq!(server.post("/api/tasks/424242/complete", &json!({"worker_id": "one"})).status, 404);
        assert_eq!(status(&server, id), "completed");
    });
}

#[test]
fn a_failure_is_tried_again_while_attempts_are_left() {
    on_both(|server| {
        let id = claimed(&server, "one");
        let path = format!("/api/tasks/{id}/fail");
        let failure = json!({"worker_id": "one", "error": "timeout"});
        assert_eq!(server.post(&path, &json!({"worker_id": "one"})).status, 400);
        assert_eq!(server.post(&path, &failure).json()["status"], "pending");
        assert_eq!(server.claim(&json!({"worker_id": "one"})).json()["task"]["id"], id);
        assert_eq!(server.post(&path, &failure).json()["status"], "failed");
        let pointless = claimed(&server, "one");
        let failure = json!({"worker_id": "one", "error": "no such video", "is_retryable": false});
        let answer = server.post(&format!("/api/tasks/{pointless}/fail"), &failure);
        assert_eq!(answer.json(), json!({"success": true, "status": "failed", "attempts": 1}));
    });
}

#[test]
fn a_second_task_with_the_same_key_is_the_first() {
    on_both(|server| {
        let wish = json!({"task_type": "reddit_post_fetch", "dedupe_key": "post-7"});
        let id = server.task(&wish);
        let again = server.post("/api/tasks", &wish);
        assert_eq!((again.status, &again.json()["task"]["id"]), (200, &json!(id)));
        let unknown = server.post("/api/tasks", &json!({"task_type": "no_such_type"}));
        assert_eq!(unknown.status, 404);
        assert!(unknown.json()["error"].as_str().is_some_and(|error| error.contains("/api/task-types")));
    });
}

#[test]
fn tasks_of_silent_workers_are_given_back() {
    on_both(|server| {
        let beat = json!({"worker_id": "one", "hostname": "web-3", "pid": 4711, "version": "1.2", "tasks_processed": 7});
        assert_eq!(server.post("/api/workers/heartbeat", &beat).status, 200);
        assert_eq!(server.post("/api/workers/heartbeat", &json!({"worker_id": "two"})).status, 200);
        let (id, kept) = (claimed(&server, "one"), claimed(&server, "two"));
        let nothing = server.post("/api/workers/requeue-stale", &json!({}));
        assert_eq!(nothing.json(), json!({"success": true, "requeued": 0, "workers": []}));
        let long_ago =
            "UPDATE worker_heartbeats SET last_seen_at = '2020-01-01 00:00:00' WHERE worker_id = 'one'";
        server.ground.run(long_ago);
        let presence = server.get("/api/workers").json()["workers"].clone();
        assert_eq!(presence[0]["presence"], "stale");
        assert_eq!(presence[1]["presence"], "active");
        let given = server.post("/api/workers/requeue-stale", &json!({"silent_for_seconds": 300}));
        let workers = json!([{"worker_id": "one", "requeued": [id]}]);
        assert_eq!(given.json(), json!({"success": true, "requeued": 1, "workers": workers}));
        assert_eq!(status(&server, id), "pending");
        assert_eq!(status(&server, kept), "claimed");
        // Nobody takes tasks from others by being impatient.
        assert_eq!(server.post("/api/workers/requeue-stale", &json!({"silent_for_seconds": 1})).status, 400);
        assert_eq!(server.post("/api/workers/sign-off", &json!({"worker_id": "two"})).status, 200);
        assert_eq!(server.post("/api/workers/sign-off", &json!({"worker_id": "three"})).status, 404);
        // What a worker does not tell is not written.
        let metadata: String =
            server.ground.one("SELECT metadata FROM worker_heartbeats WHERE worker_id = 'two'");
        let told: Json = serde_json::from_str(&metadata).expect("JSON");
        assert_eq!(told, json!({"tasks_processed": 0}));
    });
}
