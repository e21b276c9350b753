//! What a worker does at one of the systems: report, take, renew, finish.

mod coordination;
mod executor_jobs;
mod finalization;
mod merge_queue;
mod task_queue;

use std::time::Duration;

use super::dice::Dice;
use super::error::DemoError;
use super::ground::Ground;
use super::life::{Character, Life};
use super::look;
use super::parent_guard::ParentGuard;
use crate::domain::time::Span;
use crate::reference::System;
use crate::worker::{Database, WorkerError};

/// The work of one system, as its worker sees it.
pub trait SystemWorker {
    type Task;

    /// Says that the worker is there, where the system wants to know.
    fn report(&mut self) -> Result<(), WorkerError>;

    /// Takes something to do, if there is anything.
    fn take(&mut self, dice: &mut Dice) -> Result<Option<Self::Task>, WorkerError>;

    /// How long it may be held without being renewed.
    fn lease(&self, task: &Self::Task) -> Duration;

    /// Says that it is still being worked on.
    fn renew(&mut self, task: &mut Self::Task) -> Result<Renewed, WorkerError>;

    fn finish(&mut self, task: Self::Task, ending: Ending) -> Result<(), WorkerError>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewed {
    Held,
    /// It is somebody else's by now, or nobody's.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Done,
    /// It may work the next time.
    Failed,
    /// It never will.
    Hopeless,
}

/// Work whose holder fell silent is taken from it by others only after a while: until then it is left
/// to whoever watches the dashboard.
const LEFT_ALONE: Span = Span::seconds(25);

/// Practises the worker of the character's system until the parent is gone.
pub fn practise(ground: &Ground, leash: ParentGuard, character: Character) -> Result<(), DemoError> {
    let life = Life::new(leash, &character);
    match (character.post.system, ground) {
        (System::ExecutorJobs, _) => life.live(executor_jobs::Executor::new(ground.jobs(&[])?, &character)),
        (System::Finalization, _) => {
            life.live(finalization::Processor::new(ground.finalization()?, ground.look()?, &character))
        }
        (System::TaskQueue, _) => life.live(task_queue::Hand::new(ground.tasks()?, &character)?),
        (System::Coordination, Ground::File(path)) => {
            life.live(coordination::Agent::new(Database::open(path)?, look::file(path)?, &character))
        }
        (System::MergeQueue, Ground::File(path)) => {
            life.live(merge_queue::Merger::new(Database::open(path)?)?)
        }
        // These are on files only, and so is the crew that serves them.
        (System::Coordination | System::MergeQueue, Ground::Server(_)) => Ok(()),
    }
}

fn span(time: Duration) -> Span {
    Span::millis(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}
