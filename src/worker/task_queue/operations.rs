//! The operations of a worker on the queue, on either engine.

use serde_json::Value as Json;

use super::{
    Completion, Enqueued, FailureOutcome, HeartbeatInfo, NewTask, RegisteredWorker, Retry, StaleWorker, Task,
    TaskClaim, TaskFilter, TaskQueue, WorkerId,
};
use crate::domain::time::Span;
use crate::worker::WorkerError;

/// The operations of [`TaskQueue`], which documents each of them.
pub trait Operations: Send {
    fn register_type(&mut self, name: &str, version: &str, schema: Option<&Json>)
    -> Result<i64, WorkerError>;
    fn enqueue(&mut self, task: &NewTask<'_>) -> Result<Enqueued, WorkerError>;
    fn task(&mut self, id: i64) -> Result<Option<Task>, WorkerError>;
    fn claim(&mut self, worker: &WorkerId, wanted: &TaskFilter<'_>) -> Result<TaskClaim, WorkerError>;
    fn claim_by_id(&mut self, worker: &WorkerId, task: i64) -> Result<TaskClaim, WorkerError>;
    fn complete(&mut self, worker: &WorkerId, task: i64, result: &Json) -> Result<Completion, WorkerError>;
    fn fail(
        &mut self,
        worker: &WorkerId,
        task: i64,
        error: &str,
        retry: Retry,
    ) -> Result<FailureOutcome, WorkerError>;
    fn heartbeat(&mut self, worker: &WorkerId, vitals: &HeartbeatInfo) -> Result<(), WorkerError>;
    fn sign_off(&mut self, worker: &WorkerId) -> Result<bool, WorkerError>;
    fn workers(&mut self) -> Result<Vec<RegisteredWorker>, WorkerError>;
    fn check_stale_workers(&mut self, after: Span) -> Result<Vec<StaleWorker>, WorkerError>;
}

impl Operations for TaskQueue {
    fn register_type(
        &mut self,
        name: &str,
        version: &str,
        schema: Option<&Json>,
    ) -> Result<i64, WorkerError> {
        self.register_type(name, version, schema)
    }

    fn enqueue(&mut self, task: &NewTask<'_>) -> Result<Enqueued, WorkerError> {
        self.enqueue(task)
    }

    fn task(&mut self, id: i64) -> Result<Option<Task>, WorkerError> {
        TaskQueue::task(self, id)
    }

    fn claim(&mut self, worker: &WorkerId, wanted: &TaskFilter<'_>) -> Result<TaskClaim, WorkerError> {
        self.claim(worker, wanted)
    }

    fn claim_by_id(&mut self, worker: &WorkerId, task: i64) -> Result<TaskClaim, WorkerError> {
        self.claim_by_id(worker, task)
    }

    fn complete(&mut self, worker: &WorkerId, task: i64, result: &Json) -> Result<Completion, WorkerError> {
        self.complete(worker, task, result)
    }

    fn fail(
        &mut self,
        worker: &WorkerId,
        task: i64,
        error: &str,
        retry: Retry,
    ) -> Result<FailureOutcome, WorkerError> {
        self.fail(worker, task, error, retry)
    }

    fn heartbeat(&mut self, worker: &WorkerId, vitals: &HeartbeatInfo) -> Result<(), WorkerError> {
        self.heartbeat(worker, vitals)
    }

    fn sign_off(&mut self, worker: &WorkerId) -> Result<bool, WorkerError> {
        self.sign_off(worker)
    }

    fn workers(&mut self) -> Result<Vec<RegisteredWorker>, WorkerError> {
        TaskQueue::workers(self)
    }

    fn check_stale_workers(&mut self, after: Span) -> Result<Vec<StaleWorker>, WorkerError> {
        self.check_stale_workers(after)
    }
}
