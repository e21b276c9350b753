//! Merge-queue from the worker's side: a queue of workspaces that agents merge one at a time.
//!
//! The tables are those of `assets/schema/sqlite/merge-queue.sql`; times are whole seconds. Where the
//! document contradicts itself or its running code, this is what is done:
//!
//! - An entry whose agent holds a live lock is never reclaimed. The specification's `UPDATE` looks at
//!   `started_at` alone, which nothing renews: every merge longer than five minutes was taken from a
//!   working agent. `extend_lock` is the only sign of life there is, so it counts as one, in
//!   [`MergeQueue::detect_and_recover_stale`] and [`MergeQueue::reclaim_stale`] alike.
//! - [`MergeQueue::extend_lock`] "refreshes lock expiry": to now + extra, and never to an earlier time
//!   than it had ("not before"). The running code added to the old expiry, so that an agent that
//!   extended often held the lock for hours after its death. A lock that has run out is not extended:
//!   by then any other agent may rightfully take it, and `false` says so.
//! - "Log entry created when stale lock detected" and "audit log entries for self-healing actions",
//!   where the code wrote none: a reclaimed entry leaves a `transitioned` row in `queue_events`, and a
//!   removed lock (which belongs to no entry) is an [`Event::LockExpired`](super::Event).
//! - "`agent_id` present iff claimed, rebasing, testing, ...": it is cleared when an entry is merged,
//!   fails or is cancelled. Its event keeps the name.
//! - An entry being merged cannot be cancelled: so says the status machine, and `cancel_entry`'s "any
//!   entry that is not terminal" yields to it.
//! - A `blocked` entry of a stack is not claimed; the running code had one path that did.
//! - The older words `processing`, `completed` and `failed` are read and never written.
//!
//! A failing recovery does not stop a claim; nothing is printed: [`NextEntry::recovery`] has the reason.

mod claim;
mod entry;
mod journal;
mod lock;
mod recovery;
mod retry;
mod status;
mod transition;

pub use claim::{Claimed, NextEntry};
pub use entry::{Enqueued, NewEntry, QueueEntry};
pub use journal::QueueEvent;
pub use lock::ProcessingLock;
pub use recovery::RecoveryStats;
pub use status::Status;
pub use transition::{FailureKind, TransitionOutcome};

use std::time::Duration;

use super::{Database, WorkerError};
use crate::domain::time::Moment;
use recovery::Threshold;
use retry::Pause;

/// The worker's side of the merge queue on one connection.
#[derive(Debug)]
pub struct MergeQueue {
    database: Database,
    lock_timeout_secs: i64,
    pause: Pause,
}

impl MergeQueue {
    /// With the specification's lock timeout of 300 seconds.
    pub fn new(database: Database) -> MergeQueue {
        MergeQueue { database, lock_timeout_secs: 300, pause: Pause::default() }
    }

    /// Sets the duration of a lock, which is also the time after which a claimed entry is stale.
    pub fn with_lock_timeout(self, seconds: i64) -> Result<MergeQueue, WorkerError> {
        if seconds < 1 {
            return Err(WorkerError::Invalid(format!("a lock for {seconds} s is none; give it at least 1")));
        }
        Ok(MergeQueue { lock_timeout_secs: seconds, ..self })
    }

    /// Replaces the sleep between retries.
    pub fn with_pause(self, pause: impl FnMut(Duration) + Send + 'static) -> MergeQueue {
        MergeQueue { pause: Pause::of(pause), ..self }
    }

    /// Enqueues a workspace, once.
    pub fn enqueue(&mut self, new: &NewEntry) -> Result<Enqueued, WorkerError> {
        new.validate()?;
        self.database.change(|transaction, now, _| new.insert(transaction, seconds(now)))
    }

    /// Recovers what crashed agents left, then takes the lock and the most urgent entry.
    ///
    /// After a claim the agent keeps the lock until it is released. The recovery is a separate transaction, so that
    /// its failure does not affect the claim.
    pub fn next_with_lock(&mut self, agent: &str) -> Result<NextEntry, WorkerError> {
        named(agent)?;
        let timeout = self.lock_timeout_secs;
        let mut waits = retry::WAITS.into_iter();
        loop {
            let recovery = self.heal().map_err(|error| error.to_string());
            let tried = self.database.change(|transaction, now, events| {
                claim::next(transaction, seconds(now), events, agent, timeout)
            });
            match (tried, waits.next()) {
                (Ok(claimed), _) => return Ok(NextEntry { claimed, recovery }),
                (Err(error), Some(wait)) if retry::is_worth_it(&error) => self.pause.wait(wait),
                (Err(error), _) => return Err(error),
            }
        }
    }

