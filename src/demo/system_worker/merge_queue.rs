//! An agent that merges one workspace at a time, under a single lock.

use std::time::Duration;

use super::{Renewed, SystemWorker, TaskOutcome};
use crate::demo::seeded_rng::SeededRng;
use crate::demo::thresholds::MERGE;
use crate::worker::merge_queue::{FailureKind, MergeQueue, QueueEntry, Status, TransitionOutcome};
use crate::worker::{Database, WorkerError};

pub(super) struct MergeAgent {
    queue: MergeQueue,
    /// Host and PID, as this system names its agents.
    name: String,
}

impl MergeAgent {
    pub(super) fn new(database: Database) -> Result<MergeAgent, WorkerError> {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let queue = MergeQueue::new(database).with_lock_timeout(seconds())?;
        Ok(MergeAgent { queue, name: format!("{host}-{}", std::process::id()) })
    }

    fn step(&mut self, entry: &mut QueueEntry) -> Result<Renewed, WorkerError> {
        let Some(next) = after(entry.status) else { return Ok(Renewed::Held) };
        match self.queue.transition(entry.id, &self.name, next)? {
            TransitionOutcome::Done(moved) => *entry = *moved,
            TransitionOutcome::Unchanged => {}
            TransitionOutcome::Missing
            | TransitionOutcome::NotOwner { .. }
            | TransitionOutcome::Forbidden { .. }
            | TransitionOutcome::Exhausted { .. } => {
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

/// The next state of a claimed entry, up to the merge itself.
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

impl SystemWorker for MergeAgent {
    type Task = QueueEntry;

    fn report(&mut self) -> Result<(), WorkerError> {
        Ok(())
    }

    fn take(&mut self, _: &mut SeededRng) -> Result<Option<QueueEntry>, WorkerError> {
        Ok(self.queue.next_with_lock(&self.name)?.entry())
    }

    fn lease(&self, _: &QueueEntry) -> Duration {
        MERGE
    }

    fn renew(&mut self, entry: &mut QueueEntry) -> Result<Renewed, WorkerError> {
        self.queue.extend_lock(&self.name, seconds())?;
        self.step(entry)
    }

    fn finish(&mut self, mut entry: QueueEntry, ending: TaskOutcome) -> Result<(), WorkerError> {
        match ending {
            TaskOutcome::Done => {
                while after(entry.status).is_some() {
                    if self.step(&mut entry)? == Renewed::Lost {
                        return Ok(());
                    }
                }
                self.queue.mark_completed(entry.id, &self.name)?;
            }
            TaskOutcome::Failed => {
                self.queue.mark_failed(entry.id, &self.name, "a test timed out", FailureKind::Retryable)?;
            }
            TaskOutcome::FailedForGood => {
                let error = "conflict in src/ledger.rs";
                self.queue.mark_failed(entry.id, &self.name, error, FailureKind::Terminal)?;
            }
        }
        self.queue.release_processing_lock(&self.name)?;
        Ok(())
    }
}
