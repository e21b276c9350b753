//! Putting workspaces into the queue, and `next_with_lock`.

use claimtop::worker::merge_queue::Enqueued;
use serde_json::json;

use super::*;

#[test]
fn a_workspace_is_in_the_queue_once() {
    let scene = Scene::new();
    let mut queue = scene.queue();
    assert_eq!(queue.enqueue(&NewEntry::of("w-1").for_bead("bd-1")).unwrap(), Enqueued::New(1));
    assert_eq!(queue.enqueue(&NewEntry::of("w-1").for_bead("bd-1")).unwrap(), Enqueued::WorkspaceTaken(1));
    take(&mut queue, "a-1");
    finish(&mut queue, 1, "a-1");
    assert_eq!(queue.enqueue(&NewEntry::of("w-1")).unwrap(), Enqueued::WorkspaceTaken(1));
    assert_eq!(queue.entries().unwrap().len(), 1);
}

#[test]
fn of_a_dedupe_key_one_entry_is_under_way_at_a_time() {
    let scene = Scene::new();
    let mut queue = scene.queue();
    let new = |number: i64| {
        NewEntry::of(&format!("w-{number}")).for_bead(&format!("bd-{number}")).deduped_by("change-7")
    };
    assert_eq!(queue.enqueue(&new(1)).unwrap(), Enqueued::New(1));
    assert_eq!(queue.enqueue(&new(2)).unwrap(), Enqueued::Duplicate(1));
    take(&mut queue, "a-1");
    assert_eq!(queue.enqueue(&new(2)).unwrap(), Enqueued::Duplicate(1));
    finish(&mut queue, 1, "a-1");
    assert_eq!(queue.enqueue(&new(2)).unwrap(), Enqueued::New(2));
    assert_invariants(&scene.raw);
}

#[test]
fn a_claim_takes_entry_and_lock_together_and_keeps_the_lock() {
    let (scene, mut queue) = Scene::with_entries(1);
    scene.pass(7);
    let next = queue.next_with_lock("a-1").unwrap();
    assert!(next.recovery.clone().unwrap().is_empty());
    let entry = next.entry().unwrap();
    assert_eq!((entry.status, entry.agent_id.as_deref()), (Status::Claimed, Some("a-1")));
    assert_eq!((entry.started_at, entry.state_changed_at), (Some(START + 7), Some(START + 7)));
    assert_eq!((entry.previous_state.as_deref(), entry.added_at), (Some("pending"), START));
    assert_eq!(queue.get_processing_lock().unwrap(), Some(lock("a-1", START + 7, START + 307)));
    let events = queue.events(1).unwrap();
    assert_eq!(events[1].event_type, "claimed");
    assert_eq!(events[1].details, json!({"from": "pending", "to": "claimed", "agent": "a-1"}));
    assert_eq!(events[1].created_at, START + 7);
    assert_invariants(&scene.raw);
}

#[test]
fn while_the_lock_is_held_nobody_claims_its_holder_included() {
    let (scene, mut queue) = Scene::with_entries(2);
    take(&mut queue, "a-1");
    for agent in ["a-2", "a-1"] {
        let claimed = queue.next_with_lock(agent).unwrap().claimed;
        assert_eq!(claimed, Claimed::Locked(lock("a-1", START, START + 300)));
    }
    assert_eq!(status(&queue, 2), Status::Pending);
    finish(&mut queue, 1, "a-1");
    assert_eq!(take(&mut queue, "a-2").id, 2);
    assert_invariants(&scene.raw);
}

#[test]
fn when_nothing_is_pending_the_lock_is_let_go() {
    let (scene, mut queue) = Scene::with_entries(0);
    assert_eq!(queue.next_with_lock("a-1").unwrap().claimed, Claimed::Nothing);
    assert_eq!(queue.get_processing_lock().unwrap(), None);
    assert!(queue.acquire_processing_lock("a-2").unwrap());
    assert_eq!(scene.number("SELECT count(*) FROM queue_events"), 0);
}

#[test]
fn the_lowest_priority_number_comes_first_then_the_oldest() {
    let scene = Scene::new();
    let mut queue = scene.queue();
    for (workspace, priority) in [("late", 5), ("urgent", 1), ("idle", 9)] {
        queue.enqueue(&NewEntry::of(workspace).with_priority(priority)).unwrap();
    }
    scene.run("UPDATE merge_queue SET added_at = added_at + 9 WHERE workspace = 'late'", []);
    queue.enqueue(&NewEntry::of("early")).unwrap();
    queue.enqueue(&NewEntry::of("early, later enqueued")).unwrap();
    let mut order = Vec::new();
    while let Some(entry) = queue.next_with_lock("a-1").unwrap().entry() {
        finish(&mut queue, entry.id, "a-1");
        order.push(entry.workspace);
    }
    assert_eq!(order, ["urgent", "early", "early, later enqueued", "late", "idle"]);
}

#[test]
fn a_blocked_entry_of_a_stack_waits() {
    let (scene, mut queue) = Scene::with_entries(2);
    scene.run("UPDATE merge_queue SET stack_merge_state = 'blocked' WHERE id = 1", []);
    assert_eq!(take(&mut queue, "a-1").id, 2);
    finish(&mut queue, 2, "a-1");
    assert_eq!(queue.next_with_lock("a-1").unwrap().claimed, Claimed::Nothing);
    scene.run("UPDATE merge_queue SET stack_merge_state = 'ready' WHERE id = 1", []);
    assert_eq!(take(&mut queue, "a-1").id, 1);
}

#[test]
fn every_step_is_told_after_it_was_done() {
    let (scene, mut queue) = Scene::with_entries(1);
    take(&mut queue, "a-1");
    scene.pass(301);
    take(&mut queue, "a-2");
    let resource = "queue_processing_lock".to_owned();
    let (first, second) = ("a-1".to_owned(), "a-2".to_owned());
    let at = |seconds: i64| (START + seconds) * 1_000;
    let task_id = "1".to_owned();
    let expected = [
        Event::LockAcquired { resource: resource.clone(), session_id: first.clone(), expires_at: at(300) },
        Event::ClaimAcquired {
            task_id: task_id.clone(),
            session_id: first.clone(),
            expires_at: Some(at(300)),
        },
        Event::LockExpired { resource: resource.clone(), session_id: first.clone(), expired_at: at(300) },
        Event::ClaimExpired {
            task_id: task_id.clone(),
            session_id: first,
            expired_at: at(300),
            age_ms: 301_000,
        },
        Event::LockAcquired { resource, session_id: second.clone(), expires_at: at(601) },
        Event::ClaimAcquired { task_id, session_id: second, expires_at: Some(at(601)) },
    ];
    assert_eq!(*scene.events.lock().unwrap(), expected);
}
