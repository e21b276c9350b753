//! The trail, looked at: its filters, its detail, its check, and what looking leaves behind.

use super::*;

/// A reclaim and a refusal on one database, an extension on another, all in one trail.
fn busy() -> (Scene, Scene) {
    let (scene, other) = (Scene::stale(), Scene::stale());
    scene.session("worker-2", SECOND);
    scene.task("task-2", "worker-2", 60 * MINUTE);
    scene.run(&["reclaim", "DB", "task-1", "--reason", "night shift", "--json"]).came_to(0, "applied");
    scene.run(&["release", "DB", "task-2", "--json"]).came_to(5, "refused");
    scene.run(&["extend", &other.database.source(), "task-1", "--json"]).came_to(0, "applied");
    (scene, other)
}

#[test]
fn a_trail_that_is_not_there_is_empty_and_stays_away() {
    on_both(|| {
        let scene = Scene::stale();
        for verb in
            [&["audit", "list", "--json"][..], &["audit", "export"], &["audit", "list", "--open", "--json"]]
        {
            let run = scene.run(verb);
            assert_eq!((run.code, run.out.as_str()), (0, ""), "{run:#?}");
        }
        assert_eq!(scene.run(&["audit", "verify"]).code, 0);
        assert_eq!(scene.run(&["audit", "show", "x"]).code, 3);
        assert!(!scene.state().exists(), "looking made a journal");
    });
}

#[test]
fn a_list_has_its_filters() {
    on_both(|| {
        let (scene, other) = busy();
        let count = |more: &[&str]| {
            let run = scene.run(&[&["audit", "list", "--json"][..], more].concat());
            assert_eq!(run.code, 0, "{run:#?}");
            run.lines().len()
        };
        // An intent and an outcome each; a refusal is an outcome alone.
        assert_eq!(count(&[]), 5);
        assert_eq!(count(&["--action", "reclaim"]), 2);
        assert_eq!(count(&["--action", "release"]), 1);
        assert_eq!(count(&["--holder", "worker-2"]), 1);
        assert_eq!(count(&["--holder", "worker"]), 0);
        assert_eq!(count(&["--on", "DB"]), 3);
        assert_eq!(count(&["--on", &other.database.source()]), 2);
        assert_eq!(count(&["--on", "DB", "--action", "extend"]), 0);
        assert_eq!(count(&["--open"]), 0);
        let table = scene.run(&["audit", "list"]);
        assert_eq!(table.out.lines().count(), 6, "{}", table.out);
        table.says("coordination/task/task-1");
        table.says("refused: it is healthy");
    });
}

#[test]
fn one_act_is_shown_with_everything() {
    on_both(|| {
        let (scene, _other) = busy();
        let action = scene.export()[0]["action_id"].as_str().expect("an id").to_owned();
        let shown = scene.run(&["audit", "show", &action, "--json"]).lines();
        assert_eq!(shown.len(), 2);
        assert_eq!(shown[0]["record"]["stage"], "intent");
        assert_eq!(shown[1]["record"]["outcome"], "applied");
        assert_eq!(shown[1]["prev"], shown[0]["hash"]);
        let text = scene.run(&["audit", "show", &action]);
        let fingerprint = if scene.database.server().is_some() { "postgres:" } else { "sqlite:" };
        for part in [action.as_str(), "night shift", "lease_expired", "coordination", "worker-1", fingerprint]
        {
            text.says(part);
        }
    });
}

#[test]
fn an_export_is_the_whole_chain() {
    on_both(|| {
        let (scene, _other) = busy();
        let entries = scene.run(&["audit", "export"]).lines();
        assert_eq!(entries.len(), 5);
        for pair in entries.windows(2) {
            assert_eq!(pair[1]["prev"], pair[0]["hash"]);
            assert_eq!(pair[1]["seq"].as_i64(), pair[0]["seq"].as_i64().map(|seq| seq + 1));
        }
    });
}

#[test]
fn a_cut_end_shows_against_an_anchor() {
    on_both(|| {
        let (scene, _other) = busy();
        let whole = scene.run(&["audit", "verify", "--json"]);
        assert_eq!(whole.code, 0, "{whole:#?}");
        let anchor = whole.lines()[0]["anchor"].as_str().expect("an anchor").to_owned();
        scene.run(&["audit", "verify"]).says(&format!("anchor {anchor}"));
        assert_eq!(scene.run(&["audit", "verify", "--anchor", &anchor]).code, 0);
        let journal = fs::read_to_string(scene.journal()).expect("the journal");
        let cut: String = journal.lines().take(3).map(|line| format!("{line}\n")).collect();
        fs::write(scene.journal(), cut).expect("a shorter journal");
        assert_eq!(scene.run(&["audit", "verify"]).code, 0, "nothing in the file tells of its end");
        let found = scene.run(&["audit", "verify", "--anchor", &anchor, "--json"]);
        assert_eq!(found.code, 2, "{found:#?}");
        assert_eq!(found.lines()[0]["whole"], false);
        found.says("the anchor knows 5 lines and the journal has 3");
        assert_eq!(scene.run(&["audit", "verify", "--anchor", "nonsense"]).code, 3);
    });
}

#[test]
fn an_edited_line_is_found_and_named() {
    on_both(|| {
        let (scene, _other) = busy();
        let journal = fs::read_to_string(scene.journal()).expect("the journal");
        fs::write(scene.journal(), journal.replacen("night shift", "day shift", 1)).expect("an edit");
        let run = scene.run(&["audit", "verify"]);
        assert_eq!(run.code, 2, "{run:#?}");
        run.says("NOT WHOLE");
        run.says("line 1");
    });
}

#[test]
fn a_table_of_records_can_be_made_twice() {
    on_both(|| {
        let scene = Scene::stale();
        for _ in 0..2 {
            assert_eq!(scene.run(&["audit", "init", "DB"]).code, 0);
        }
        let object = scene.run(&["reclaim", "DB", "task-1", "--json"]).came_to(0, "applied");
        assert_eq!(object["action_id"], scene.text("SELECT action_id FROM claimtop_audit"));
        let refused = match scene.database.server() {
            Some(server) => server.connect().attempt("DELETE FROM claimtop_audit").is_err(),
            None => scene.database.connection.execute("DELETE FROM claimtop_audit", []).is_err(),
        };
        assert!(refused);
    });
}
