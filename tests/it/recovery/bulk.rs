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
    let scene = many(5);
    let bytes = scene.bytes();
    let output = scene.command(&["reclaim", "DB", "--set", "stale", "--json"]).stdin(Stdio::null()).output();
    let run = Run::of(&output.expect("claimtop runs"));
    run.came_to(5, "refused");
    run.says("reclaim 5 claims");
    run.says("--yes");
    scene.assert_untouched(&bytes, "a question that nobody answered");
    assert_eq!(scene.export().len(), 0);
}

#[test]
fn a_result_for_each_row_and_an_exact_count() {
    let scene = many(120);
    scene.task("healthy", "worker-1", 60 * MINUTE);
    let run = scene.run(&["reclaim", "DB", "--set", "stale", "--yes", "--json"]);
    assert_eq!(run.code, 0, "{}", run.err);
    run.says("reclaim 120 claims");
    let results = run.lines();
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
    assert_eq!((again.code, again.out.as_str()), (0, ""));
    again.says("reclaim 0 claims");
    assert_eq!(scene.export().len(), 240);
}

#[test]
fn for_people_it_says_how_many() {
    let scene = many(3);
    let run = scene.run(&["release", "DB", "--set", "stale", "--yes"]);
    assert_eq!((run.code, run.out.as_str()), (0, "3 of 3 done\n"), "{run:#?}");
}

#[test]
fn no_more_than_the_limit() {
    let scene = many(20);
    let run = scene.run(&["reclaim", "DB", "--set", "stale,orphaned", "--limit", "7", "--yes", "--json"]);
    assert_eq!(run.code, 0, "{run:#?}");
    assert_eq!(run.lines().len(), 7);
    assert_eq!(scene.held().len(), 13);
    let run = scene.run(&["reclaim", "DB", "task-0019", "--limit", "7"]);
    assert_eq!(run.code, 3, "{run:#?}");
}

#[test]
fn a_board_or_a_holder_narrows_it_down() {
    let scene = many(4);
    scene.session("worker-2", SECOND);
    scene.task("other", "worker-2", -60 * MINUTE);
    scene.lock("file", "worker-2", -60 * MINUTE);
    let bulk = ["reclaim", "DB", "--set", "stale", "--yes", "--json"];
    let run = scene.run(&[&bulk[..], &["--board", "nowhere"]].concat());
    assert_eq!(run.code, 3, "{run:#?}");
    let run = scene.run(&[&bulk[..], &["--board", "task", "--holder", "worker-2"]].concat());
    assert_eq!((run.code, run.lines().len()), (0, 1), "{run:#?}");
    assert_eq!((scene.held().len(), scene.number("SELECT count(*) FROM locks")), (4, 1));
}

#[test]
fn what_moved_in_the_meantime_stops_nobody_else() {
    let scene = many(10);
    // The program looks while we hold the write lock, and tells what it saw before it wants it.
    scene.database.connection.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let mut child = scene
        .command(&["reclaim", "DB", "--set", "stale", "--yes", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("claimtop runs");
    let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut first = String::new();
    errors.read_line(&mut first).expect("a line");
    assert_eq!(first, "reclaim 10 claims\n");
    scene.database.run(
        "UPDATE task_claims SET expires_at = ?1, last_heartbeat = ?2 WHERE task_id = 'task-0003'",
        (now() + 30 * MINUTE, now()),
    );
    scene.database.run("UPDATE task_claims SET session_id = 'worker-9' WHERE task_id = 'task-0005'", []);
    scene.database.run("DELETE FROM task_claims WHERE task_id = 'task-0007'", []);
    scene.database.connection.execute_batch("COMMIT").expect("committed");
    let mut rest = String::new();
    errors.read_to_string(&mut rest).expect("the rest");
    let run = Run::of(&child.wait_with_output().expect("its end"));
    assert_eq!(run.code, 4, "{run:#?} {rest}");
    let results = run.lines();
    assert_eq!(results.len(), 10);
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
}
