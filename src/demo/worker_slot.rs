//! The workers of the fleet: which system each serves, and how it behaves.

use std::time::Duration;

use super::behaviour::Behaviour;
use super::seeded_rng::SeededRng;
use crate::reference::System;

/// A worker's place in the fleet. It is filled again when its process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerSlot {
    pub system: System,
    pub behaviour: Behaviour,
}

/// The first five cover all systems and all kinds of trouble; the other seven are mostly healthy.
const ROSTER: [WorkerSlot; 12] = {
    use Behaviour::{Crashing, Forgetful, Hanging, Slow, Steady};
    use System::{Coordination, ExecutorJobs, Finalization, MergeQueue, TaskQueue};
    const fn slot(system: System, behaviour: Behaviour) -> WorkerSlot {
        WorkerSlot { system, behaviour }
    }
    [
        slot(Coordination, Crashing),
        slot(ExecutorJobs, Forgetful),
        slot(TaskQueue, Steady),
        slot(Finalization, Slow),
        slot(MergeQueue, Steady),
        slot(Coordination, Steady),
        slot(ExecutorJobs, Steady),
        slot(TaskQueue, Hanging),
        slot(Finalization, Steady),
        slot(Coordination, Slow),
        slot(ExecutorJobs, Crashing),
        slot(MergeQueue, Crashing),
    ]
};

/// The slots of a fleet of this size, for the systems that exist.
pub(super) fn slots(workers: usize, systems: &[System]) -> Vec<WorkerSlot> {
    let slots: Vec<WorkerSlot> = ROSTER.into_iter().filter(|slot| systems.contains(&slot.system)).collect();
    slots.into_iter().cycle().take(workers).collect()
}

/// How long a worker lives before it fails. The first one of a slot fails soon, so that there is something to see; its
/// successors live longer, so that most of the fleet stays healthy.
pub(super) fn lifetime(generation: u32, rng: &mut SeededRng) -> Duration {
    match generation {
        0 => rng.millis(2_500, 4_500),
        _ => rng.millis(20_000, 40_000),
    }
}

/// How many workers of a fleet serve a system.
pub(super) fn serving(system: System, workers: usize) -> usize {
    slots(workers, &System::ALL).into_iter().filter(|slot| slot.system == system).count()
}
