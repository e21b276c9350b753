//! Where a board has a priority, the most urgent claims go first.

use super::*;
use crate::support::uuid_of;

#[test]
fn under_the_cap_the_most_urgent_entries_of_the_merge_queue_are_swept_first() {
    on_both(|| {
        let scene = Scene::of(System::MergeQueue);
        scene.config("[sweep]\nunfenced = true\n");
        let seconds = now() / SECOND;
        // The oldest claims are the least urgent here; lower is more urgent.
        for (workspace, priority, started) in [("later", 9, 9_000), ("soon", 5, 3_600), ("now", 0, 600)] {
            scene.database.run(
                "INSERT INTO merge_queue (workspace, status, priority, added_at, started_at, agent_id)
                 VALUES (?1, 'claimed', ?2, ?3, ?3, 'agent-' || ?1)",
                (workspace, priority, seconds - started),
            );
        }
        let left = |scene: &Scene| {
            scene
                .database
                .texts("SELECT workspace FROM merge_queue WHERE status = 'claimed' ORDER BY priority")
        };
        assert_eq!(scene.sweep(&["--max", "1"]).summary(5)["applied"], 1);
        assert_eq!(left(&scene), ["soon", "later"]);
        let bulk = scene.run(&["reclaim", "DB", "--set", "stale", "--limit", "1", "--yes"]);
        assert_eq!(bulk.code, 0, "{bulk:#?}");
        assert_eq!(left(&scene), ["later"]);
    });
}

#[test]
fn finalization_counts_the_other_way() {
    on_both(|| {
        let scene = Scene::of(System::Finalization);
        for (task, priority, minutes) in [("low", 1, 90), ("urgent", 4, 10), ("high", 3, 60)] {
            let at = chrono::Utc::now() - chrono::TimeDelta::minutes(minutes);
            scene.database.run(
                "INSERT INTO tasker_tasks (task_uuid, priority, requested_at, created_at, updated_at, claimed_by,
                 claimed_at, claim_timeout_seconds) VALUES (?1, ?2, ?3, ?3, ?3, 'p', ?3, 60)",
                (uuid_of(task), priority, at.format("%Y-%m-%d %H:%M:%S%.3f").to_string()),
            );
        }
        for task in ["urgent", "high", "low"] {
            let run = scene.sweep(&["--max", "1"]);
            assert_eq!(run.tasks("claim:expired"), [uuid_of(task)], "{run:#?}");
        }
    });
}

#[test]
fn the_task_queue_is_swept_by_its_highest_priority_first_and_so_is_a_bulk() {
    on_both(|| {
        let scene = Scene::of(System::TaskQueue);
        scene.config("[sweep]\nunfenced = true\n");
        let at = chrono::Utc::now() - chrono::TimeDelta::minutes(30);
        let at = at.format("%Y-%m-%d %H:%M:%S").to_string();
        scene.database.run(
            "INSERT INTO task_types (id, name, version, created_at, updated_at) VALUES (1, 'mail', '1', ?1, ?1)",
            [at.as_str()],
        );
        for (id, priority) in [(1, 0), (2, 9), (3, 5)] {
            scene.database.run(
                "INSERT INTO tasks (id, task_type_id, status, params, dedupe_key, priority, worker_id, claimed_at,
                 created_at, updated_at)
                 VALUES (?1, 1, 'claimed', '{}', ?2, ?3, 'w', ?4, ?4, ?4)",
                (id, format!("key-{id}"), priority, at.as_str()),
            );
        }
        let left = || {
            scene.database.texts("SELECT CAST(id AS TEXT) FROM tasks WHERE status = 'claimed' ORDER BY id")
        };
        let run = scene.sweep(&["--max", "1", "--profile", "task-queue"]);
        assert_eq!(left(), ["1", "3"], "{run:#?}");
        let bulk = ["reclaim", "DB", "--set", "stale", "--limit", "1", "--yes", "--profile", "task-queue"];
        assert_eq!(scene.run(&bulk).code, 0);
        assert_eq!(left(), ["1"]);
    });
}
