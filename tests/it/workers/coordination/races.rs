//! Many at once, each with a connection of its own: at most one has the task.

use claimtop::worker::Database;
use claimtop::worker::coordination::{
    ClaimOptions, Coordination, CoordinationClaim, LockOutcome, Registration,
};
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use super::World;

const RACERS: usize = 8;

/// Runs `race` in [`RACERS`] threads that start together.
fn race<T: Send>(path: &Path, race: impl Fn(&mut Coordination, &str) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(RACERS);
    thread::scope(|scope| {
        let racer = |number: usize| {
            let (start, race) = (&start, &race);
            scope.spawn(move || {
                let name = format!("racer-{number}");
                let mut coordination = Coordination::new(Database::open(path).expect("a database"));
                coordination.register(&Registration::new(&name, "/project")).expect("a session");
                start.wait();
                race(&mut coordination, &name)
            })
        };
        let racers: Vec<_> = (0..RACERS).map(racer).collect();
        racers.into_iter().map(|racer| racer.join().expect("a racer")).collect()
    })
}

#[test]
fn of_many_that_claim_one_task_exactly_one_gets_it() {
    let world = World::new();
    let answers = race(&world.path(), |coordination, name| {
        coordination.claim_task("task-1", name, &ClaimOptions::default()).expect("an answer")
    });
    assert_eq!(answers.iter().filter(|answer| answer.is_held()).count(), 1, "{answers:?}");
    let owner = &world.claims()[0].1;
    for answer in &answers {
        match answer {
            CoordinationClaim::Claimed { .. } => {}
            CoordinationClaim::AlreadyClaimed { existing_claim } => {
                assert_eq!(&existing_claim.session_id, owner);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn of_many_that_claim_a_hundred_tasks_each_task_has_one_owner() {
    let world = World::new();
    let won = race(&world.path(), |coordination, name| {
        let claim = |task: usize| {
            let task = format!("task-{task}");
            coordination.claim_task(&task, name, &ClaimOptions::default()).expect("an answer").is_held()
        };
        (0..100).map(claim).filter(|held| *held).count()
    });
    assert_eq!(won.iter().sum::<usize>(), 100, "{won:?}");
    assert_eq!(world.claims().len(), 100);
}

#[test]
fn an_expired_claim_is_taken_over_by_exactly_one() {
    let mut world = World::new();
    world.session("ann");
    // The racers have the system's clock, for which this is long over.
    world.claim("task-1", "ann", 1);
    world.run("UPDATE task_claims SET expires_at = 1, claimed_at = 0");
    let answers = race(&world.path(), |coordination, name| {
        coordination.claim_task("task-1", name, &ClaimOptions::default()).expect("an answer")
    });
    let took = |answer: &&CoordinationClaim| matches!(answer, CoordinationClaim::TookOver { .. });
    assert_eq!(answers.iter().filter(took).count(), 1, "{answers:?}");
}

#[test]
fn of_many_that_want_one_lock_exactly_one_gets_it() {
    let world = World::new();
    let answers = race(&world.path(), |coordination, name| {
        coordination.acquire_lock("file", name, None).expect("an answer")
    });
    let got = |answer: &&LockOutcome| matches!(answer, LockOutcome::Acquired { .. });
    assert_eq!(answers.iter().filter(got).count(), 1, "{answers:?}");
}

#[test]
fn many_timers_clean_each_claim_once() {
    let mut world = World::new();
    world.session("ann");
    for task in 0..50 {
        world.claim(&format!("task-{task}"), "ann", 1);
    }
    world.run("UPDATE task_claims SET expires_at = 1");
    let cleaned = race(&world.path(), |coordination, _| {
        coordination.cleanup_expired_claims().expect("a cleanup").count
    });
    assert_eq!(cleaned.iter().sum::<u64>(), 50, "{cleaned:?}");
}
