//! Who is in the fleet: which system each worker serves, and with which temperament.

use std::time::Duration;

use super::dice::Dice;
use super::temperament::Temperament;
use crate::reference::System;

/// A worker's place, filled again whenever its holder dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerSlot {
    pub system: System,
    pub temperament: Temperament,
}

/// The first five serve all systems and bring all kinds of trouble; the twelve are mostly healthy.
const ROSTER: [WorkerSlot; 12] = {
    use System::{Coordination, ExecutorJobs, Finalization, MergeQueue, TaskQueue};
    use Temperament::{Crashing, Forgetful, Hanging, Slow, Steady};
    const fn post(system: System, temperament: Temperament) -> WorkerSlot {
        WorkerSlot { system, temperament }
    }
    [
        post(Coordination, Crashing),
        post(ExecutorJobs, Forgetful),
        post(TaskQueue, Steady),
        post(Finalization, Slow),
        post(MergeQueue, Steady),
        post(Coordination, Steady),
        post(ExecutorJobs, Steady),
        post(TaskQueue, Hanging),
        post(Finalization, Steady),
        post(Coordination, Slow),
        post(ExecutorJobs, Crashing),
        post(MergeQueue, Crashing),
    ]
};

/// The posts of a fleet of this size, for the systems that are there.
pub fn posts(workers: usize, systems: &[System]) -> Vec<WorkerSlot> {
    let posts: Vec<WorkerSlot> = ROSTER.into_iter().filter(|post| systems.contains(&post.system)).collect();
    posts.into_iter().cycle().take(workers).collect()
}

/// How long a worker lives before its fate; the first of a post soon, so that there is something to
/// see, its successors longer, so that the fleet does not look like a battlefield.
pub fn lifetime(generation: u32, dice: &mut Dice) -> Duration {
    match generation {
        0 => dice.millis(2_500, 4_500),
        _ => dice.millis(20_000, 40_000),
    }
}

/// How many of them serve a system.
pub fn serving(system: System, workers: usize) -> usize {
    posts(workers, &System::ALL).into_iter().filter(|post| post.system == system).count()
}
