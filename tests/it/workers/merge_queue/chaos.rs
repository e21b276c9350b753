//! The failure scenarios of merge-queue: agents that die, and agents that come back from the dead.

use claimtop::worker::merge_queue::TransitionOutcome;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::*;

#[test]
fn an_agent_that_dies_with_the_lock_stops_the_others_for_its_time_only() {
    let (scene, mut queue) = Scene::with_entries(2);
    // Its connection goes with it; nothing is cleaned up.
    {
        let mut dying = scene.queue();
        take(&mut dying, "dying");
    }
    scene.pass(300);
    assert!(matches!(queue.next_with_lock("a-2").unwrap().claimed, Claimed::Locked(_)));
    scene.pass(1);
    assert_eq!(take(&mut queue, "a-2").id, 1);
}

#[test]
fn an_agent_that_died_without_a_lock_loses_its_entry_all_the_same() {
    let (scene, mut queue) = Scene::with_entries(1);
    take(&mut queue, "dying");
    scene.run("DELETE FROM queue_processing_lock", []);
    assert_eq!(queue.next_with_lock("a-2").unwrap().claimed, Claimed::Nothing);
    scene.pass(301);
    assert_eq!(take(&mut queue, "a-2").id, 1);
}

#[test]
fn an_agent_that_was_cut_off_finds_that_its_entry_is_anothers() {
    let (scene, mut queue) = Scene::with_entries(1);
    let mut cut_off = scene.queue();
    take(&mut cut_off, "cut-off");
    scene.pass(301);
    take(&mut queue, "a-2");
    assert!(!cut_off.extend_lock("cut-off", 300).unwrap());
    assert!(!cut_off.release_processing_lock("cut-off").unwrap());
    let moved = cut_off.transition(1, "cut-off", Status::Rebasing).unwrap();
    assert_eq!(moved, TransitionOutcome::NotOwner { holder: Some("a-2".into()) });
    finish(&mut queue, 1, "a-2");
    let moved = cut_off.transition(1, "cut-off", Status::Rebasing).unwrap();
    assert_eq!(moved, TransitionOutcome::Forbidden { from: Status::Merged });
    assert_invariants(&scene.raw);
}

#[test]
fn an_agent_that_was_cut_off_and_reclaimed_finds_that_it_has_nothing() {
    let (scene, mut queue) = Scene::with_entries(1);
    take(&mut queue, "cut-off");
    scene.pass(301);
    queue.detect_and_recover_stale().unwrap();
    let moved = queue.transition(1, "cut-off", Status::Rebasing).unwrap();
    assert_eq!(moved, TransitionOutcome::NotOwner { holder: None });
}

#[test]
fn entries_outlive_any_number_of_agents() {
    let (scene, _queue) = Scene::with_entries(1);
    for life in 0..10 {
        let mut queue = scene.queue();
        let next = queue.next_with_lock(&format!("agent-{life}")).unwrap();
        let reclaimed = next.recovery.clone().unwrap().entries_reclaimed;
        assert_eq!((reclaimed, next.entry().unwrap().attempt_count), (usize::from(life > 0), 0));
        scene.pass(301);
        assert_invariants(&scene.raw);
    }
}

/// Of every three entries that are taken, the first taker of two dies while it has lock and entry.
/// Only then does time pass: whoever is alive is never late.
#[test]
fn agents_that_die_all_the_time_merge_every_entry_exactly_once() {
    const ENTRIES: i64 = 20;
    let (scene, _queue) = Scene::with_entries(ENTRIES);
    let taken = AtomicUsize::new(0);
    let queues: Vec<MergeQueue> = (0..6).map(|_| scene.queue()).collect();
    let clock = scene.clock.clone();
    thread::scope(|scope| {
        for (number, mut queue) in queues.into_iter().enumerate() {
            let (taken, clock) = (&taken, &clock);
            let connection = scene.observer();
            scope.spawn(move || {
                let mut life = 0;
                loop {
                    let agent = format!("agent-{number}-{life}");
                    let claimed = queue.next_with_lock(&agent).expect("an answer").claimed;
                    assert_invariants(&connection);
                    match claimed {
                        Claimed::Entry(_) if taken.fetch_add(1, Ordering::SeqCst) % 3 != 2 => {
                            life += 1;
                            clock.advance(Span::seconds(301));
                        }
                        Claimed::Entry(entry) => finish(&mut queue, entry.id, &agent),
                        Claimed::Locked(_) => thread::yield_now(),
                        Claimed::Nothing => return,
                    }
                }
            });
        }
    });
    assert_eq!(scene.number("SELECT count(*) FROM merge_queue WHERE status = 'merged'"), ENTRIES);
    assert_eq!(scene.number("SELECT count(*) FROM queue_events WHERE event_type = 'merged'"), ENTRIES);
    let died = "SELECT count(*) FROM queue_events WHERE details_json ->> 'reason' = 'stale'";
    assert_eq!(scene.number(died), 2 * ENTRIES);
    assert_invariants(&scene.raw);
}
