//! A worker's life: hands that fill and empty, until its fate.

use rustix::process::{Signal, getpid, kill_process};
use std::time::{Duration, Instant};

use super::dice::Dice;
use super::error::DemoError;
use super::parent_guard::{ParentGuard, Rest};
use super::system_worker::{Ending, Renewed, SystemWorker};
use super::temperament::{Temperament, WorkerFate};
use super::worker_slot::WorkerSlot;
use crate::worker::WorkerError;

/// Who somebody is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Character {
    pub post: WorkerSlot,
    /// Its place in the fleet, for its name.
    pub number: u32,
    /// How large the fleet is.
    pub fleet: usize,
    pub seed: u64,
    /// How long it lives before its fate.
    pub lifetime: Duration,
}

#[derive(Debug)]
pub struct Life {
    leash: ParentGuard,
    temperament: Temperament,
    dice: Dice,
    ends_at: Instant,
}

/// A task in somebody's hands.
struct InHand<T> {
    task: T,
    done_at: Instant,
    renewed_at: Instant,
}

const TICK: Duration = Duration::from_millis(150);

impl Life {
    pub fn new(leash: ParentGuard, character: &Character) -> Life {
        Life {
            leash,
            temperament: character.post.temperament,
            dice: Dice::new(character.seed),
            ends_at: Instant::now() + character.lifetime,
        }
    }

    /// Lives until the parent is gone or the fate comes.
    pub fn live<T: SystemWorker>(mut self, mut worker: T) -> Result<(), DemoError> {
        let mut hands: Vec<InHand<T::Task>> = Vec::new();
        let mut reported_at = None;
        let mut next_take = Instant::now();
        loop {
            let done = self
                .report(&mut worker, &mut reported_at)
                .and_then(|()| self.work(&mut worker, &mut hands))
                .and_then(|()| self.take(&mut worker, &mut hands, &mut next_take));
            match done {
                // Others have their turn; ours comes again.
                Ok(()) | Err(WorkerError::Busy { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            if !hands.is_empty() && Instant::now() >= self.ends_at {
                self.meet_fate();
            }
            if self.leash.rest(TICK) == Rest::Cut {
                return Ok(());
            }
        }
    }

    fn report<T: SystemWorker>(
        &self,
        worker: &mut T,
        reported_at: &mut Option<Instant>,
    ) -> Result<(), WorkerError> {
        let due = match (*reported_at, self.temperament.reports_every()) {
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
        hands: &mut Vec<InHand<T::Task>>,
    ) -> Result<(), WorkerError> {
        let mut still = Vec::new();
        for mut held in hands.drain(..) {
            if Instant::now() >= held.done_at {
                worker.finish(held.task, self.ending())?;
                continue;
            }
            let every = self.temperament.renews_every(worker.lease(&held.task));
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
        hands: &mut Vec<InHand<T::Task>>,
        next_take: &mut Instant,
    ) -> Result<(), WorkerError> {
        if hands.len() >= self.temperament.hands() || Instant::now() < *next_take {
            return Ok(());
        }
        *next_take = Instant::now() + self.dice.millis(300, 1_200);
        if self.temperament.reports_every().is_none() {
            worker.report()?;
        }
        if let Some(task) = worker.take(&mut self.dice)? {
            let now = Instant::now();
            let done_at = now + self.temperament.effort(&mut self.dice);
            hands.push(InHand { task, done_at, renewed_at: now });
        }
        Ok(())
    }

    fn ending(&mut self) -> Ending {
        match self.dice.next() % 40 {
            0 => Ending::Hopeless,
            1..=4 => Ending::Failed,
            _ => Ending::Done,
        }
    }

    fn meet_fate(&self) {
        let signal = match self.temperament.fate() {
            WorkerFate::WorksOn => return,
            WorkerFate::Hangs => Signal::STOP,
            WorkerFate::Crashes => Signal::KILL,
        };
        // Who cannot signal itself lives on: nobody is harmed.
        let _ = kill_process(getpid(), signal);
    }
}
