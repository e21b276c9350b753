//! The program's reclaim and the worker's are one: on equal rows they leave equal rows.

use super::*;
use crate::support::{command, stderr};

const COLUMNS: &str =
    "id type status attempts max_attempts run_at locked_at locked_by last_error heartbeat_at
    payload dedupe_key";

/// Every kind of row that makes a difference, in every combination.
fn populate(scene: &Scene, now: Moment) {
    let kinds = ["run_tsa", "protect_document_v2", "document.protected", "build_artifact", "unlisted"];
    let ages = [1, 10, 20, 45, 200];
    let mut number = 0;
    for kind in kinds {
        for locked in ages {
            for beat in [None, Some(1), Some(20), Some(300)] {
                for attempts in [1, 4, 5, 9, 10] {
                    number += 1;
                    let status = if number % 3 == 0 { "processing" } else { "running" };
                    let max = if number % 2 == 0 { 5 } else { 10 };
                    let ago = |minutes: i64| now.minus(Span::minutes(minutes)).rfc3339();
                    scene.file().run(
                        "INSERT INTO executor_jobs (id, type, status, attempts, max_attempts, run_at, locked_at,
                           locked_by, heartbeat_at, last_error)
                         VALUES (printf('job-%04d', ?1), ?2, ?3, ?4, ?5, ?6, ?7, 'w-dead', ?8, ?9)",
                        (number, kind, status, attempts, max, ago(400), ago(locked), beat.map(ago),
                         (number % 4 == 0).then_some("an earlier failure")),
                    );
                }
            }
        }
    }
}

fn rows(scene: &Scene) -> Vec<String> {
    let cells: Vec<String> =
        COLUMNS.split_whitespace().map(|column| format!("coalesce({column}, '-')")).collect();
    let sql = format!("SELECT {} FROM executor_jobs ORDER BY id", cells.join(" || '|' || "));
    let mut statement = scene.raw().prepare(&sql).expect("a statement");
    statement.query_map([], |row| row.get(0)).expect("rows").collect::<Result<_, _>>().expect("texts")
}

#[test]
fn the_programs_reclaim_and_the_workers_leave_equal_rows() {
    let now = Clock::system().now();
    let (by_program, by_worker) = (Scene::at(Clock::system()), Scene::at(Clock::system()));
    populate(&by_program, now);
    populate(&by_worker, now);
    let before = rows(&by_worker);
    assert_eq!(before.len(), 500);
    let output = command(&["reclaim"])
        .arg(by_program.path())
        .args(["--set", "stale", "--yes", "--json"])
        .env("XDG_STATE_HOME", by_program.file().beside("state"))
        .output()
        .expect("claimtop runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let done = by_worker.jobs().reclaim_stale_jobs().expect("a reclaim");
    let told = String::from_utf8(output.stdout).expect("UTF-8").lines().count();
    // A line for each, and one for the whole bulk.
    assert_eq!(told, done.reclaimed_count + done.dead_count + 1);
    assert!(done.reclaimed_count > 20 && done.dead_count > 20, "{done:?}");
    assert_eq!(rows(&by_program), rows(&by_worker));
    assert_ne!(rows(&by_worker), before);
}

#[test]
fn both_stamp_what_they_change() {
    let now = Clock::system().now();
    for who in ["program", "worker"] {
        let scene = Scene::at(Clock::system());
        scene.running("job", "run_tsa", Span::minutes(35), None, 1);
        let old = now.minus(Span::minutes(35)).rfc3339();
        scene.run(&format!("UPDATE executor_jobs SET updated_at = '{old}'"));
        if who == "program" {
            let output = command(&["reclaim"])
                .arg(scene.path())
                .args([&*uuid_of("job"), "--json"])
                .env("XDG_STATE_HOME", scene.file().beside("state"))
                .output()
                .expect("claimtop runs");
            assert!(output.status.success(), "{}", stderr(&output));
        } else {
            scene.jobs().reclaim_stale_jobs().expect("a reclaim");
        }
        let stamped = Moment::parse(&scene.row("job", "updated_at")).expect("a time");
        // The clock is the same; its last digits are cut off when stamped.
        assert!(stamped >= now.floor(Span::millis(1)), "{who}: {}", stamped.rfc3339());
    }
}
