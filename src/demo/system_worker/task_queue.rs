//! A worker of the task queue, which is judged by its heartbeats.

use serde_json::json;
use std::time::Duration;

use super::{Renewed, SystemWorker, TaskOutcome};
use crate::demo::seeded_rng::SeededRng;
use crate::demo::thresholds::CLAIM;
use crate::demo::worker_loop::WorkerSpec;
use crate::worker::WorkerError;
use crate::worker::task_queue::{ClaimOrder, HeartbeatInfo, Operations, Retry, Task, TaskFilter, WorkerId};

pub(super) struct QueueWorker {
    queue: Box<dyn Operations>,
    id: WorkerId,
    processed: u64,
}

impl QueueWorker {
    pub(super) fn new(queue: Box<dyn Operations>, spec: &WorkerSpec) -> Result<QueueWorker, WorkerError> {
        let id = WorkerId::new(&format!("worker-{}-{}", spec.number, std::process::id()))?;
        Ok(QueueWorker { queue, id, processed: 0 })
    }
}

impl SystemWorker for QueueWorker {
    type Task = Task;

    fn report(&mut self) -> Result<(), WorkerError> {
        self.queue.heartbeat(&self.id, &HeartbeatInfo::here(env!("CARGO_PKG_VERSION"), self.processed))
    }

    fn take(&mut self, _: &mut SeededRng) -> Result<Option<Task>, WorkerError> {
        // Oldest first: a task that was recovered does not wait behind newer ones.
        let wanted = TaskFilter { order: ClaimOrder::Creation, ..TaskFilter::default() };
        Ok(self.queue.claim(&self.id, &wanted)?.task())
    }

    fn lease(&self, _: &Task) -> Duration {
        CLAIM
    }

    /// Here the worker's own report is what keeps its tasks.
    fn renew(&mut self, task: &mut Task) -> Result<Renewed, WorkerError> {
        let now = self.queue.task(task.id)?;
        let held = now.is_some_and(|now| now.worker_id.as_deref() == Some(self.id.as_str()));
        Ok(if held { Renewed::Held } else { Renewed::Lost })
    }

    fn finish(&mut self, task: Task, ending: TaskOutcome) -> Result<(), WorkerError> {
        self.processed += 1;
        match ending {
            TaskOutcome::Done => self.queue.complete(&self.id, task.id, &json!({"ok": true})).map(drop),
            TaskOutcome::Failed => {
                self.queue.fail(&self.id, task.id, "connection reset", Retry::Worthwhile).map(drop)
            }
            TaskOutcome::FailedForGood => {
                self.queue.fail(&self.id, task.id, "no such customer", Retry::Pointless).map(drop)
            }
        }
    }
}
