//! All the dead of a board at once.

use super::*;

/// As many copies of the dead job as this, named by numbers above 100.
fn copies(scene: &Scene, count: i64) {
    let dead_board = scene.dead_board;
    let unique = match dead_board.table {
        "executor_jobs" => Some(("dedupe_key", "'k' || :n")),
        "merge_queue" => Some(("workspace", "'w-' || :n")),
        _ => None,
    };
    let names = scene.columns();
    let value = |name: &String| match unique {
        _ if name == "id" && dead_board.board == "job" => "'' || :n".to_owned(),
        _ if name == "id" => ":n".to_owned(),
        Some((column, value)) if name == column => value.to_owned(),
        _ => format!("\"{name}\""),
    };
    let values: Vec<String> = names.iter().map(value).collect();
    let (table, names) = (dead_board.table, names.join(", "));
    let sql = format!(
        "INSERT INTO {table} ({names}) SELECT {} FROM {table} WHERE {}",
        values.join(", "),
        scene.dead_one()
    );
    for number in 101..=100 + count {
        scene.database.run(&sql, rusqlite::named_params! {":n": number});
    }
}

fn bulk(scene: &Scene, more: &[&str]) -> Run {
    scene.requeue(&[&["--set", "unknown", "--board", scene.dead_board.board], more].concat())
}

#[test]
fn every_dead_job_of_a_board_is_queued_again_and_none_that_lives() {
    on_both(|| {
        for dead_board in DEAD_BOARDS {
            let scene = Scene::new(dead_board);
            copies(&scene, 24);
            let Authorization(queued) = dead_board.becomes[0].1 else { panic!("the status comes first") };
            let living = format!("SELECT count(*) FROM {} WHERE status = '{queued}'", dead_board.table);
            let (before, others) =
                (scene.number(&living), scene.number(&format!("SELECT count(*) FROM {}", dead_board.table)));
            let run = bulk(&scene, &["--yes"]);
            assert_eq!(run.code, 0, "{run:#?}");
            let mut results = run.lines();
            assert_eq!(results.pop().expect("a tally")["applied"], 25, "{}", dead_board.board);
            assert_eq!(results.len(), 25, "{}", dead_board.board);
            assert!(results.iter().all(|one| one["outcome"] == "applied" && one["action"] == "requeue"));
            assert_eq!(scene.number(&living), before + 25, "{}", dead_board.board);
            assert_eq!(scene.number(&format!("SELECT count(*) FROM {}", dead_board.table)), others);
            assert_eq!((scene.dead().len(), scene.trail().len()), (0, 50));
            let again = bulk(&scene, &["--yes"]);
            assert_eq!((again.code, &again.lines()[0]["wanted"]), (0, &0.into()), "{again:#?}");
        }
    });
}

#[test]
fn all_of_them_are_buried_again_by_one_undo() {
    on_both(|| {
        for dead_board in DEAD_BOARDS {
            let scene = Scene::new(dead_board);
            copies(&scene, 9);
            let before = scene.dump();
            let tally = bulk(&scene, &["--yes"]).lines().pop().expect("a tally");
            let batch = tally["batch"].as_str().expect("an id");
            let undone = scene.run(&["undo", "--json"], &[&[batch], dead_board.said].concat());
            assert_eq!((undone.code, &undone.lines()[10]["applied"]), (0, &10.into()), "{undone:#?}");
            assert_eq!(scene.dump(), before, "{}", dead_board.board);
        }
    });
}

#[test]
fn without_a_yes_without_a_write_and_beyond_the_limit_they_stay_dead() {
    on_both(|| {
        for dead_board in DEAD_BOARDS {
            let scene = Scene::new(dead_board);
            copies(&scene, 4);
            let before = scene.dump();
            let mut unanswered = scene.command(&["requeue", "--json", "--set", "unknown"]);
            unanswered.args(dead_board.said).arg(scene.database.source()).stdin(std::process::Stdio::null());
            Run::of(&unanswered.output().expect("claimtop runs")).came_to(5, "refused");
            assert_eq!(bulk(&scene, &["--dry-run"]).code, 0);
            assert_eq!(scene.requeue(&["--set", "stale,orphaned", "--yes"]).lines()[0]["wanted"], 0);
            assert_eq!((scene.dump(), scene.trail().len()), (before, 0), "{}", dead_board.board);
            assert_eq!(bulk(&scene, &["--yes", "--limit", "2"]).lines().len(), 2 + 1);
            assert_eq!(scene.dead().len(), 3);
        }
    });
}

#[test]
fn a_board_keeps_to_itself_and_a_name_that_means_two_is_asked_about() {
    on_both(|| {
        let ([tasks, tasks_there], [leases, leases_there]) = ((TASK.schema)(), (LEASE.schema)());
        let database = Database::with(&(tasks + &leases), &(tasks_there + &leases_there));
        database.run(TASK.dead, []);
        database.run(LEASE.dead, []);
        let scene = Scene { database, dead_board: &TASK };
        assert_eq!(scene.dead().len(), 2);
        let run = scene.requeue(&["7"]);
        assert_eq!(run.code, 3, "{run:#?}");
        run.says("task-queue/task/7");
        run.says("task-queue/lease/7");
        assert_eq!(bulk(&scene, &["--yes"]).lines().len(), 1 + 1);
        let left = scene.dead();
        assert_eq!((left.len(), &left[0]["board"]), (1, &"lease".into()));
        scene.requeue(&["task-queue/lease/7"]).came_to(0, "applied");
        assert_eq!(scene.dead().len(), 0);
    });
}

#[test]
fn every_word_for_dead_is_known() {
    on_both(|| {
        for (dead_board, word) in [(&ENTRY, "failed"), (&LEASE, "failed")] {
            let scene = Scene::new(dead_board);
            scene.database.run(
                &format!("UPDATE {} SET status = ?1 WHERE {}", dead_board.table, scene.dead_one()),
                [word],
            );
            assert_eq!(scene.dead().len(), 1, "{}", dead_board.board);
            scene.requeue(&["7"]).came_to(0, "applied");
            assert_eq!(scene.dead().len(), 0, "{}", dead_board.board);
        }
    });
}
