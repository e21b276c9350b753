//! Many claims at once: an exact count, a result for each, and nobody who waits for another.

use super::*;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

fn many(count: usize) -> Scene {
    let scene = Scene::new();
    scene.session("worker-1", SECOND);
    scene.tasks(count);
    scene
}

#[test]
fn without_a_yes_and_without_a_terminal_nothing_is_done() {
    on_both(|| {
        let scene = many(5);
        let bytes = scene.bytes();
        let output =
            scene.command(&["reclaim", "DB", "--set", "stale", "--json"]).stdin(Stdio::null()).output();
        let run = Run::of(&output.expect("claimtop runs"));
        run.came_to(5, "refused");
        run.says("5 of 5 claims will be reclaimed");
        run.says("--yes");
        scene.assert_untouched(&bytes, "a question that nobody answered");
        assert_eq!(scene.export().len(), 0);
    });
}

#[test]
fn a_result_for_each_row_and_an_exact_count() {
    on_both(|| {
        let scene = many(120);
        scene.task("healthy", "worker-1", 60 * MINUTE);
        let run = scene.run(&["reclaim", "DB", "--set", "stale", "--yes", "--json"]);
        assert_eq!(run.code, 0, "{}", run.err);
        run.says("120 of 120 claims will be reclaimed");
        let results = run.results();
        assert_eq!(results.len(), 120);
        let mut ids: Vec<&str> = results.iter().map(|result| result["id"].as_str().expect("an id")).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 120);
        assert!(results.iter().all(|result| result["outcome"] == "applied"));
        assert_eq!(scene.held(), ["healthy"]);
        assert_eq!(scene.export().len(), 240);
        // There is nothing to do the second time, and that is fine.
        let again = scene.run(&["reclaim", "DB", "--set", "stale", "--yes", "--json"]);
        assert_eq!((again.code, again.lines().len()), (0, 1), "{again:#?}");
        assert_eq!((&again.tally()["wanted"], &again.tally()["undo"]), (&0.into(), &Json::Null));
        again.says("0 of 0 claims will be reclaimed");
        assert_eq!(scene.export().len(), 240);
    });
}

#[test]
fn for_people_it_says_how_many() {
    on_both(|| {
        let scene = many(3);
        let run = scene.run(&["release", "DB", "--set", "stale", "--yes"]);
        assert_eq!(run.code, 0, "{run:#?}");
        assert!(run.out.starts_with("3 of 3 claims released\n  undo all of it: claimtop undo "), "{run:#?}");
    });
}

#[test]
fn no_more_than_the_limit() {
    on_both(|| {
        let scene = many(20);
        let run = scene.run(&["reclaim", "DB", "--set", "stale,orphaned", "--limit", "7", "--yes", "--json"]);
        assert_eq!(run.code, 0, "{run:#?}");
        assert_eq!((run.results().len(), &run.tally()["wanted"]), (7, &7.into()));
        assert_eq!(scene.held().len(), 13);
        let run = scene.run(&["reclaim", "DB", "task-0019", "--limit", "7"]);
        assert_eq!(run.code, 3, "{run:#?}");
    });
}

#[test]
fn a_board_or_a_holder_narrows_it_down() {
    on_both(|| {
        let scene = many(4);
        scene.session("worker-2", SECOND);
        scene.task("other", "worker-2", -60 * MINUTE);
        scene.lock("file", "worker-2", -60 * MINUTE);
        let bulk = ["reclaim", "DB", "--set", "stale", "--yes", "--json"];
        let run = scene.run(&[&bulk[..], &["--board", "nowhere"]].concat());
        assert_eq!(run.code, 3, "{run:#?}");
        let run = scene.run(&[&bulk[..], &["--board", "task", "--holder", "worker-2"]].concat());
        assert_eq!((run.code, run.results().len()), (0, 1), "{run:#?}");
        assert_eq!((scene.held().len(), scene.number("SELECT count(*) FROM locks")), (4, 1));
    });
}

