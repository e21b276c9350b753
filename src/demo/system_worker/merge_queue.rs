//! An agent that merges one workspace at a time, under the one lock.

use std::time::Duration;

use super::{Ending, Renewed, SystemWorker};
use crate::demo::dice::Dice;
use crate::demo::thresholds::MERGE;
use crate::worker::merge_queue::{Failure, MergeQueue, Moved, QueueEntry, Status};
use crate::worker::{Database, WorkerError};

pub struct Merger {
    queue: MergeQueue,
    /// Host and process, as this system names its agents.
    name: String,
}

impl Merger {
    pub fn new(database: Database) -> Result<Merger, WorkerError> {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let queue = MergeQueue::new(database).with_lock_timeout(seconds())?;
        Ok(Merger { queue, name: format!("{host}-{}", std::process::id()) })
    }

    fn step(&mut self, entry: &mut QueueEntry) -> Result<Renewed, WorkerError> {
        let Some(next) = after(entry.status) else { return Ok(Renewed::Held) };
        match self.queue.transition(entry.id, &self.name, next)? {
            Moved::Done(moved) => *entry = *moved,
            Moved::Unchanged => {}
            Moved::Missing | Moved::NotOwner { .. } | Moved::Forbidden { .. } | Moved::Exhausted { .. } => {
                self.queue.release_processing_lock(&self.name)?;
                return Ok(Renewed::Lost);
            }
        }
        Ok(Renewed::Held)
    }
}

fn seconds() -> i64 {
    i64::try_from(MERGE.as_secs()).unwrap_or(i64::MAX)
}

/// The way of an entry that an agent has, up to the merge itself.
fn after(status: Status) -> Option<Status> {
    match status {
        Status::Claimed => Some(Status::Rebasing),
        Status::Rebasing => Some(Status::Testing),
        Status::Testing => Some(Status::ReadyToMerge),
        Status::ReadyToMerge => Some(Status::Merging),
        Status::Pending
        | Status::Merging
        | Status::Merged
        | Status::FailedRetryable
        | Status::FailedTerminal
        | Status::Cancelled => None,
    }
}

impl SystemWorker for Merger {
    type Task = QueueEntry;

    fn report(&mut self) -> Result<(), WorkerError> {
        Ok(())
    }

    fn take(&mut self, _: &mut Dice) -> Result<Option<QueueEntry>, WorkerError> {
        Ok(self.queue.next_with_lock(&self.name)?.entry())
    }

    fn lease(&self, _: &QueueEntry) -> Duration {
        MERGE
    }

    fn renew(&mut self, entry: &mut QueueEntry) -> Result<Renewed, WorkerError> {
        self.queue.extend_lock(&self.name, seconds())?;
        self.step(entry)
    }

    fn finish(&mut self, mut entry: QueueEntry, ending: Ending) -> Result<(), WorkerError> {
        match ending {
            Ending::Done => {
                while after(entry.status).is_some() {
                    if self.step(&mut entry)? == Renewed::Lost {
                        return Ok(());
                    }
                }
                self.queue.mark_completed(entry.id, &self.name)?;
            }
            Ending::Failed => {
                self.queue.mark_failed(entry.id, &self.name, "a test timed out", Failure::Retryable)?;
            }
            Ending::Hopeless => {
                let error = "conflict in src/ledger.rs";
                self.queue.mark_failed(entry.id, &self.name, error, Failure::Terminal)?;
            }
        }
        self.queue.release_processing_lock(&self.name)?;
        Ok(())
    }
}
