//! What a worker does at one of the systems: report, take, renew, finish.

mod coordination;
mod executor_jobs;
mod finalization;
mod merge_queue;
mod task_queue;

use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::Duration;

use super::dice::Dice;
use super::error::DemoError;
use super::leash::Leash;
use super::life::{Character, Life};
use crate::domain::time::Span;
use crate::reference::System;
use crate::worker::{Database, WorkerError};

/// The work of one system, as its worker sees it.
pub trait Trade {
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

/// Practises the trade of the character's system until the parent is gone.
pub fn practise(database: &Path, leash: Leash, character: Character) -> Result<(), DemoError> {
    let open = || Database::open(database);
    let life = Life::new(leash, &character);
    match character.post.system {
        System::Coordination => life.live(coordination::Agent::new(open()?, look(database)?, &character)),
        System::ExecutorJobs => life.live(executor_jobs::Executor::new(open()?, &character)),
        System::MergeQueue => life.live(merge_queue::Merger::new(open()?)?),
        System::Finalization => life.live(finalization::Processor::new(open()?, look(database)?, &character)),
        System::TaskQueue => life.live(task_queue::Hand::new(open()?, &character)?),
    }
}

/// A connection for looking at what there is to do.
pub fn look(database: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}

fn span(time: Duration) -> Span {
    Span::millis(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}
