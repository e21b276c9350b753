//! What the specifications ask of a recovery: done twice it is done once, and only to its owner's claim.

use super::*;

/// The columns of merge-queue that a recovery reads or writes.
const QUEUE: &str = "
    CREATE TABLE merge_queue (id INTEGER PRIMARY KEY AUTOINCREMENT, workspace TEXT NOT NULL UNIQUE,
      priority INTEGER NOT NULL DEFAULT 5, status TEXT NOT NULL DEFAULT 'pending', added_at INTEGER NOT NULL,
      started_at INTEGER, completed_at INTEGER, error_message TEXT, agent_id TEXT, state_changed_at INTEGER,
      attempt_count INTEGER DEFAULT 0, max_attempts INTEGER DEFAULT 3);
    CREATE INDEX idx_merge_queue_status ON merge_queue(status);
    CREATE TABLE queue_processing_lock (id INTEGER PRIMARY KEY CHECK (id = 1), agent_id TEXT NOT NULL,
      acquired_at INTEGER NOT NULL, expires_at INTEGER NOT NULL);";

/// The tables of finalization, as far as its function uses them.
const FINALIZATION: &str = "
    CREATE TABLE tasker_tasks (task_uuid uuid PRIMARY KEY NOT NULL, complete boolean NOT NULL DEFAULT false,
      claimed_by character varying, claimed_at timestamp, claim_timeout_seconds integer, updated_at timestamp);";

const TASK: &str = "7461736b-2d31-0000-0000-000000000000";

/// An entry that an agent claimed an hour ago, and the lock it let run out.
fn queue() -> Scene {
    let scene = Scene::of(QUEUE);
    let hour_ago = now() / SECOND - 3_600;
    scene.database.run(
        "INSERT INTO merge_queue (workspace, status, added_at, started_at, agent_id, attempt_count)
         VALUES ('w', 'claimed', ?1, ?1, 'agent-a', 1)",
        [hour_ago],
    );
    scene
        .database
        .run("INSERT INTO queue_processing_lock VALUES (1, 'agent-a', ?1, ?2)", [hour_ago, hour_ago + 300]);
    scene
}

fn finalization() -> Scene {
    let scene = Scene::of(FINALIZATION);
    claim(&scene, "processor-1", 10);
    scene
}

/// The task is claimed by this processor, this many minutes ago, for one minute.
fn claim(scene: &Scene, processor: &str, minutes_ago: i64) {
    let at = chrono::Utc::now() - chrono::TimeDelta::minutes(minutes_ago);
    scene.database.run(
        "INSERT INTO tasker_tasks (task_uuid, claimed_by, claimed_at, claim_timeout_seconds)
         VALUES (?1, ?2, ?3, 60) ON CONFLICT (task_uuid) DO UPDATE
         SET claimed_by = excluded.claimed_by, claimed_at = excluded.claimed_at",
        (TASK, processor, at.format("%Y-%m-%d %H:%M:%S%.6f").to_string()),
    );
}

fn holder(scene: &Scene) -> Option<String> {
    scene.database.rows("SELECT claimed_by FROM tasker_tasks").remove(0).remove(0)
}

#[test]
fn reclaiming_stale_entries_twice_changes_nothing_the_second_time() {
    on_both(|| {
        let scene = queue();
        let bulk = ["reclaim", "DB", "--set", "stale", "--yes", "--json"];
        let first = scene.run(&bulk);
        assert_eq!((first.code, first.results().len()), (0, 2), "{first:#?}");
        let pending = "SELECT count(*) FROM merge_queue WHERE status = 'pending' AND agent_id IS NULL
                   AND started_at IS NULL AND attempt_count = 1";
        assert_eq!(scene.number(pending), 1);
        assert_eq!(scene.number("SELECT count(*) FROM queue_processing_lock"), 0);
        let bytes = scene.bytes();
        let second = scene.run(&bulk);
        assert_eq!((second.code, second.lines().len()), (0, 1), "{second:#?}");
        assert_eq!(second.tally()["wanted"], 0);
        scene.run(&["reclaim", "DB", "merge-queue/entry/1", "--json"]).came_to(4, "moved");
        scene.assert_untouched(&bytes, "a second reclaim");
    });
}

#[test]
fn releasing_what_is_released_has_moved() {
    on_both(|| {
        let scene = queue();
        for address in ["merge-queue/lock/1", "merge-queue/entry/1"] {
            scene.run(&["release", "DB", address, "--json"]).came_to(0, "applied");
            let bytes = scene.bytes();
            scene.run(&["release", "DB", address, "--json"]).came_to(4, "moved");
            scene.assert_untouched(&bytes, "a second release");
        }
    });
}

#[test]
fn a_lock_that_another_agent_holds_now_is_not_released() {
    on_both(|| {
        let scene = queue();
        let all = scene.run(&["list", "--json", "--board", "lock", "DB"]).lines();
        let token = all[0]["seen"].as_str().expect("a token");
        let second = now() / SECOND;
        scene.database.run(
            "UPDATE queue_processing_lock SET agent_id = 'agent-b', acquired_at = ?1, expires_at = ?2",
            [second, second + 300],
        );
        let bytes = scene.bytes();
        scene.run(&["release", "DB", "merge-queue/lock/1", "--seen", token, "--json"]).came_to(4, "moved");
        scene.assert_untouched(&bytes, "a token of the agent before");
    });
}

#[test]
fn only_the_owners_claim_is_released() {
    on_both(|| {
        let scene = finalization();
        let token = scene.seen(TASK);
        // Another processor has taken over, whether its own time is up by now or not.
        for minutes_ago in [0, 10] {
            claim(&scene, "processor-2", minutes_ago);
            let bytes = scene.bytes();
            for verb in ["release", "reclaim", "extend"] {
                scene.run(&[verb, "DB", TASK, "--seen", &token, "--json"]).came_to(4, "moved");
            }
            scene.assert_untouched(&bytes, "a token of the processor before");
        }
        let named = ["--force", "--reason", "x", "--holder", "processor-1"];
        claim(&scene, "processor-2", 0);
        scene.run(&[&["release", "DB", TASK, "--json"][..], &named].concat()).came_to(5, "refused");
        assert_eq!(holder(&scene).as_deref(), Some("processor-2"));
    });
}

#[test]
fn a_released_task_can_be_had_back_until_somebody_claims_it() {
    on_both(|| {
        let scene = finalization();
        let object = scene.run(&["release", "DB", TASK, "--json"]).came_to(0, "applied");
        assert_eq!(holder(&scene), None);
        let action = object["action_id"].as_str().expect("an id");
        scene.run(&["undo", "DB", action, "--json"]).came_to(0, "applied");
        assert_eq!(holder(&scene).as_deref(), Some("processor-1"));
        let object = scene.run(&["release", "DB", TASK, "--json"]).came_to(0, "applied");
        claim(&scene, "processor-2", 0);
        let action = object["action_id"].as_str().expect("an id");
        scene.run(&["undo", "DB", action, "--json"]).came_to(4, "moved");
        assert_eq!(holder(&scene).as_deref(), Some("processor-2"));
    });
}