    /// Takes the lock if nobody holds it or it has expired. It is not re-entrant: while it is live, its own holder
    /// gets `false` too.
    pub fn acquire_processing_lock(&mut self, agent: &str) -> Result<bool, WorkerError> {
        named(agent)?;
        let timeout = self.lock_timeout_secs;
        self.database.change(|transaction, now, events| {
            lock::acquire(transaction, seconds(now), events, agent, timeout)
        })
    }

    /// Releases the lock; `false` if this agent does not hold it (any more).
    pub fn release_processing_lock(&mut self, agent: &str) -> Result<bool, WorkerError> {
        self.database.change(|transaction, _, events| lock::release(transaction, events, agent))
    }

    /// Extends the lock to `extra_secs` from now; `false` if this agent holds no live lock.
    pub fn extend_lock(&mut self, agent: &str, extra_secs: i64) -> Result<bool, WorkerError> {
        if extra_secs < 1 {
            return Err(WorkerError::Invalid(format!("{extra_secs} s extend nothing; give it at least 1")));
        }
        self.database.change(|transaction, now, events| {
            lock::extend(transaction, seconds(now), events, agent, extra_secs)
        })
    }

    /// The lock, live or expired.
    pub fn get_processing_lock(&self) -> Result<Option<ProcessingLock>, WorkerError> {
        self.database.look(|connection, _| lock::read(connection))
    }

    /// Whether there is an expired lock; `false` if there is no lock.
    pub fn is_lock_stale(&self) -> Result<bool, WorkerError> {
        self.database.look(|connection, now| {
            Ok(lock::read(connection)?.is_some_and(|lock| !lock.is_live(seconds(now))))
        })
    }

    /// Removes an expired lock and puts stale entries back into the queue.
    pub fn detect_and_recover_stale(&mut self) -> Result<RecoveryStats, WorkerError> {
        let threshold = Threshold(self.lock_timeout_secs);
        self.database.change(|transaction, now, events| {
            recovery::recover(transaction, seconds(now), events, threshold)
        })
    }

    /// What [`Self::detect_and_recover_stale`] would do now; changes nothing.
    pub fn get_recovery_stats(&self) -> Result<RecoveryStats, WorkerError> {
        let threshold = Threshold(self.lock_timeout_secs);
        self.database.look(|connection, now| recovery::stats(connection, seconds(now), threshold))
    }

    /// The same recovery with another threshold. Returns how many entries it put back.
    pub fn reclaim_stale(&mut self, threshold_secs: i64) -> Result<usize, WorkerError> {
        if threshold_secs < 0 {
            let sentence = format!("a threshold of {threshold_secs} s lies in the future; give it 0 or more");
            return Err(WorkerError::Invalid(sentence));
        }
        let done = self.database.change(|transaction, now, events| {
            recovery::recover(transaction, seconds(now), events, Threshold(threshold_secs))
        })?;
        Ok(done.entries_reclaimed)
    }

    pub fn entry(&self, id: i64) -> Result<Option<QueueEntry>, WorkerError> {
        self.database.look(|connection, _| entry::read(connection, id))
    }

    /// Every entry, the most urgent first.
    pub fn entries(&self) -> Result<Vec<QueueEntry>, WorkerError> {
        self.database.look(|connection, _| entry::all(connection))
    }

    /// The events of an entry, in order.
    pub fn events(&self, id: i64) -> Result<Vec<QueueEvent>, WorkerError> {
        self.database.look(|connection, _| journal::of(connection, id))
    }

    /// Checks first and writes only if something is stale, because reading does not wait for other agents.
    fn heal(&mut self) -> Result<RecoveryStats, WorkerError> {
        let found = self.get_recovery_stats()?;
        if found.is_empty() {
            return Ok(found);
        }
        self.detect_and_recover_stale()
    }
}

/// Agents are distinguished by their names.
fn named(agent: &str) -> Result<(), WorkerError> {
    if agent.trim().is_empty() {
        return Err(WorkerError::Invalid("an agent needs a name".into()));
    }
    Ok(())
}

fn seconds(now: Moment) -> i64 {
    now.micros().div_euclid(1_000_000)
}
