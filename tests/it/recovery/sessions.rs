//! `release --session`: what it asks, what it says, and in which order it is done.

use super::*;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

/// A session that fell silent half an hour ago, with two claims and a lock.
fn silent() -> Scene {
    let scene = Scene::new();
    scene.session("worker-1", 30 * MINUTE);
    scene.session("worker-2", SECOND);
    scene.task("task-1", "worker-1", 60 * MINUTE);
    scene.task("task-2", "worker-1", -60 * MINUTE);
    scene.execute("UPDATE task_claims SET last_heartbeat = ?1", [now() - 30 * MINUTE]);
    scene.lock("file", "worker-1", 60 * MINUTE);
    scene.task("other", "worker-2", 60 * MINUTE);
    scene
}

const RELEASE: [&str; 5] = ["release", "DB", "--session", "worker-1", "--json"];

fn release(scene: &Scene, more: &[&str]) -> Run {
    scene.run(&[&RELEASE[..], more].concat())
}

fn sessions(scene: &Scene) -> i64 {
    scene.number("SELECT count(*) FROM sessions")
}

#[test]
fn one_object_an_act_and_the_end_of_the_session_last() {
    on_both(|| {
        let scene = silent();
        let run = release(&scene, &["--yes", "--reason", "night shift"]);
        assert_eq!(run.code, 0, "{run:#?}");
        run.says("release 3 claims of session worker-1");
        run.says("and then the session itself");
        let results = run.results();
        assert_eq!((&run.tally()["wanted"], &run.tally()["applied"]), (&4.into(), &4.into()));
        let done: Vec<&str> =
            results.iter().map(|result| result["address"].as_str().expect("text")).collect();
        let expected = [
            "coordination/lock/file",
            "coordination/task/task-1",
            "coordination/task/task-2",
            "coordination/sessions/worker-1",
        ];
        assert_eq!(done, expected);
        assert!(
            results.iter().all(|result| result["outcome"] == "applied" && result["holder"] == "worker-1")
        );
        assert_eq!(results[3]["action"], "end_session");
        assert_eq!(results[3]["before"][0]["row"]["id"], "worker-1");
        assert_eq!((scene.held(), sessions(&scene)), (vec!["other".to_owned()], 1));
        let trail = scene.export();
        assert_eq!(trail.len(), 8);
        assert!(trail.iter().all(|record| record["reason"] == "night shift"));
        let ends = scene.run(&["audit", "list", "--action", "end_session", "--json"]).lines();
        assert_eq!(ends.len(), 2);
        // There is no such session the second time.
        release(&scene, &["--yes"]).came_to(4, "moved");
    });
}

#[test]
fn for_people_it_says_how_many_and_what_became_of_the_session() {
    on_both(|| {
        let scene = silent();
        let run = scene.run(&["release", "DB", "--session", "worker-1", "--yes"]);
        assert_eq!(run.code, 0, "{run:#?}");
        run.says("4 of 4 acts done");
        run.says("and then the session itself");
        run.says("undo all of it: claimtop undo ");
    });
}

#[test]
fn without_a_yes_and_without_a_terminal_nothing_is_done() {
    on_both(|| {
        let scene = silent();
        let bytes = scene.bytes();
        let output = scene.command(&RELEASE).stdin(Stdio::null()).output().expect("claimtop runs");
        let run = Run::of(&output);
        run.came_to(5, "refused");
        run.says("release 3 claims of session worker-1");
        run.says("--yes");
        scene.assert_untouched(&bytes, "a question that nobody answered");
    });
}

#[test]
fn a_session_that_beats_takes_force_a_reason_and_its_name() {
    on_both(|| {
        let scene = silent();
        scene.execute("UPDATE sessions SET last_heartbeat = ?1", [now() - SECOND]);
        let bytes = scene.bytes();
        let refused: [(&[&str], &str); 4] = [
            (&["--yes"], "--force --holder worker-1 --reason TEXT"),
            (&["--yes", "--force"], "--force needs a --reason"),
            (&["--yes", "--force", "--reason", "x"], "name the holder"),
            (&["--yes", "--force", "--reason", "x", "--holder", "worker-2"], "worker-2 is not its holder"),
        ];
        for (more, sentence) in refused {
            let run = release(&scene, more);
            run.came_to(5, "refused");
            run.says(sentence);
            scene.assert_untouched(&bytes, sentence);
        }
        let run = release(&scene, &["--yes", "--force", "--reason", "x", "--holder", "worker-1"]);
        assert_eq!((run.code, run.results().len()), (0, 4), "{run:#?}");
    });
}

#[test]
fn a_session_that_is_gone_has_its_claims_released() {
    on_both(|| {
        let scene = silent();
        scene.execute("DELETE FROM sessions WHERE id = 'worker-1'", []);
        let run = release(&scene, &["--yes"]);
        assert_eq!((run.code, run.results().len()), (0, 3), "{run:#?}");
        run.says("it is not registered (any more)");
        assert_eq!(scene.held(), ["other"]);
    });
}

