//! Whatever agents do in whatever order, the invariants hold after every step.

use claimtop::worker::merge_queue::FailureKind;
use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Act {
    Next(usize),
    Acquire(usize),
    Release(usize),
    Extend(usize, i64),
    Move(usize, i64, Status),
    Fail(usize, i64),
    Retry(i64),
    Cancel(i64),
    Recover,
    Reclaim(i64),
    Pass(i64),
}

const AGENTS: [&str; 3] = ["a-1", "a-2", "a-3"];
const ENTRIES: i64 = 4;

fn act() -> impl Strategy<Value = Act> {
    let agent = || 0..AGENTS.len();
    let entry = || 1..=ENTRIES;
    prop_oneof![
        4 => agent().prop_map(Act::Next),
        1 => agent().prop_map(Act::Acquire),
        3 => agent().prop_map(Act::Release),
        2 => (agent(), 1..600_i64).prop_map(|(agent, extra)| Act::Extend(agent, extra)),
        6 => (agent(), entry(), prop::sample::select(&Status::ALL[..]))
            .prop_map(|(agent, entry, to)| Act::Move(agent, entry, to)),
        1 => (agent(), entry()).prop_map(|(agent, entry)| Act::Fail(agent, entry)),
        1 => entry().prop_map(Act::Retry),
        1 => entry().prop_map(Act::Cancel),
        1 => Just(Act::Recover),
        1 => (0..400_i64).prop_map(Act::Reclaim),
        4 => prop_oneof![Just(1), Just(299), Just(300), Just(301), 1..900_i64].prop_map(Act::Pass),
    ]
}

/// Whether it was an agent that got hold of the lock.
fn perform(scene: &Scene, queue: &mut MergeQueue, act: &Act) -> bool {
    match *act {
        Act::Next(agent) => {
            let claimed = queue.next_with_lock(AGENTS[agent]).expect("an answer").claimed;
            return matches!(claimed, Claimed::Entry(_));
        }
        Act::Acquire(agent) => return queue.acquire_processing_lock(AGENTS[agent]).expect("an answer"),
        Act::Release(agent) => drop(queue.release_processing_lock(AGENTS[agent]).expect("an answer")),
        Act::Extend(agent, extra) => drop(queue.extend_lock(AGENTS[agent], extra).expect("an answer")),
        Act::Move(agent, entry, to) => drop(queue.transition(entry, AGENTS[agent], to).expect("an answer")),
        Act::Fail(agent, entry) => {
            let failed = queue.mark_failed(entry, AGENTS[agent], "broken", FailureKind::Retryable);
            drop(failed.expect("an answer"));
        }
        Act::Retry(entry) => drop(queue.retry_entry(entry).expect("an answer")),
        Act::Cancel(entry) => drop(queue.cancel_entry(entry).expect("an answer")),
        Act::Recover => drop(queue.detect_and_recover_stale().expect("an answer")),
        Act::Reclaim(threshold) => drop(queue.reclaim_stale(threshold).expect("an answer")),
        Act::Pass(seconds) => scene.pass(seconds),
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_invariants_hold_after_every_step(acts in prop::collection::vec(act(), 1..60)) {
        let (scene, mut queue) = Scene::with_entries(ENTRIES);
        for act in &acts {
            let now = scene.clock.now().micros() / 1_000_000;
            let before = queue.get_processing_lock().expect("a look");
            let held: Vec<QueueEntry> = queue.entries().expect("a look");
            let stats = queue.get_recovery_stats().expect("a look");
            let got = perform(&scene, &mut queue, act);
            assert_invariants(&scene.raw);
            // A live lock is stolen by nobody.
            if let Some(lock) = before.as_ref().filter(|lock| lock.expires_at >= now) {
                prop_assert!(!got, "{act:?} took the lock of {}", lock.agent_id);
                // And its agent's claimed entries are taken by no recovery.
                if matches!(act, Act::Next(_) | Act::Recover | Act::Reclaim(_)) {
                    let mine = held.iter().filter(|entry| entry.agent_id.as_ref() == Some(&lock.agent_id));
                    for entry in mine {
                        prop_assert_eq!(&queue.entry(entry.id).expect("a look").expect("it"), entry);
                    }
                }
            }
            // What the statistics announce is what is left to do until it is done.
            if matches!(act, Act::Recover) {
                prop_assert!(queue.get_recovery_stats().expect("a look").is_empty());
            } else if matches!(act, Act::Acquire(_)) && !got {
                prop_assert_eq!(queue.get_recovery_stats().expect("a look"), stats);
            }
        }
    }
}
