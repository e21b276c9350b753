//! The program's reclaim and the worker's recovery are one: on equal rows they leave equal rows.

use super::*;
use crate::support::{command, stderr};

/// Entries in every state that an agent can leave them in, and a lock that ends this many seconds
/// from now.
fn populate(scene: &Scene, now: i64, lock_ends_in: i64) {
    for status in ["claimed", "processing", "rebasing", "merging", "pending", "merged"] {
        for (agent, started_ago) in [
            ("working", 10),
            ("working", 250),
            ("working", 900),
            ("silent", 10),
            ("silent", 250),
            ("silent", 900),
        ] {
            scene.run(
                "INSERT INTO merge_queue (workspace, status, added_at, started_at, state_changed_at, agent_id,
                   attempt_count, previous_state) VALUES (?1, ?2, ?3, ?4, ?4, ?5, 1, 'pending')",
                (
                    format!("{status} {agent} {started_ago}"),
                    status,
                    now - 5_000,
                    now - started_ago,
                    agent,
                ),
            );
        }
    }
    scene.run(
        "INSERT INTO queue_processing_lock VALUES (1, 'working', ?1, ?2)",
        [now + lock_ends_in - 300, now + lock_ends_in],
    );
}

fn rows(scene: &Scene) -> Vec<String> {
    let sql = "SELECT 'entry ' || workspace || '|' || status || '|' || coalesce(started_at, '-') || '|'
                 || coalesce(agent_id, '-') || '|' || attempt_count || '|' || previous_state FROM merge_queue
               UNION ALL SELECT 'lock ' || agent_id || '|' || expires_at FROM queue_processing_lock ORDER BY 1";
    let mut statement = scene.raw.prepare(sql).expect("a statement");
    statement.query_map([], |row| row.get(0)).expect("rows").collect::<Result<_, _>>().expect("texts")
}

/// The events of all entries, without why the program acted: the worker has no such sentence.
fn events(scene: &Scene) -> Vec<(i64, String, serde_json::Value)> {
    let sql = "SELECT queue_id, event_type, json_remove(details_json, '$.why'), created_at FROM queue_events ORDER BY 1";
    let mut statement = scene.raw.prepare(sql).expect("a statement");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?)));
    let parsed = rows.expect("rows").map(|row| {
        let (entry, event, details) = row.expect("an event");
        (entry, event, serde_json::from_str(&details).expect("JSON"))
    });
    parsed.collect()
}

#[test]
fn the_programs_reclaim_and_the_workers_recovery_leave_equal_rows() {
    for (lock_ends_in, reclaimed) in [(200, 1), (-20, 2)] {
        let now = Clock::system().now().micros() / 1_000_000;
        let (by_program, by_worker) = (Scene::at(Clock::system()), Scene::at(Clock::system()));
        populate(&by_program, now, lock_ends_in);
        populate(&by_worker, now, lock_ends_in);
        let output = command(&["reclaim"])
            .arg(by_program.folder.path().join("queue.db"))
            .args(["--set", "stale", "--yes", "--json"])
            .env("XDG_STATE_HOME", by_program.folder.path().join("state"))
            .output()
            .expect("claimtop runs");
        assert!(output.status.success(), "{}", stderr(&output));
        let said = by_worker.queue().get_recovery_stats().expect("a look");
        let done = by_worker.queue().detect_and_recover_stale().expect("a recovery");
        assert_eq!(done.entries_reclaimed, reclaimed);
        assert_eq!(
            (said.entries_reclaimed, said.locks_cleaned),
            (done.entries_reclaimed, done.locks_cleaned)
        );
        assert_eq!(rows(&by_program), rows(&by_worker));
        assert_eq!(events(&by_program), events(&by_worker));
        assert_eq!(events(&by_program).len(), reclaimed);
    }
}

#[test]
fn check_has_the_statistics_of_the_recovery_and_says_what_is_held_back_and_why() {
    for (lock_ends_in, held_back) in [(200, 1), (-20, 0)] {
        let scene = Scene::at(Clock::system());
        populate(&scene, Clock::system().now().micros() / 1_000_000, lock_ends_in);
        let path = scene.folder.path().join("queue.db");
        let output = command(&["check", "--json"]).arg(&path).output().expect("claimtop runs");
        let object: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let recovery = &object["sources"][0]["recovery"];
        let stats = scene.queue().get_recovery_stats().expect("a look");
        assert_eq!(recovery["locks_cleaned"], stats.locks_cleaned, "{recovery}");
        assert_eq!(recovery["entries_reclaimed"], stats.entries_reclaimed, "{recovery}");
        assert!(recovery["recovery_timestamp"].as_i64().is_some_and(|at| at <= stats.recovery_timestamp));
        let named = |list: &str| recovery[list].as_array().expect("a list").clone();
        assert_eq!(named("would_reclaim").len(), stats.entries_reclaimed);
        assert_eq!(named("held_back").len(), held_back);
        for entry in named("held_back") {
            assert_eq!(entry["holder"], "working");
            let why = entry["why"].as_str().expect("a sentence");
            assert!(why.contains("holds the lock"), "{why}");
        }
        let page = command(&["check"]).arg(&path).output().expect("claimtop runs");
        let page = crate::support::stdout(&page);
        assert!(page.contains("the system itself would reclaim"), "{page}");
        assert_eq!(page.contains("is held back"), held_back > 0, "{page}");
    }
}
