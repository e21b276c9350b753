//! What a worker does in one of the systems: report, take, renew, finish.

mod coordination;
mod executor_jobs;
mod finalization;
mod merge_queue;
mod task_queue;

use std::time::Duration;

use super::demo_database::DemoDatabase;
use super::error::DemoError;
use super::parent_guard::ParentGuard;
use super::read_connection;
use super::seeded_rng::SeededRng;
use super::worker_loop::{WorkerLoop, WorkerSpec};
use crate::domain::time::Span;
use crate::reference::System;
use crate::worker::{Database, WorkerError};

/// The operations of a worker in one system.
pub(super) trait SystemWorker {
    type Task;

    /// Sends a heartbeat of the worker, if the system has one.
    fn report(&mut self) -> Result<(), WorkerError>;

    /// Takes a task, if there is one.
    fn take(&mut self, rng: &mut SeededRng) -> Result<Option<Self::Task>, WorkerError>;

    /// How long a task may be held without being renewed.
    fn lease(&self, task: &Self::Task) -> Duration;

    /// Renews a task.
    fn renew(&mut self, task: &mut Self::Task) -> Result<Renewed, WorkerError>;

    fn finish(&mut self, task: Self::Task, ending: TaskOutcome) -> Result<(), WorkerError>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Renewed {
    Held,
    /// Somebody else holds it now, or nobody.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskOutcome {
    Done,
    /// It may succeed the next time.
    Failed,
    /// It will never succeed.
    FailedForGood,
}

/// How long other workers leave an abandoned task alone: until then, whoever watches the dashboard can recover it.
const LEFT_ALONE: Span = Span::seconds(25);

/// Runs the worker of the spec's system until the parent is gone.
pub(super) fn run_worker(
    database: &DemoDatabase,
    guard: ParentGuard,
    spec: WorkerSpec,
) -> Result<(), DemoError> {
    let life = WorkerLoop::new(guard, &spec);
    match (spec.slot.system, database) {
        (System::ExecutorJobs, _) => life.run(executor_jobs::Executor::new(database.jobs(&[])?, &spec)),
        (System::Finalization, _) => {
            life.run(finalization::Processor::new(database.finalization()?, database.look()?, &spec))
        }
        (System::TaskQueue, _) => life.run(task_queue::QueueWorker::new(database.tasks()?, &spec)?),
        (System::Coordination, DemoDatabase::File(path)) => {
            life.run(coordination::Agent::new(Database::open(path)?, read_connection::file(path)?, &spec))
        }
        (System::MergeQueue, DemoDatabase::File(path)) => {
            life.run(merge_queue::MergeAgent::new(Database::open(path)?)?)
        }
        // These systems exist on SQLite only, and no workers are started for them elsewhere.
        #[cfg(feature = "postgres")]
        (System::Coordination | System::MergeQueue, DemoDatabase::Server(_)) => Ok(()),
    }
}

fn span(time: Duration) -> Span {
    Span::millis(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}
