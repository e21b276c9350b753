//! The other systems: each is swept by its own transition, and left alone without firm ground.

use super::*;
use crate::support::uuid_of;

fn ago(minutes: i64) -> String {
    let at = chrono::Utc::now() - chrono::TimeDelta::minutes(minutes);
    at.format("%Y-%m-%d %H:%M:%S%.3f").to_string()
}

#[test]
fn a_merge_queue_entry_is_pending_again_and_its_lock_is_gone() {
    on_both(|| {
        let scene = Scene::of(System::MergeQueue);
        scene.config("[sweep]\nunfenced = true\n");
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
    });
}

#[test]
fn a_finalization_past_its_timeout_can_be_claimed_again() {
    on_both(|| {
        let scene = Scene::of(System::Finalization);
        for (task, minutes) in [("late", 10), ("in-time", 0)] {
            scene.database.run(
            "INSERT INTO tasker_tasks (task_uuid, requested_at, created_at, updated_at, claimed_by, claimed_at,
             claim_timeout_seconds) VALUES (?1, ?2, ?2, ?2, 'p', ?3, 60)",
            (uuid_of(task), ago(20), ago(minutes)),
        );
        }
        let run = scene.sweep(&[]);
        assert_eq!(run.tasks("claim:expired"), [uuid_of("late")], "{run:#?}");
        assert_eq!(
            scene.text("SELECT task_uuid FROM tasker_tasks WHERE claimed_by = 'p'"),
            uuid_of("in-time")
        );
    });
}

/// Tasks of a worker that beats, of one that is silent, and of one that nobody knows.
fn task_queue() -> Scene {
    let scene = Scene::of(System::TaskQueue);
    scene.config("[sweep]\nunfenced = true\n");
    scene.database.run(
        "INSERT INTO task_types (id, name, created_at, updated_at) VALUES (1, 'mail', ?1, ?1)",
        [ago(60)],
    );
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
    on_both(|| {
        let scene = task_queue();
        let run = scene.sweep(&[]);
        let summary = run.summary(5);
        assert_eq!((&summary["applied"], &summary["refused"]), (&0.into(), &2.into()));
        assert!(run.err.contains("--profile task-queue confirms that they are its"), "{run:#?}");
        assert_eq!(scene.number("SELECT count(*) FROM tasks WHERE status = 'claimed'"), 3);
        let source = scene.database.source();
        scene.config(&format!(
            "[source.here]\nat = {source:?}\nprofiles = [\"task-queue\"]\n[source.here.sweep]\nunfenced = true\n"
        ));
        assert_eq!(scene.sweep(&["--dry-run"]).summary(0)["applied"], 2);
    });
}

#[test]
fn a_task_of_a_silent_worker_or_an_old_one_of_a_stranger_is_pending_again_with_a_line_in_the_log() {
    on_both(|| {
        let scene = task_queue();
        let run = scene.sweep(&["--profile", "task-queue"]);
        let reasons: Vec<Json> = run.lines().iter().map(|line| line["reason"].clone()).collect();
        assert!(reasons.contains(&"session_stale".into()), "{run:#?}");
        // Nobody has to register: the claim of a stranger is taken for its age.
        let summary = run.summary(0);
        assert_eq!((&summary["orphaned"], &summary["expired"]), (&1.into(), &1.into()), "{run:#?}");
        assert_eq!(scene.text("SELECT worker_id FROM tasks WHERE status = 'claimed'"), "alive");
        assert_eq!(scene.number("SELECT count(*) FROM task_logs WHERE event = 'requeued'"), 2);
    });
}

#[test]
fn a_job_whose_kind_has_no_ttl_is_left_alone() {
    on_both(|| {
        let scene = Scene::of(System::ExecutorJobs);
        for kind in ["run_tsa", "nobody_knows"] {
            scene.database.run(
            "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by) VALUES (?1, ?2, 'running', ?3, 'w')",
            (uuid_of(kind), kind, ago(607)),
        );
        }
        let run = scene.sweep(&[]);
        assert_eq!(run.tasks("claim:expired"), [uuid_of("run_tsa")], "{run:#?}");
        assert_eq!(scene.text("SELECT type FROM executor_jobs WHERE status = 'running'"), "nobody_knows");
    });
}
