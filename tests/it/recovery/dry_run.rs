//! `--dry-run`: everything is shown and nothing is done.

use super::*;

#[test]
fn a_rehearsal_shows_statement_values_and_rows_and_changes_nothing() {
    on_both(|| {
        let scene = Scene::stale();
        let bytes = scene.bytes();
        for (verb, statement) in
            [("reclaim", "DELETE FROM"), ("release", "DELETE FROM"), ("extend", "UPDATE")]
        {
            let run = scene.run(&[verb, "DB", "task-1", "--dry-run"]);
            assert_eq!(run.code, 0, "{run:#?}");
            for part in [&format!("would {verb} coordination/task/task-1 of worker-1"), statement] {
                run.says(part);
            }
            for part in ["\"task_claims\"", "= 'task-1'", "with :", "\"session_id\":\"worker-1\"", "becomes"]
            {
                run.says(part);
            }
            scene.assert_untouched(&bytes, "a rehearsal");
            assert_eq!(scene.export().len(), 0);
        }
        let object = scene.run(&["reclaim", "DB", "task-1", "--dry-run", "--json"]).came_to(0, "applied");
        assert_eq!(object["before"][0]["row"]["task_id"], "task-1");
        scene.assert_untouched(&bytes, "a rehearsal");
    });
}

#[test]
fn a_rehearsal_is_refused_like_the_act() {
    on_both(|| {
        let scene = Scene::new();
        scene.session("worker-1", SECOND);
        scene.task("task-1", "worker-1", 60 * MINUTE);
        scene.run(&["reclaim", "DB", "task-1", "--dry-run", "--json"]).came_to(5, "refused");
        scene.run(&["reclaim", "DB", "task-2", "--dry-run", "--json"]).came_to(4, "moved");
        assert_eq!(scene.export().len(), 0);
    });
}

#[test]
fn a_rehearsal_of_many_names_them_and_changes_nothing() {
    on_both(|| {
        let scene = Scene::new();
        scene.session("worker-1", SECOND);
        scene.tasks(30);
        let bytes = scene.bytes();
        let run = scene.run(&["reclaim", "DB", "--set", "stale", "--dry-run"]);
        assert_eq!(run.code, 0, "{run:#?}");
        run.says("30 of 30 claims will be reclaimed");
        run.says("coordination/task/task-0000");
        run.says("... and 10 more");
        scene.assert_untouched(&bytes, "a rehearsal");
        assert_eq!(scene.export().len(), 0);
    });
}
