//! Acts whose outcome was never written: the next act finds out what became of them, or says that
//! it cannot.

use super::*;

/// As if the program had died after the commit and before it could write the outcome.
fn forget_the_outcome(scene: &Scene) {
    let journal = fs::read_to_string(scene.journal()).expect("the journal");
    let end = journal.trim_end().rfind('\n').expect("two lines");
    fs::write(scene.journal(), &journal[..=end]).expect("a shorter journal");
    assert_eq!(open(scene), 1);
}

fn open(scene: &Scene) -> usize {
    scene.run(&["audit", "list", "--open", "--json"]).lines().len()
}

fn reclaimed(with_table: bool) -> (Scene, String) {
    let scene = Scene::stale();
    scene.task("next", "worker-1", 60 * MINUTE);
    if with_table {
        assert_eq!(scene.run(&["audit", "init", "DB"]).code, 0);
    }
    let object = scene.run(&["reclaim", "DB", "task-1", "--json"]).came_to(0, "applied");
    (scene, object["action_id"].as_str().expect("an id").to_owned())
}

#[track_caller]
fn settles(scene: &Scene, action: &str, outcome: &str) {
    scene.run(&["extend", "DB", "next", "--json"]).came_to(0, "applied");
    assert_eq!(open(scene), 0);
    let shown = scene.run(&["audit", "show", action, "--json"]).lines();
    let last = shown.last().expect("a record");
    assert_eq!(last["record"]["outcome"], outcome, "{last:#}");
    assert_eq!(scene.run(&["audit", "verify"]).code, 0);
}

#[test]
fn what_was_done_is_found_to_be_done() {
    on_both(|| {
        for with_table in [false, true] {
            let (scene, action) = reclaimed(with_table);
            forget_the_outcome(&scene);
            settles(&scene, &action, "applied");
            scene.run(&["undo", "DB", &action, "--json"]).came_to(0, "applied");
        }
    });
}

#[test]
fn what_was_not_done_is_found_to_be_not_done() {
    let scene = Scene::stale();
    scene.task("next", "worker-1", 60 * MINUTE);
    scene
        .database
        .connection
        .execute_batch(
            "CREATE TEMP TABLE kept AS SELECT rowid AS r, * FROM task_claims WHERE task_id = 'task-1'",
        )
        .expect("kept");
    let object = scene.run(&["reclaim", "DB", "task-1", "--json"]).came_to(0, "applied");
    let columns = "task_id, session_id, claimed_at, expires_at, last_heartbeat, heartbeat_count, agent_type,
                   release_reason, metadata";
    let back = format!("INSERT INTO task_claims (rowid, {columns}) SELECT r, {columns} FROM kept");
    scene.execute(&back, []);
    forget_the_outcome(&scene);
    settles(&scene, object["action_id"].as_str().expect("an id"), "refused");
}

#[test]
fn an_undo_is_found_to_be_done_although_the_table_does_not_know_it() {
    on_both(|| {
        for with_table in [false, true] {
            let (scene, action) = reclaimed(with_table);
            let undone = scene.run(&["undo", "DB", &action, "--json"]).came_to(0, "applied");
            forget_the_outcome(&scene);
            settles(&scene, undone["action_id"].as_str().expect("an id"), "applied");
        }
    });
}

#[test]
fn a_table_that_came_later_does_not_deny_what_was_done() {
    let (scene, action) = reclaimed(false);
    forget_the_outcome(&scene);
    assert_eq!(scene.run(&["audit", "init", "DB"]).code, 0);
    settles(&scene, &action, "applied");
}

#[test]
fn what_nobody_can_tell_stays_open() {
    let scene = Scene::stale();
    scene.task("next", "worker-1", 60 * MINUTE);
    scene.run(&["extend", "DB", "task-1", "--json"]).came_to(0, "applied");
    forget_the_outcome(&scene);
    scene.execute("UPDATE task_claims SET heartbeat_count = 9 WHERE task_id = 'task-1'", []);
    scene.run(&["extend", "DB", "next", "--json"]).came_to(0, "applied");
    assert_eq!(open(&scene), 1);
}

#[test]
fn acts_on_another_database_are_left_to_it() {
    on_both(|| {
        let (scene, _) = reclaimed(false);
        forget_the_outcome(&scene);
        let other = Scene::stale();
        let path = other.database.source();
        scene.run(&["extend", &path, "task-1", "--json"]).came_to(0, "applied");
        assert_eq!(open(&scene), 1);
    });
}
