//! Self-healing: what is stale, what is not, and what a recovery leaves.

use claimtop::worker::merge_queue::RecoveryStats;
use serde_json::json;

use super::*;

fn stats(locks_cleaned: usize, entries_reclaimed: usize, after: i64) -> RecoveryStats {
    RecoveryStats { locks_cleaned, entries_reclaimed, recovery_timestamp: START + after }
}

/// Claimed by an agent that then died, its lock with it.
fn crashed() -> (Scene, MergeQueue) {
    let (scene, mut queue) = Scene::with_entries(1);
    take(&mut queue, "crashed");
    (scene, queue)
}

#[test]
fn automatic_recovery_on_claim() {
    let (scene, mut queue) = crashed();
    scene.pass(301);
    let next = queue.next_with_lock("a-2").unwrap();
    assert_eq!(next.recovery, Ok(stats(1, 1, 301)));
    let entry = next.entry().unwrap();
    assert_eq!((entry.id, entry.agent_id.as_deref()), (1, Some("a-2")));
    assert_eq!(queue.get_processing_lock().unwrap().unwrap().agent_id, "a-2");
    assert_invariants(&scene.raw);
}

#[test]
fn a_recovery_puts_the_entry_back_and_leaves_a_trace() {
    let (scene, mut queue) = crashed();
    let before = queue.entry(1).unwrap().unwrap();
    scene.pass(301);
    assert_eq!(queue.detect_and_recover_stale().unwrap(), stats(1, 1, 301));
    let after = queue.entry(1).unwrap().unwrap();
    let expected = QueueEntry {
        status: Status::Pending,
        started_at: None,
        agent_id: None,
        state_changed_at: Some(START + 301),
        ..before
    };
    assert_eq!(after, expected);
    let trace = queue.events(1).unwrap().pop().unwrap();
    assert_eq!(trace.event_type, "transitioned");
    let details = json!({"from": "claimed", "to": "pending", "agent": "crashed", "reason": "stale",
                         "started_at": START});
    assert_eq!((trace.details, trace.created_at), (details, START + 301));
    assert_eq!(queue.get_processing_lock().unwrap(), None);
}

#[test]
fn exactly_at_the_threshold_nothing_is_stale() {
    let (scene, mut queue) = crashed();
    queue.release_processing_lock("crashed").unwrap();
    scene.pass(300);
    assert_eq!(queue.detect_and_recover_stale().unwrap(), stats(0, 0, 300));
    scene.clock.advance(Span::millis(999));
    assert_eq!(queue.detect_and_recover_stale().unwrap(), stats(0, 0, 300));
    scene.clock.advance(Span::millis(1));
    assert_eq!(queue.detect_and_recover_stale().unwrap(), stats(0, 1, 301));
}

#[test]
fn a_second_recovery_is_a_no_op() {
    let (scene, mut queue) = crashed();
    scene.pass(301);
    queue.detect_and_recover_stale().unwrap();
    let (entries, events) = (queue.entries().unwrap(), queue.events(1).unwrap());
    scene.pass(1);
    assert_eq!(queue.detect_and_recover_stale().unwrap(), stats(0, 0, 302));
    assert_eq!(queue.reclaim_stale(0).unwrap(), 0);
    assert_eq!((queue.entries().unwrap(), queue.events(1).unwrap()), (entries, events));
}

#[test]
fn the_statistics_say_what_a_recovery_would_do_and_do_nothing() {
    let (scene, mut queue) = Scene::with_entries(6);
    for agent in 1..=5 {
        take(&mut queue, &format!("a-{agent}"));
        queue.release_processing_lock(&format!("a-{agent}")).unwrap();
        scene.pass(60);
    }
    queue.acquire_processing_lock("a-9").unwrap();
    scene.pass(61);
    assert_eq!(queue.get_recovery_stats().unwrap(), stats(0, 2, 361));
    scene.pass(301);
    let said = queue.get_recovery_stats().unwrap();
    assert_eq!(said, stats(1, 5, 662));
    assert_eq!(queue.get_recovery_stats().unwrap(), said);
    assert!(queue.is_lock_stale().unwrap());
    assert_eq!(queue.detect_and_recover_stale().unwrap(), said);
    assert_eq!(queue.get_recovery_stats().unwrap(), stats(0, 0, 662));
    assert_invariants(&scene.raw);
}

#[test]
fn an_empty_queue_has_nothing_to_recover() {
    let mut queue = Scene::new().queue();
    assert_eq!(queue.detect_and_recover_stale().unwrap(), stats(0, 0, 0));
    assert_eq!(queue.get_recovery_stats().unwrap(), stats(0, 0, 0));
}

