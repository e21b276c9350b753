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

    /// Reclaims before it claims, so that workers that fetch need no timer. A reclaim that fails does not keep the
    /// worker from its job: the next fetch reclaims again.
    fn fetch(&mut self, worker: &str, types: &[&str]) -> Result<Fetched, WorkerError> {
        let reclaimed = self.reclaim_stale_jobs();
        Ok(Fetched { job: self.claim(worker, types)?, reclaimed })
    }
}

/// The result of [`Operations::fetch`].
#[derive(Debug)]
pub struct Fetched {
    pub job: Option<Job>,
    /// What was reclaimed first, or why that failed.
    pub reclaimed: Result<Reclaimed, WorkerError>,
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
