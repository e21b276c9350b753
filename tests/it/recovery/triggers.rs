//! Triggers that do more than the act: it is said with the rehearsal, with the act, and in the trail.

use super::*;
use crate::support::engine::{Engine, engine};

/// Whoever loses one claim loses all of them.
fn all_go_together(scene: &Scene) {
    scene.database.either(
        "CREATE TRIGGER together AFTER DELETE ON task_claims
           BEGIN DELETE FROM task_claims WHERE session_id = old.session_id AND task_id <> 'next'; END",
        "CREATE FUNCTION together() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN DELETE FROM task_claims WHERE session_id = old.session_id AND task_id <> ''next''; RETURN NULL; END';
         CREATE TRIGGER together AFTER DELETE ON task_claims FOR EACH ROW EXECUTE FUNCTION together()",
    );
}

/// What is deleted comes back at once.
fn comes_back(scene: &Scene) {
    let columns = "task_id, session_id, claimed_at, expires_at, last_heartbeat";
    let old = "old.task_id, old.session_id, old.claimed_at, old.expires_at, old.last_heartbeat";
    let insert = format!("INSERT INTO task_claims ({columns}) VALUES ({old})");
    scene.database.either(
        &format!("CREATE TRIGGER back AFTER DELETE ON task_claims BEGIN {insert}; END"),
        &format!(
            "CREATE FUNCTION back() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN {insert}; RETURN NULL; END';
             CREATE TRIGGER back AFTER DELETE ON task_claims FOR EACH ROW EXECUTE FUNCTION back()"
        ),
    );
}

fn scene() -> Scene {
    let scene = Scene::stale();
    scene.task("task-2", "worker-1", 60 * MINUTE);
    scene.task("task-3", "worker-1", 60 * MINUTE);
    scene.task("next", "worker-1", 60 * MINUTE);
    scene
}

/// What is said of the other claims: a file tells which, a server in which table.
fn said_of_others() -> &'static str {
    match engine() {
        Engine::Sqlite => "also deleted in task_claims: task-2, task-3",
        Engine::Postgres => "other rows of task_claims were changed as well",
    }
}

#[test]
fn other_claims_that_a_trigger_deletes_are_reported() {
    on_both(|| {
        let scene = scene();
        all_go_together(&scene);
        let rehearsed = scene.run(&["reclaim", "DB", "task-1", "--dry-run"]);
        rehearsed.says(said_of_others());
        assert_eq!(scene.held().len(), 4);
        let done = scene.run(&["reclaim", "DB", "task-1", "--json"]).came_to(0, "applied");
        assert_eq!(scene.held(), ["next"]);
        let rows = done["other_rows"].as_array().expect("other rows");
        match engine() {
            Engine::Sqlite => {
                let row = |id| serde_json::json!({"table": "task_claims", "id": id, "change": "deleted"});
                assert_eq!(*rows, [row("task-2"), row("task-3")]);
            }
            Engine::Postgres => assert_eq!(done["not_undone"], serde_json::json!(["task_claims"])),
        }
        // Before anybody takes it back, the trail shows it.
        let action = done["action_id"].as_str().expect("an id");
        scene.run(&["audit", "show", action]).says(said_of_others());
        scene.run(&["undo", "DB", action, "--json"]).came_to(0, "applied");
        let back = if engine() == Engine::Sqlite { 4 } else { 2 };
        assert_eq!(scene.held().len(), back);
    });
}

#[test]
fn a_table_that_a_trigger_empties_is_reported() {
    on_both(|| {
        let scene = scene();
        scene.lock("lock-1", "worker-1", -60 * MINUTE);
        scene.database.either(
            "CREATE TRIGGER all_of_them AFTER DELETE ON locks BEGIN DELETE FROM task_claims; END",
            "CREATE FUNCTION all_of_them() RETURNS trigger LANGUAGE plpgsql AS
               'BEGIN DELETE FROM task_claims; RETURN NULL; END';
             CREATE TRIGGER all_of_them AFTER DELETE ON locks FOR EACH ROW EXECUTE FUNCTION all_of_them()",
        );
        let done = scene.run(&["reclaim", "DB", "lock-1", "--json"]).came_to(0, "applied");
        let rows = done["other_rows"].as_array().expect("other rows");
        let told = if engine() == Engine::Sqlite { 4 } else { 1 };
        assert_eq!((rows.len(), scene.held().len()), (told, 0), "{done:#}");
    });
}

#[test]
fn a_claim_that_a_trigger_puts_back_is_reported_as_still_held() {
    on_both(|| {
        let scene = scene();
        comes_back(&scene);
        scene.run(&["reclaim", "DB", "task-1", "--dry-run"]).says("still held");
        let run = scene.run(&["reclaim", "DB", "task-1", "--json"]);
        let done = run.came_to(0, "applied");
        assert_eq!(done["still_held"], true, "{done:#}");
        assert_eq!(scene.held().len(), 4);
        let action = done["action_id"].as_str().expect("an id");
        scene.run(&["audit", "show", action]).says("still held");
        scene.run(&["reclaim", "DB", "task-1"]).says("still held");
    });
}

#[test]
fn of_many_each_is_reported() {
    on_both(|| {
        let scene = scene();
        scene.task("task-4", "worker-1", -60 * MINUTE);
        comes_back(&scene);
        let all = ["reclaim", "DB", "--set", "stale", "--yes"];
        scene.run(&all).says("still held");
        let lines = scene.run(&[&all[..], &["--json"]].concat()).lines();
        let told = lines.iter().filter(|one| one["still_held"] == true).count();
        assert_eq!(told, 2, "{lines:#?}");
        let of_trail = scene.export().into_iter().filter(|one| one["stage"] == "outcome");
        for outcome in of_trail {
            assert_eq!(outcome["outcome"], "applied");
            assert!(outcome["why"].as_str().is_some_and(|why| why.contains("still held")), "{outcome:#}");
        }
    });
}

#[test]
fn an_act_without_triggers_has_nothing_more_to_say() {
    on_both(|| {
        let scene = scene();
        let done = scene.run(&["reclaim", "DB", "task-1", "--json"]).came_to(0, "applied");
        assert!(done.get("other_rows").is_none() && done.get("still_held").is_none(), "{done:#}");
    });
}