#[test]
fn what_moved_in_the_meantime_stops_nobody_else() {
    on_both(|| {
        let scene = many(10);
        // The program looks while we hold the write lock, and tells what it saw before it wants it.
        scene.hold();
        let mut child = scene
            .command(&["reclaim", "DB", "--set", "stale", "--yes", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("claimtop runs");
        let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut first = String::new();
        errors.read_line(&mut first).expect("a line");
        assert!(first.ends_with(": 10 of 10 claims will be reclaimed\n"), "{first}");
        scene.execute(
            "UPDATE task_claims SET expires_at = ?1, last_heartbeat = ?2 WHERE task_id = 'task-0003'",
            (now() + 30 * MINUTE, now()),
        );
        scene.execute("UPDATE task_claims SET session_id = 'worker-9' WHERE task_id = 'task-0005'", []);
        scene.execute("DELETE FROM task_claims WHERE task_id = 'task-0007'", []);
        scene.commit();
        let mut rest = String::new();
        errors.read_to_string(&mut rest).expect("the rest");
        let run = Run::of(&child.wait_with_output().expect("its end"));
        assert_eq!(run.code, 4, "{run:#?} {rest}");
        let results = run.results();
        assert_eq!(results.len(), 10);
        let tally = run.tally();
        assert_eq!(
            (&tally["applied"], &tally["moved"], &tally["wanted"]),
            (&7.into(), &3.into(), &10.into())
        );
        for result in &results {
            let why = result["why"].as_str();
            match result["id"].as_str().expect("an id") {
                "task-0003" => assert!(why.is_some_and(|why| why.contains("renewed")), "{result}"),
                "task-0005" => assert!(why.is_some_and(|why| why.contains("worker-9")), "{result}"),
                "task-0007" => assert!(why.is_some_and(|why| why.contains("no longer")), "{result}"),
                _ => assert_eq!(result["outcome"], "applied"),
            }
        }
        assert_eq!(scene.held(), ["task-0003", "task-0005"]);
    });
}

fn lines_of_the_journal(scene: &Scene) -> usize {
    fs::read_to_string(scene.journal()).expect("a journal").lines().count()
}

fn batch_of(result: &Json) -> &str {
    result["action_id"].as_str().and_then(|id| id.rsplit_once('.')).expect("a name in a batch").0
}

#[test]
fn a_batch_is_two_lines_and_each_act_of_it_has_a_name() {
    on_both(|| {
        let scene = many(6);
        let results = scene.run(&["reclaim", "DB", "--set", "stale", "--yes", "--json"]).results();
        assert_eq!(results.len(), 6);
        let batch = batch_of(&results[0]);
        assert_eq!(lines_of_the_journal(&scene), 2);
        let row = results[4]["action_id"].as_str().expect("an id");
        assert_eq!(row, format!("{batch}.5"));
        let shown = scene.run(&["audit", "show", row, "--json"]).lines();
        assert_eq!(shown.len(), 2);
        assert_eq!(shown[0]["record"]["before"], results[4]["before"]);
        assert_eq!(shown[0]["record"]["evidence"]["reasons"], serde_json::json!(["lease_expired"]));
        assert_eq!(shown[1]["record"]["outcome"], "applied");
        assert_eq!(scene.run(&["audit", "show", batch, "--json"]).lines().len(), 12);
        assert_eq!(scene.run(&["audit", "list", "--holder", "worker-1", "--json"]).lines().len(), 12);
        assert_eq!(scene.run(&["audit", "verify"]).code, 0);
    });
}

#[test]
fn one_act_of_a_batch_is_undone_and_then_all_the_others() {
    on_both(|| {
        let scene = many(5);
        let results = scene.run(&["reclaim", "DB", "--set", "stale", "--yes", "--json"]).results();
        let third = results[2]["action_id"].as_str().expect("an id");
        scene.run(&["undo", "DB", third, "--json"]).came_to(0, "applied");
        assert_eq!(scene.held(), [results[2]["id"].as_str().expect("an id")]);
        let rest = scene.run(&["undo", "DB", batch_of(&results[0]), "--json"]);
        // The third is back already; that keeps nobody.
        assert_eq!(rest.code, 4, "{rest:#?}");
        let ids = |all: &[Json]| all.iter().map(|one| one["id"].clone()).rev().collect::<Vec<_>>();
        let undone = rest.results();
        assert_eq!(ids(&undone), results.iter().map(|one| one["id"].clone()).collect::<Vec<_>>());
        assert_eq!(undone.iter().filter(|one| one["outcome"] == "applied").count(), 4);
        assert_eq!(scene.held().len(), 5);
    });
}

#[test]
fn a_batch_whose_outcome_was_never_written_is_found_out_act_by_act() {
    on_both(|| {
        for with_table in [false, true] {
            let scene = many(4);
            scene.task("next", "worker-1", 60 * MINUTE);
            if with_table {
                assert_eq!(scene.run(&["audit", "init", "DB"]).code, 0);
            }
            let results = scene.run(&["reclaim", "DB", "--set", "stale", "--yes", "--json"]).results();
            let journal = fs::read_to_string(scene.journal()).expect("the journal");
            let intent = journal.find('\n').expect("a line") + 1;
            fs::write(scene.journal(), &journal[..intent]).expect("a shorter journal");
            assert_eq!(scene.run(&["audit", "list", "--open", "--json"]).lines().len(), 4);
            scene.run(&["extend", "DB", "next", "--json"]).came_to(0, "applied");
            let open = scene.run(&["audit", "list", "--open", "--json"]).lines();
            if !with_table && scene.database.server().is_none() {
                // Rows that are gone prove nothing: their workers may have finished and deleted them.
                assert_eq!(open.len(), 4);
                assert_ne!(scene.run(&["undo", "DB", batch_of(&results[0])]).code, 0);
                assert_eq!(scene.held(), ["next"]);
                continue;
            }
            assert_eq!(open.len(), 0);
            let id = results[1]["action_id"].as_str().expect("an id");
            let shown = scene.run(&["audit", "show", id, "--json"]).lines();
            assert_eq!(shown[1]["record"]["outcome"], "applied");
            assert_eq!(scene.run(&["undo", "DB", batch_of(&results[0])]).code, 0);
            assert_eq!(scene.held().len(), 5);
            assert_eq!(scene.run(&["audit", "verify"]).code, 0);
        }
    });
}