#[test]
fn the_entry_of_an_agent_that_extends_its_lock_is_never_reclaimed() {
    let (scene, mut queue) = Scene::with_entries(2);
    take(&mut queue, "silent");
    queue.release_processing_lock("silent").unwrap();
    take(&mut queue, "working");
    for _ in 0..20 {
        scene.pass(299);
        assert!(queue.extend_lock("working", 300).unwrap());
        scene.queue().detect_and_recover_stale().unwrap();
        scene.queue().reclaim_stale(0).unwrap();
        assert!(matches!(scene.queue().next_with_lock("other").unwrap().claimed, Claimed::Locked(_)));
        assert_eq!(status(&queue, 2), Status::Claimed);
    }
    // The silent one's went back meanwhile.
    assert_eq!(status(&queue, 1), Status::Pending);
    // As soon as the lock is over, so is the grace.
    scene.pass(300);
    assert_eq!(queue.get_recovery_stats().unwrap().entries_reclaimed, 0);
    scene.pass(1);
    assert_eq!(queue.get_recovery_stats().unwrap().entries_reclaimed, 1);
    assert_invariants(&scene.raw);
}

#[test]
fn a_lock_of_another_agent_spares_nobody() {
    let (scene, mut queue) = Scene::with_entries(1);
    take(&mut queue, "silent");
    queue.release_processing_lock("silent").unwrap();
    scene.pass(301);
    queue.acquire_processing_lock("working").unwrap();
    assert_eq!(queue.detect_and_recover_stale().unwrap(), stats(0, 1, 301));
}

#[test]
fn only_claimed_entries_are_recovered() {
    for later in [Status::Rebasing, Status::Testing, Status::ReadyToMerge, Status::Merging] {
        let (scene, mut queue) = crashed();
        for to in [Status::Rebasing, Status::Testing, Status::ReadyToMerge, Status::Merging] {
            if status(&queue, 1) != later {
                walk(&mut queue, 1, "crashed", to);
            }
        }
        scene.pass(100_000);
        assert_eq!(queue.detect_and_recover_stale().unwrap(), stats(1, 0, 100_000), "{later}");
        assert_eq!(status(&queue, 1), later);
    }
}

#[test]
fn a_manual_reclaim_takes_its_own_threshold() {
    let (scene, mut queue) = crashed();
    queue.release_processing_lock("crashed").unwrap();
    scene.pass(60);
    assert_eq!(queue.reclaim_stale(300).unwrap(), 0);
    assert_eq!(queue.reclaim_stale(60).unwrap(), 0);
    assert_eq!(queue.reclaim_stale(59).unwrap(), 1);
    assert_eq!(queue.reclaim_stale(59).unwrap(), 0);
    assert_eq!(status(&queue, 1), Status::Pending);
}

#[test]
fn a_manual_reclaim_removes_an_expired_lock_too() {
    let (scene, mut queue) = crashed();
    scene.pass(301);
    assert_eq!(queue.reclaim_stale(300).unwrap(), 1);
    assert_eq!(queue.get_processing_lock().unwrap(), None);
}

#[test]
fn a_failing_recovery_does_not_stop_the_claim_and_is_told() {
    let (scene, mut queue) = Scene::with_entries(2);
    take(&mut queue, "crashed");
    scene.break_recovery();
    scene.pass(301);
    let next = queue.next_with_lock("a-2").unwrap();
    let why = next.recovery.clone().unwrap_err();
    assert!(why.contains("the disk of entries is broken"), "{why}");
    assert_eq!(next.entry().unwrap().id, 2);
    // Nothing of the recovery was kept, and the lock is the new agent's.
    assert_eq!(queue.entry(1).unwrap().unwrap().agent_id.as_deref(), Some("crashed"));
    assert_eq!(queue.get_processing_lock().unwrap(), Some(lock("a-2", START + 301, START + 601)));
    // Asked for by itself it does fail.
    assert!(queue.detect_and_recover_stale().is_err());
    finish(&mut queue, 2, "a-2");
    scene.run("DROP TRIGGER broken", []);
    assert_eq!(take(&mut queue, "a-2").id, 1);
    assert_invariants(&scene.raw);
}

#[test]
fn a_recovery_that_rolls_everything_back_does_not_take_the_claim_along() {
    let (scene, mut queue) = Scene::with_entries(2);
    take(&mut queue, "crashed");
    let sql = "CREATE TRIGGER broken BEFORE UPDATE ON merge_queue WHEN new.status = 'pending'
               BEGIN SELECT RAISE(ROLLBACK, 'all of it'); END";
    scene.raw.execute_batch(sql).unwrap();
    scene.pass(301);
    let next = queue.next_with_lock("a-2").unwrap();
    assert!(next.recovery.is_err());
    assert_eq!(next.entry().unwrap().id, 2);
    assert_invariants(&scene.raw);
}