#[test]
fn a_profile_without_an_end_says_that_the_session_stays() {
    on_both(|| {
        let scene = silent();
        let profile =
            fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/profiles/coordination.toml"));
        let profile = profile.expect("a profile").replace("end        = { delete = true }", "");
        let file = scene.database.beside("own.toml");
        fs::write(&file, profile).expect("written");
        let run = release(&scene, &["--yes", "--profile", file.to_str().expect("UTF-8")]);
        assert_eq!((run.code, run.results().len()), (0, 3), "{run:#?}");
        run.says("does not say how a session ends");
        assert_eq!(sessions(&scene), 2);
    });
}

#[test]
fn a_rehearsal_shows_everything_and_leaves_nothing_behind() {
    on_both(|| {
        let scene = silent();
        let bytes = scene.bytes();
        let run = release(&scene, &["--dry-run"]);
        assert_eq!((run.code, run.results().len()), (0, 4), "{run:#?}");
        assert_eq!((&run.tally()["applied"], &run.tally()["undo"]), (&4.into(), &Json::Null));
        let text = scene.run(&["release", "DB", "--session", "worker-1", "--dry-run"]);
        for part in ["would release", "would end_session", "DELETE FROM ", "\"sessions\"", "becomes null"] {
            text.says(part);
        }
        scene.assert_untouched(&bytes, "a rehearsal");
        scene.run(&["reclaim", "DB", "task-2", "--dry-run", "--json"]).came_to(0, "applied");
        assert!(!scene.state().exists(), "a rehearsal made a journal");
        scene.execute("UPDATE sessions SET last_heartbeat = ?1", [now()]);
        release(&scene, &["--dry-run"]).came_to(5, "refused");
    });
}

#[test]
fn all_of_it_is_undone_from_behind() {
    on_both(|| {
        let scene = silent();
        let state = || ["task_claims", "sessions", "locks"].map(|table| scene.rows(table));
        let before = state();
        let results = release(&scene, &["--yes"]).results();
        let id = |at: usize| results[at]["action_id"].as_str().expect("an id");
        // The session, the batch of both tasks, the lock.
        let (batch, number) = id(1).rsplit_once('.').expect("a name in a batch");
        assert_eq!(number, "1");
        scene.run(&["undo", "DB", id(3), "--json"]).came_to(0, "applied");
        let tasks = scene.run(&["undo", "DB", batch, "--json"]);
        assert_eq!((tasks.code, tasks.results().len()), (0, 2), "{tasks:#?}");
        assert_eq!(tasks.lines()[0]["id"], "task-2", "the last one first");
        scene.run(&["undo", "DB", id(0), "--json"]).came_to(0, "applied");
        assert_eq!(state(), before);
        assert_eq!(scene.run(&["audit", "verify"]).code, 0);
    });
}

#[test]
fn one_id_undoes_the_claims_and_the_session() {
    on_both(|| {
        let scene = silent();
        let state = || ["task_claims", "sessions", "locks"].map(|table| scene.rows(table));
        let before = state();
        let tally = release(&scene, &["--yes"]).tally();
        assert_ne!(state(), before);
        let batch = tally["batch"].as_str().expect("an id");
        let undo = tally["undo"].as_str().expect("a command");
        assert!(undo.starts_with("claimtop undo ") && undo.ends_with(&format!(" {batch}")), "{undo}");
        // The claims need their session, which comes back first: the preview knows that.
        let shown = scene.run(&["undo", "DB", batch, "--json", "--dry-run"]);
        assert!(shown.lines().iter().all(|line| line["outcome"] == "applied"), "{shown:#?}");
        assert_eq!((shown.code, shown.lines().len()), (0, 4));
        let undone = scene.run(&["undo", "DB", batch, "--json"]);
        assert_eq!((undone.code, undone.results().len()), (0, 4), "{undone:#?}");
        assert_eq!((&undone.tally()["wanted"], &undone.tally()["applied"]), (&4.into(), &4.into()));
        assert_eq!(undone.results()[0]["address"], "coordination/sessions/worker-1", "the session first");
        assert_eq!(state(), before);
        // What somebody has taken since stays with him, and the undo says so.
        let tally = release(&scene, &["--yes"]).tally();
        scene.task("task-1", "worker-2", 60 * MINUTE);
        let undone = scene.run(&["undo", "DB", tally["batch"].as_str().expect("an id")]);
        assert_eq!(undone.code, 4, "{undone:#?}");
        undone.says("3 of 4 acts undone; 1 moved");
        undone.says("for example task-1");
        assert_eq!(scene.run(&["audit", "verify"]).code, 0);
    });
}

#[test]
fn the_database_keeps_a_row_of_each_act() {
    on_both(|| {
        let scene = silent();
        assert_eq!(scene.run(&["audit", "init", "DB"]).code, 0);
        let results = release(&scene, &["--yes"]).results();
        assert_eq!(results.len(), 4);
        for result in &results {
            let id = result["action_id"].as_str().expect("an id");
            let kept = format!(
                "SELECT CAST(record AS jsonb) ->> 'action' FROM claimtop_audit WHERE action_id = '{id}'"
            );
            let kept = if scene.database.server().is_some() {
                kept
            } else {
                kept.replace("CAST(record AS jsonb)", "record")
            };
            assert_eq!(result["action"], scene.text(&kept).as_str());
        }
    });
}

