//! A worker of the task queue, which reports in and is judged by that.

use serde_json::json;
use std::time::Duration;

use super::{Ending, Renewed, SystemWorker};
use crate::demo::dice::Dice;
use crate::demo::life::Character;
use crate::demo::thresholds::CLAIM;
use crate::worker::WorkerError;
use crate::worker::task_queue::{Operations, Order, Retry, Task, Vitals, Wanted, WorkerId};

pub struct Hand {
    queue: Box<dyn Operations>,
    id: WorkerId,
    processed: u64,
}

impl Hand {
    pub fn new(queue: Box<dyn Operations>, character: &Character) -> Result<Hand, WorkerError> {
        let id = WorkerId::new(&format!("worker-{}-{}", character.number, std::process::id()))?;
        Ok(Hand { queue, id, processed: 0 })
    }
}

impl SystemWorker for Hand {
    type Task = Task;

    fn report(&mut self) -> Result<(), WorkerError> {
        self.queue.heartbeat(&self.id, &Vitals::here(env!("CARGO_PKG_VERSION"), self.processed))
    }

    fn take(&mut self, _: &mut Dice) -> Result<Option<Task>, WorkerError> {
        // The oldest first: what was taken from somebody else does not wait behind what came later.
        let wanted = Wanted { order: Order::Creation, ..Wanted::default() };
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

    fn finish(&mut self, task: Task, ending: Ending) -> Result<(), WorkerError> {
        self.processed += 1;
        match ending {
            Ending::Done => self.queue.complete(&self.id, task.id, &json!({"ok": true})).map(drop),
            Ending::Failed => {
                self.queue.fail(&self.id, task.id, "connection reset", Retry::Worthwhile).map(drop)
            }
            Ending::Hopeless => {
                self.queue.fail(&self.id, task.id, "no such customer", Retry::Pointless).map(drop)
            }
        }
    }
}
