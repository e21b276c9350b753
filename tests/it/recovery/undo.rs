//! Taking an act back: once, on the same database, by a trail that can be believed.

use super::*;

/// A scene with one reclaim in it; answers its id.
fn reclaimed() -> (Scene, String) {
    let scene = Scene::stale();
    let object = scene.run(&["reclaim", "DB", "task-1", "--json"]).came_to(0, "applied");
    (scene, object["action_id"].as_str().expect("an id").to_owned())
}

fn row(scene: &Scene) -> Vec<String> {
    scene.rows("task_claims")
}

#[test]
fn an_undo_puts_the_row_back_and_refers_to_the_act() {
    on_both(|| {
        let scene = Scene::stale();
        let before = row(&scene);
        let object = scene.run(&["reclaim", "DB", "task-1", "--json"]).came_to(0, "applied");
        let action = object["action_id"].as_str().expect("an id");
        let undone =
            scene.run(&["undo", "DB", action, "--reason", "too soon", "--json"]).came_to(0, "applied");
        assert_eq!(row(&scene), before);
        assert_eq!((&undone["action"], &undone["id"]), (&"undo".into(), &"task-1".into()));
        assert_eq!(undone["holder"], "worker-1");
        assert_eq!(undone["after"][0]["row"], object["before"][0]["row"]);
        assert_ne!(undone["action_id"], object["action_id"]);
        let listed = scene.run(&["audit", "list", "--action", "undo", "--json"]).lines();
        assert_eq!(listed.len(), 2);
        for entry in listed {
            assert_eq!(entry["record"]["refers_to"], action);
            assert_eq!(entry["record"]["reason"], "too soon");
        }
    });
}

#[test]
fn a_second_undo_has_moved() {
    on_both(|| {
        let (scene, action) = reclaimed();
        scene.run(&["undo", "DB", &action, "--json"]).came_to(0, "applied");
        let bytes = scene.bytes();
        let again = scene.run(&["undo", "DB", &action, "--json"]).came_to(4, "moved");
        assert_eq!(again["after"], serde_json::json!([]), "nothing was put back");
        scene.assert_untouched(&bytes, "a second undo");
    });
}

#[test]
fn an_undo_never_evicts_the_next_holder() {
    on_both(|| {
        let (scene, action) = reclaimed();
        scene.task("task-1", "worker-2", 30 * MINUTE);
        let bytes = scene.bytes();
        let run = scene.run(&["undo", "DB", &action, "--json"]);
        run.came_to(4, "moved");
        scene.assert_untouched(&bytes, "an undo after the next claim");
    });
}

#[test]
fn an_undo_can_be_undone() {
    on_both(|| {
        let (scene, action) = reclaimed();
        let undone = scene.run(&["undo", "DB", &action, "--json"]).came_to(0, "applied");
        let undone = undone["action_id"].as_str().expect("an id").to_owned();
        scene.run(&["undo", "DB", &undone, "--json"]).came_to(0, "applied");
        assert_eq!(scene.held(), [""; 0]);
    });
}

#[test]
fn an_extension_is_taken_back_to_the_millisecond() {
    on_both(|| {
        let scene = Scene::stale();
        let before = row(&scene);
        let object = scene.run(&["extend", "DB", "task-1", "--by", "2h", "--json"]).came_to(0, "applied");
        assert_ne!(row(&scene), before);
        scene
            .run(&["undo", "DB", object["action_id"].as_str().expect("an id"), "--json"])
            .came_to(0, "applied");
        assert_eq!(row(&scene), before);
    });
}

#[test]
fn an_action_that_nobody_knows_is_an_error() {
    on_both(|| {
        let (scene, _) = reclaimed();
        let run = scene.run(&["undo", "DB", "01a1e2a4-0000-7000-8000-000000000000", "--json"]);
        assert_eq!(run.code, 3, "{run:#?}");
        run.says("there is no action 01a1e2a4-0000-7000-8000-000000000000");
    });
}

#[test]
fn an_act_that_was_not_applied_cannot_be_taken_back() {
    on_both(|| {
        let scene = Scene::new();
        scene.session("worker-1", SECOND);
        scene.task("task-1", "worker-1", 60 * MINUTE);
        let object = scene.run(&["reclaim", "DB", "task-1", "--json"]).came_to(5, "refused");
        let run = scene.run(&["undo", "DB", object["action_id"].as_str().expect("an id")]);
        assert_eq!(run.code, 3, "{run:#?}");
        run.says("was not applied");
    });
}