/// Runs the release while `meanwhile` happens between its look and its first act.
fn racing(scene: &Scene, meanwhile: impl FnOnce(&Scene)) -> Run {
    scene.hold();
    let mut command = scene.command(&[&RELEASE[..], &["--yes"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("claimtop runs");
    let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut first = String::new();
    errors.read_line(&mut first).expect("a line");
    assert!(first.contains(": release 3 claims of session worker-1; 4 of 4 acts will be done"), "{first}");
    meanwhile(scene);
    scene.commit();
    errors.read_to_string(&mut first).expect("the rest");
    Run::of(&child.wait_with_output().expect("its end"))
}

#[test]
fn a_beat_at_the_last_moment_keeps_everything() {
    on_both(|| {
        let scene = silent();
        let run = racing(&scene, |scene| {
            scene.execute("UPDATE sessions SET last_heartbeat = ?1 WHERE id = 'worker-1'", [now()]);
        });
        assert_eq!((run.code, run.results().len()), (4, 4), "{run:#?}");
        assert!(run.results().iter().all(|result| result["outcome"] == "moved"), "{run:#?}");
        run.says("worker-1 has sent a heartbeat again");
        assert_eq!((scene.held().len(), sessions(&scene)), (3, 2));
    });
}

#[test]
fn a_claim_at_the_last_moment_keeps_the_session() {
    on_both(|| {
        let scene = silent();
        let run = racing(&scene, |scene| scene.task("new", "worker-1", 60 * MINUTE));
        assert_eq!((run.code, run.results().len()), (4, 4), "{run:#?}");
        run.says("it still holds 1 claim");
        assert_eq!((scene.held(), sessions(&scene)), (vec!["new".into(), "other".into()], 2));
    });
}

#[test]
fn a_session_goes_with_a_release_and_with_nothing_else() {
    on_both(|| {
        let scene = silent();
        let wrong: [&[&str]; 6] = [
            &["release", "DB", "task-1", "--session", "worker-1"],
            &["release", "DB", "--set", "stale", "--session", "worker-1"],
            &["release", "DB", "--session", "worker-1", "--board", "task"],
            &["release", "DB"],
            &["reclaim", "DB", "--session", "worker-1"],
            &["extend", "DB", "--session", "worker-1"],
        ];
        for arguments in wrong {
            assert_eq!(scene.run(arguments).code, 3, "{arguments:?}");
        }
        scene.run(&["--read-only", "release", "DB", "--session", "worker-1", "--json"]).came_to(5, "refused");
    });
}

#[test]
fn keep_session_releases_what_it_holds_and_leaves_it_registered() {
    on_both(|| {
        let scene = silent();
        let run = release(&scene, &["--yes", "--keep-session", "--reason", "manual"]);
        assert_eq!(run.code, 0, "{run:#?}");
        run.says("stays registered");
        assert_eq!((&run.tally()["wanted"], &run.tally()["applied"]), (&3.into(), &3.into()));
        assert_eq!((scene.held(), sessions(&scene)), (vec!["other".to_owned()], 2));
        assert!(scene.export().iter().all(|record| record["reason"] == "manual"));
        // Nothing is left to release, and one id takes all of it back.
        assert_eq!(release(&scene, &["--yes", "--keep-session"]).tally()["wanted"], 0);
        let undo = scene.run(&["undo", "DB", run.tally()["batch"].as_str().expect("an id"), "--yes"]);
        assert_eq!((undo.code, scene.held().len()), (0, 3), "{undo:#?}");
    });
}

#[test]
fn keep_session_has_the_documents_default_reason() {
    on_both(|| {
        let scene = silent();
        assert_eq!(release(&scene, &["--yes", "--keep-session"]).code, 0);
        assert!(scene.export().iter().all(|record| record["reason"] == "session_ended"));
        let alone = scene.run(&["release", "DB", "task-1", "--keep-session"]);
        assert_eq!(alone.code, 3, "it is about a session: {alone:#?}");
    });
}

#[test]
fn keep_session_takes_nothing_from_a_live_holder_without_its_name() {
    on_both(|| {
        let scene = silent();
        scene.execute("UPDATE sessions SET last_heartbeat = ?1", [now() - SECOND]);
        scene.execute("UPDATE task_claims SET last_heartbeat = ?1", [now() - SECOND]);
        let bytes = scene.bytes();
        release(&scene, &["--yes", "--keep-session"]).came_to(5, "refused");
        scene.assert_untouched(&bytes, "a live session");
        let run =
            release(&scene, &["--yes", "--keep-session", "--force", "--reason", "x", "--holder", "worker-1"]);
        assert_eq!((run.code, sessions(&scene)), (0, 2), "{run:#?}");
    });
}
