//! The other systems: each is swept by its own transition, and left alone without firm ground.

use super::*;

fn ago(minutes: i64) -> String {
    let at = chrono::Utc::now() - chrono::TimeDelta::minutes(minutes);
    at.format("%Y-%m-%d %H:%M:%S%.3f").to_string()
}

#[test]
fn a_merge_queue_entry_is_pending_again_and_its_lock_is_gone() {
    let scene = Scene::of(include_str!("../../../assets/schema/sqlite/merge-queue.sql"));
    let seconds = now() / SECOND;
    for (workspace, agent, started) in [("old", "agent-a", 3_600), ("new", "agent-b", 60)] {
        scene.database.run(
            "INSERT INTO merge_queue (workspace, status, added_at, started_at, agent_id)
             VALUES (?1, 'claimed', ?2, ?2, ?3)",
            (workspace, seconds - started, agent),
        );
    }
    scene.database.run(
        "INSERT INTO queue_processing_lock VALUES (1, 'agent-a', ?1, ?2)",
        [seconds - 3_600, seconds - 3_300],
    );
    let run = scene.sweep(&[]);
    assert_eq!(run.summary(0)["expired"], 2, "{run:#?}");
    assert_eq!(scene.text("SELECT status FROM merge_queue WHERE workspace = 'old'"), "pending");
    assert_eq!(scene.text("SELECT status FROM merge_queue WHERE workspace = 'new'"), "claimed");
    assert_eq!(scene.number("SELECT count(*) FROM queue_processing_lock"), 0);
}

#[test]
fn a_finalization_past_its_timeout_can_be_claimed_again() {
    let scene = Scene::of(include_str!("../../../assets/schema/sqlite/finalization.sql"));
    for (task, minutes) in [("late", 10), ("in-time", 0)] {
        scene.database.run(
            "INSERT INTO tasker_tasks (task_uuid, requested_at, created_at, updated_at, claimed_by, claimed_at,
             claim_timeout_seconds) VALUES (?1, ?2, ?2, ?2, 'p', ?3, 60)",
            (task, ago(20), ago(minutes)),
        );
    }
    let run = scene.sweep(&[]);
    assert_eq!(run.tasks("claim:expired"), ["late"], "{run:#?}");
    assert_eq!(scene.text("SELECT task_uuid FROM tasker_tasks WHERE claimed_by = 'p'"), "in-time");
}

/// Tasks of a worker that beats, of one that is silent, and of one that nobody knows.
fn task_queue() -> Scene {
    let scene = Scene::of(include_str!("../../../assets/schema/sqlite/task-queue.sql"));
    scene.database.run("INSERT INTO task_types VALUES (1, 'mail', '1', NULL, 1, ?1, ?1)", [ago(60)]);
    for (worker, minutes) in [("alive", 0), ("silent", 30)] {
        let sql = "INSERT INTO worker_heartbeats (worker_id, last_seen_at) VALUES (?1, ?2)";
        scene.database.run(sql, (worker, ago(minutes)));
    }
    for worker in ["alive", "silent", "unregistered"] {
        scene.database.run(
            "INSERT INTO tasks (task_type_id, status, worker_id, claimed_at, created_at, updated_at)
             VALUES (1, 'claimed', ?1, ?2, ?2, ?2)",
            (worker, ago(40)),
        );
    }
    scene
}

#[test]
fn a_profile_that_could_be_anybodys_is_swept_only_by_its_name() {
    let scene = task_queue();
    let run = scene.sweep(&[]);
    let summary = run.summary(5);
    assert_eq!((&summary["applied"], &summary["refused"]), (&0.into(), &2.into()));
    assert!(run.err.contains("--profile task-queue says that they are its"), "{run:#?}");
    assert_eq!(scene.number("SELECT count(*) FROM tasks WHERE status = 'claimed'"), 3);
    let path = scene.database.path();
    scene.config(&format!("[source.here]\nat = {path:?}\nprofiles = [\"task-queue\"]\n"));
    assert_eq!(scene.sweep(&["--dry-run"]).summary(0)["applied"], 2);
}

#[test]
fn a_task_of_a_silent_or_unknown_worker_is_pending_again_with_a_line_in_the_log() {
    let scene = task_queue();
    let run = scene.sweep(&["--profile", "task-queue"]);
    let reasons: Vec<Json> = run.lines().iter().map(|line| line["reason"].clone()).collect();
    assert!(reasons.contains(&"session_stale".into()) && reasons.contains(&"session_missing".into()));
    assert_eq!(run.summary(0)["orphaned"], 2, "{run:#?}");
    assert_eq!(scene.text("SELECT worker_id FROM tasks WHERE status = 'claimed'"), "alive");
    assert_eq!(scene.number("SELECT count(*) FROM task_logs WHERE event = 'requeued'"), 2);
}

#[test]
fn a_job_whose_kind_has_no_ttl_is_left_alone() {
    let scene = Scene::of(include_str!("../../../assets/schema/sqlite/executor-jobs.sql"));
    for kind in ["run_tsa", "nobody_knows"] {
        scene.database.run(
            "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by) VALUES (?1, ?1, 'running', ?2, 'w')",
            (kind, ago(600)),
        );
    }
    let run = scene.sweep(&[]);
    assert_eq!(run.tasks("claim:expired"), ["run_tsa"], "{run:#?}");
    assert_eq!(scene.text("SELECT id FROM executor_jobs WHERE status = 'running'"), "nobody_knows");
}
