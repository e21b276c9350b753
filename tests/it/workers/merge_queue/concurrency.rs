//! Many agents on connections of their own, watched by one that knows only the tables.

use crate::support::Ending;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use super::invariants::assert_one_owner;
use super::*;

/// Looks at the tables until it is told to stop; how often it saw an owner.
fn observe(connection: &Connection, looks: &AtomicU64, over: &AtomicBool) -> u64 {
    let mut owned = 0;
    while !over.load(Ordering::SeqCst) {
        owned += u64::from(assert_one_owner(connection).is_some());
        assert_invariants(connection);
        looks.fetch_add(1, Ordering::SeqCst);
    }
    owned
}

/// Waits until a look that began after now has ended; an observer that has found something ends too.
fn be_seen(looks: &AtomicU64, over: &AtomicBool) {
    let enough = looks.load(Ordering::SeqCst) + 2;
    while looks.load(Ordering::SeqCst) < enough && !over.load(Ordering::SeqCst) {
        thread::yield_now();
    }
}

#[test]
fn eight_agents_have_one_owner_at_most_at_every_instant() {
    const ENTRIES: i64 = 24;
    let (scene, _queue) = Scene::with_entries(ENTRIES);
    let (looks, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let observer = scene.observer();
    let queues: Vec<MergeQueue> = (0..8).map(|_| scene.queue()).collect();
    let mut merged: Vec<i64> = Vec::new();
    thread::scope(|scope| {
        let (looks, over) = (&looks, &over);
        let observer = scope.spawn(move || {
            let _ending = Ending(over);
            observe(&observer, looks, over)
        });
        let _ending = Ending(over);
        let agents: Vec<_> = (0..8)
            .zip(queues)
            .map(|(number, mut queue)| {
                scope.spawn(move || {
                    let agent = format!("agent-{number}");
                    let mut mine = Vec::new();
                    loop {
                        match queue.next_with_lock(&agent).expect("an answer").claimed {
                            Claimed::Entry(entry) => {
                                be_seen(looks, over);
                                finish(&mut queue, entry.id, &agent);
                                mine.push(entry.id);
                            }
                            Claimed::Locked(lock) => assert_ne!(lock.agent_id, agent),
                            Claimed::Nothing => return mine,
                        }
                    }
                })
            })
            .collect();
        for agent in agents {
            merged.extend(agent.join().expect("an agent that ends well"));
        }
        over.store(true, Ordering::SeqCst);
        let owned = observer.join().expect("an observer that found nothing");
        assert!(owned >= ENTRIES as u64, "only {owned} looks saw an owner");
    });
    merged.sort_unstable();
    assert_eq!(merged, (1..=ENTRIES).collect::<Vec<_>>());
    assert_eq!(scene.number("SELECT count(*) FROM queue_events WHERE event_type = 'claimed'"), ENTRIES);
    assert_eq!(scene.number("SELECT count(*) FROM queue_processing_lock"), 0);
}

/// Everybody does this at once, each on a connection of its own.
fn all_at_once<T: Send>(
    scene: &Scene,
    count: usize,
    work: impl Fn(usize, &mut MergeQueue) -> T + Sync,
) -> Vec<T> {
    let queues: Vec<MergeQueue> = (0..count).map(|_| scene.queue()).collect();
    let start = std::sync::Barrier::new(count);
    thread::scope(|scope| {
        let (work, start) = (&work, &start);
        let threads: Vec<_> = queues
            .into_iter()
            .enumerate()
            .map(|(number, mut queue)| {
                scope.spawn(move || {
                    start.wait();
                    work(number, &mut queue)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread that ends well")).collect()
    })
}

#[test]
fn ten_agents_that_recover_at_once_reclaim_every_entry_once() {
    let (scene, mut queue) = Scene::with_entries(5);
    for agent in ["a", "b", "c", "d", "e"] {
        take(&mut queue, agent);
        queue.release_processing_lock(agent).unwrap();
    }
    queue.acquire_processing_lock("dead").unwrap();
    scene.pass(301);
    let all = all_at_once(&scene, 10, |_, queue| queue.detect_and_recover_stale().expect("a recovery"));
    assert_eq!(all.iter().map(|stats| stats.entries_reclaimed).sum::<usize>(), 5);
    assert_eq!(all.iter().map(|stats| stats.locks_cleaned).sum::<usize>(), 1);
    let traces = "SELECT count(*) FROM queue_events WHERE details_json ->> 'reason' = 'stale'";
    assert_eq!(scene.number(traces), 5);
    assert_invariants(&scene.raw);
}

#[test]
fn of_ten_agents_that_find_a_dead_one_exactly_one_takes_over() {
    let (scene, mut queue) = Scene::with_entries(1);
    take(&mut queue, "dead");
    scene.pass(301);
    let all = all_at_once(&scene, 10, |number, queue| {
        queue.next_with_lock(&format!("a-{number}")).expect("an answer").claimed
    });
    let owners = all.iter().filter(|claimed| matches!(claimed, Claimed::Entry(_))).count();
    assert_eq!(owners, 1, "{all:?}");
    assert_invariants(&scene.raw);
}

#[test]
fn of_ten_agents_exactly_one_gets_a_lock() {
    let scene = Scene::new();
    let all = all_at_once(&scene, 10, |number, queue| {
        queue.acquire_processing_lock(&format!("a-{number}")).expect("an answer")
    });
    assert_eq!(all.iter().filter(|got| **got).count(), 1);
}