#[test]
fn another_database_is_an_error_that_names_both() {
    on_both(|| {
        let (scene, action) = reclaimed();
        let other = Scene::stale();
        let run = scene.run(&["undo", &other.database.source(), &action, "--json"]);
        assert_eq!(run.code, 3, "{run:#?}");
        run.says(scene.export()[0]["fingerprint"].as_str().expect("a fingerprint"));
        other.run(&["reclaim", "DB", "task-1", "--json"]).came_to(0, "applied");
        run.says(other.export()[0]["fingerprint"].as_str().expect("a fingerprint"));
    });
}

#[test]
fn a_trail_that_was_edited_undoes_nothing() {
    on_both(|| {
        let (scene, action) = reclaimed();
        let journal = fs::read_to_string(scene.journal()).expect("the journal");
        let bytes = scene.bytes();
        // The row would come back as somebody else's.
        let forged = journal.replace("\"session_id\":\"worker-1\"", "\"session_id\":\"worker-X\"");
        assert_ne!(forged, journal);
        fs::write(scene.journal(), forged).expect("a forgery");
        let run = scene.run(&["undo", "DB", &action, "--json"]);
        run.came_to(5, "refused");
        run.says("the trail has been changed");
        run.says("line 1");
        scene.assert_untouched(&bytes, "a forged trail");
        // A torn end is the trace of a crash, and no reason for distrust.
        fs::write(scene.journal(), format!("{journal}{}", &journal[..100])).expect("a torn line");
        scene.run(&["undo", "DB", &action, "--json"]).came_to(0, "applied");
        assert_eq!(scene.run(&["audit", "verify"]).code, 0);
    });
}

#[test]
fn the_command_that_is_suggested_undoes_the_act_as_it_is_pasted_into_a_shell() {
    on_both(|| {
        let scene = Scene::stale();
        let before = row(&scene);
        let profile = scene.database.beside("it's mine.toml");
        std::fs::write(&profile, include_str!("../../../assets/profiles/coordination.toml"))
            .expect("a profile");
        let profile = profile.to_str().expect("UTF-8");
        let run = scene.run(&["reclaim", "--profile", profile, "DB", "task-1"]);
        let suggested = run.out.lines().find_map(|line| line.trim().strip_prefix("to undo it: "));
        let suggested = suggested.unwrap_or_else(|| panic!("{run:#?}"));
        assert_ne!(row(&scene), before);
        let program = Path::new(env!("CARGO_BIN_EXE_claimtop")).parent().expect("a folder");
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let undone = Command::new("sh")
            .args(["-c", suggested])
            .env("PATH", path)
            .env("XDG_STATE_HOME", scene.state())
            .env("XDG_CONFIG_HOME", "/proc/nonexistent")
            .env_remove("HOME")
            .output()
            .expect("a shell");
        assert!(undone.status.success(), "{suggested}: {:#?}", Run::of(&undone));
        assert_eq!(row(&scene), before, "{suggested}");
    });
}

#[test]
fn undo_gives_an_interrupted_task_back_to_its_worker_unless_somebody_took_it() {
    on_both(|| {
        let (scene, action) = reclaimed();
        // The worker is back; nobody has taken its task.
        scene.execute("UPDATE sessions SET last_heartbeat = ?1 WHERE id = 'worker-1'", [now()]);
        scene.run(&["undo", "DB", &action, "--json"]).came_to(0, "applied");
        assert_eq!(scene.text("SELECT session_id FROM task_claims WHERE task_id = 'task-1'"), "worker-1");
        // Its time is still over; the operator gives it more.
        scene.run(&["extend", "DB", "task-1", "--json"]).came_to(0, "applied");
        assert_eq!(scene.listed("task-1")["verdict"], "healthy");

        let (scene, action) = reclaimed();
        scene.session("worker-2", SECOND);
        scene.task("task-1", "worker-2", 30 * MINUTE);
        scene.run(&["undo", "DB", &action, "--json"]).came_to(4, "moved");
        assert_eq!(scene.text("SELECT session_id FROM task_claims WHERE task_id = 'task-1'"), "worker-2");
    });
}
