//! The operations of a worker on jobs, on either engine.

use super::{Enqueued, ExecutorJobs, FailedAttempt, Job, NewJob, Reclaimed, Settled};
use crate::worker::WorkerError;

/// The operations of [`ExecutorJobs`], which documents each of them.
pub trait Operations: Send {
    fn enqueue(&mut self, new: &NewJob) -> Result<Enqueued, WorkerError>;
    fn claim(&mut self, worker: &str, types: &[&str]) -> Result<Option<Job>, WorkerError>;
    fn heartbeat(&mut self, id: &str, worker: &str) -> Result<Settled, WorkerError>;
    fn succeed(&mut self, id: &str, worker: &str) -> Result<Settled, WorkerError>;
    fn fail(&mut self, id: &str, worker: &str, error: &str) -> Result<FailedAttempt, WorkerError>;
    fn bury(&mut self, id: &str, worker: &str, error: &str) -> Result<Settled, WorkerError>;
    fn reclaim_stale_jobs(&mut self) -> Result<Reclaimed, WorkerError>;
}

impl Operations for ExecutorJobs {
    fn enqueue(&mut self, new: &NewJob) -> Result<Enqueued, WorkerError> {
        self.enqueue(new)
    }

    fn claim(&mut self, worker: &str, types: &[&str]) -> Result<Option<Job>, WorkerError> {
        self.claim(worker, types)
    }

    fn heartbeat(&mut self, id: &str, worker: &str) -> Result<Settled, WorkerError> {
        self.heartbeat(id, worker)
    }

    fn succeed(&mut self, id: &str, worker: &str) -> Result<Settled, WorkerError> {
        self.succeed(id, worker)
    }

    fn fail(&mut self, id: &str, worker: &str, error: &str) -> Result<FailedAttempt, WorkerError> {
        self.fail(id, worker, error)
    }

    fn bury(&mut self, id: &str, worker: &str, error: &str) -> Result<Settled, WorkerError> {
        self.bury(id, worker, error)
    }

    fn reclaim_stale_jobs(&mut self) -> Result<Reclaimed, WorkerError> {
        self.reclaim_stale_jobs()
    }
}
