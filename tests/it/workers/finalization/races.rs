//! Many processors at once: never two owners.

use super::*;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;

const PROCESSORS: usize = 8;
const ROUNDS: usize = 60;

/// Whoever gets the claim adds itself here, and takes itself out before it lets go.
#[derive(Default)]
struct Floor {
    inside: AtomicI64,
    most: AtomicI64,
    finalized: AtomicI64,
}

impl Floor {
    fn enter(&self) {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
        thread::yield_now();
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

fn processor(place: &Place, number: usize, floor: &Floor) {
    let name = format!("p-{number}");
    let mut finalization = place.finalization(&Clock::system(), &Heard::default());
    for round in 0..ROUNDS {
        let outcome = finalization.claim_task_for_finalization("t", &name, TIMEOUT).unwrap();
        match outcome {
            FinalizationClaim::Claimed { .. } => {
                floor.enter();
                if round % 3 == 0 {
                    assert!(finalization.extend("t", &name).unwrap());
                }
                floor.finalized.fetch_add(1, Ordering::SeqCst);
                assert!(finalization.release("t", &name).unwrap());
            }
            FinalizationClaim::AlreadyClaimed { by, .. } => assert_ne!(by, name),
            other => panic!("{other:?}"),
        }
    }
}

/// Reads the table on its own, as often as it can: who holds the task, and since when.
fn observe(ground: &Ground, done: &AtomicBool) -> Vec<(Option<String>, Option<String>)> {
    let mut seen: Vec<(Option<String>, Option<String>)> = Vec::new();
    while !done.load(Ordering::SeqCst) {
        let mut row = ground.rows("SELECT claimed_by, claimed_at FROM tasker_tasks").remove(0);
        let row = (row.remove(0), row.remove(0));
        if seen.last() != Some(&row) {
            seen.push(row);
        }
    }
    seen
}

#[test]
fn eight_processors_never_own_a_task_together() {
    on_both(|world| {
        let place = world.ground.place();
        let (floor, done) = (Floor::default(), AtomicBool::new(false));
        let seen = thread::scope(|scope| {
            let (place, floor, done) = (&place, &floor, &done);
            let processors: Vec<_> =
                (0..PROCESSORS).map(|number| scope.spawn(move || processor(place, number, floor))).collect();
            scope.spawn(move || {
                let ended: Vec<_> = processors.into_iter().map(|processor| processor.join()).collect();
                done.store(true, Ordering::SeqCst);
                ended.into_iter().for_each(|end| end.unwrap());
            });
            observe(&world.ground, done)
        });
        assert_eq!(floor.most.load(Ordering::SeqCst), 1);
        for (holder, since) in &seen {
            assert_eq!(holder.is_some(), since.is_some(), "a claim is whole or not there");
        }
        assert!(seen.iter().any(|(holder, _)| holder.is_some()), "the observer saw claims");
        // One attempt per call; each grant was followed by a release, so no two grants overlap in the trail.
        let sql = "SELECT count(*) FROM tasker_finalization_attempts WHERE operation = 'claim'";
        assert_eq!(world.one::<i64>(sql), (PROCESSORS * ROUNDS) as i64);
        let sql = "SELECT count(*) FROM tasker_finalization_attempts
               WHERE message = 'Successfully claimed for finalization'";
        assert_eq!(world.one::<i64>(sql), floor.finalized.load(Ordering::SeqCst));
        assert_eq!(world.holder(), None);
    });
}

#[test]
fn of_eight_processors_that_see_the_last_step_end_one_finalizes() {
    on_both(|mut world| {
        for round in 0..10 {
            let task = format!("task-{round}");
            world.ready_task(&task);
            let (place, barrier) = (world.ground.place(), Barrier::new(PROCESSORS));
            let race = |number: usize| {
                let name = format!("p-{number}");
                let mut finalization = place.finalization(&Clock::system(), &Heard::default());
                barrier.wait();
                let claimed = finalization.claim_task_for_finalization(&task, &name, TIMEOUT).unwrap();
                claimed.is_claimed() && finalization.complete(&task, &name).unwrap() == Completion::Completed
            };
            let finalized: usize = thread::scope(|scope| {
                let race = &race;
                let all: Vec<_> = (0..PROCESSORS).map(|number| scope.spawn(move || race(number))).collect();
                all.into_iter().map(|one| usize::from(one.join().unwrap())).sum()
            });
            assert_eq!(finalized, 1);
        }
        assert_eq!(
            world.one::<i64>("SELECT count(*) FROM tasker_task_transitions WHERE to_state = 'complete'"),
            10
        );
    });
}
