//! The operations of a processor, on either engine.

use super::{Completion, Finalization, FinalizationClaim, FinalizationMetrics, StepEnd};
use crate::domain::time::Span;
use crate::worker::WorkerError;

/// The operations of [`Finalization`], which documents each of them.
pub trait Operations: Send {
    fn metrics(&self) -> FinalizationMetrics;
    fn claim_task_for_finalization(
        &mut self,
        task: &str,
        processor: &str,
        timeout: Span,
    ) -> Result<FinalizationClaim, WorkerError>;
    fn extend(&mut self, task: &str, processor: &str) -> Result<bool, WorkerError>;
    fn release(&mut self, task: &str, processor: &str) -> Result<bool, WorkerError>;
    fn complete(&mut self, task: &str, processor: &str) -> Result<Completion, WorkerError>;
    fn add_task(&mut self, task: &str, priority: i64) -> Result<bool, WorkerError>;
    fn add_step(&mut self, task: &str, step: &str) -> Result<bool, WorkerError>;
    fn end_step(&mut self, step: &str, end: StepEnd) -> Result<bool, WorkerError>;
}

impl Operations for Finalization {
    fn metrics(&self) -> FinalizationMetrics {
        self.metrics()
    }

    fn claim_task_for_finalization(
        &mut self,
        task: &str,
        processor: &str,
        timeout: Span,
    ) -> Result<FinalizationClaim, WorkerError> {
        self.claim_task_for_finalization(task, processor, timeout)
    }

    fn extend(&mut self, task: &str, processor: &str) -> Result<bool, WorkerError> {
        self.extend(task, processor)
    }

    fn release(&mut self, task: &str, processor: &str) -> Result<bool, WorkerError> {
        self.release(task, processor)
    }

    fn complete(&mut self, task: &str, processor: &str) -> Result<Completion, WorkerError> {
        self.complete(task, processor)
    }

    fn add_task(&mut self, task: &str, priority: i64) -> Result<bool, WorkerError> {
        self.add_task(task, priority)
    }

    fn add_step(&mut self, task: &str, step: &str) -> Result<bool, WorkerError> {
        self.add_step(task, step)
    }

    fn end_step(&mut self, step: &str, end: StepEnd) -> Result<bool, WorkerError> {
        self.end_step(step, end)
    }
}
