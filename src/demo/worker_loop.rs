//! The loop of a demo worker: take tasks, renew them, finish them, until it fails.

use rustix::process::{Signal, getpid, kill_process};
use std::time::{Duration, Instant};

use super::behaviour::{Behaviour, FailureMode};
use super::error::DemoError;
use super::parent_guard::{ParentGuard, Wait};
use super::seeded_rng::SeededRng;
use super::system_worker::{Renewed, SystemWorker, TaskOutcome};
use super::worker_slot::WorkerSlot;
use crate::worker::WorkerError;

/// Everything that a worker process is started with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerSpec {
    pub slot: WorkerSlot,
    /// Its number in the fleet, for its name.
    pub number: u32,
    /// The size of the fleet.
    pub fleet: usize,
    pub seed: u64,
    /// How long it works before it fails.
    pub lifetime: Duration,
}

#[derive(Debug)]
pub(super) struct WorkerLoop {
    guard: ParentGuard,
    behaviour: Behaviour,
    rng: SeededRng,
    ends_at: Instant,
}

/// A task that the worker holds.
struct HeldTask<T> {
    task: T,
    done_at: Instant,
    renewed_at: Instant,
}

const TICK: Duration = Duration::from_millis(150);

impl WorkerLoop {
    pub(super) fn new(guard: ParentGuard, spec: &WorkerSpec) -> WorkerLoop {
        WorkerLoop {
            guard,
            behaviour: spec.slot.behaviour,
            rng: SeededRng::new(spec.seed),
            ends_at: Instant::now() + spec.lifetime,
        }
    }

    /// Works until the parent is gone or the worker's lifetime is over.
    pub(super) fn run<T: SystemWorker>(mut self, mut worker: T) -> Result<(), DemoError> {
        let mut hands: Vec<HeldTask<T::Task>> = Vec::new();
        let mut reported_at = None;
        let mut next_take = Instant::now();
        loop {
            let done = self
                .report(&mut worker, &mut reported_at)
                .and_then(|()| self.work(&mut worker, &mut hands))
                .and_then(|()| self.take(&mut worker, &mut hands, &mut next_take));
            match done {
                // Other workers hold the database; try again in the next round.
                Ok(()) | Err(WorkerError::Busy { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            if !hands.is_empty() && Instant::now() >= self.ends_at {
                self.fail();
            }
            if self.guard.wait(TICK) == Wait::ParentGone {
                return Ok(());
            }
        }
    }

    fn report<T: SystemWorker>(
        &self,
        worker: &mut T,
        reported_at: &mut Option<Instant>,
    ) -> Result<(), WorkerError> {
        let due = match (*reported_at, self.behaviour.reports_every()) {
            (None, _) => true,
            (Some(at), Some(every)) => at.elapsed() >= every,
            (Some(_), None) => false,
        };
        if due {
            worker.report()?;
            *reported_at = Some(Instant::now());
        }
        Ok(())
    }

    fn work<T: SystemWorker>(
        &mut self,
        worker: &mut T,
        hands: &mut Vec<HeldTask<T::Task>>,
    ) -> Result<(), WorkerError> {
        let mut still = Vec::new();
        for mut held in hands.drain(..) {
            if Instant::now() >= held.done_at {
                worker.finish(held.task, self.ending())?;
                continue;
            }
            let every = self.behaviour.renews_every(worker.lease(&held.task));
            if every.is_some_and(|every| held.renewed_at.elapsed() >= every) {
                held.renewed_at = Instant::now();
                if worker.renew(&mut held.task)? == Renewed::Lost {
                    continue;
                }
            }
            still.push(held);
        }
        *hands = still;
        Ok(())
    }

    fn take<T: SystemWorker>(
        &mut self,
        worker: &mut T,
        hands: &mut Vec<HeldTask<T::Task>>,
        next_take: &mut Instant,
    ) -> Result<(), WorkerError> {
        if hands.len() >= self.behaviour.capacity() || Instant::now() < *next_take {
            return Ok(());
        }
        *next_take = Instant::now() + self.rng.millis(300, 1_200);
        if self.behaviour.reports_every().is_none() {
            worker.report()?;
        }
        if let Some(task) = worker.take(&mut self.rng)? {
            let now = Instant::now();
            let done_at = now + self.behaviour.task_duration(&mut self.rng);
            hands.push(HeldTask { task, done_at, renewed_at: now });
        }
        Ok(())
    }

    fn ending(&mut self) -> TaskOutcome {
        match self.rng.next() % 40 {
            0 => TaskOutcome::FailedForGood,
            1..=4 => TaskOutcome::Failed,
            _ => TaskOutcome::Done,
        }
    }

    fn fail(&self) {
        let signal = match self.behaviour.failure_mode() {
            FailureMode::WorksOn => return,
            FailureMode::Hangs => Signal::STOP,
            FailureMode::Crashes => Signal::KILL,
        };
        // A process that cannot signal itself works on; that does no harm.
        let _ = kill_process(getpid(), signal);
    }
}
