//! Executor-jobs from the worker's side: jobs with a time to live by type.
//!
//! The tables are those of `assets/schema/sqlite/executor-jobs.sql`. Where the specification and the code
//! that ran under its name differ, the specification is followed, as the profile `executor-jobs` does:
//!
//! - `attempts >= max_attempts` makes a silent job dead and leaves its attempts as they are. The
//!   running function added one first: a tenth attempt ended as the eleventh, a ninth one was dead.
//! - A job is reclaimed when *both* `locked_at` and `heartbeat_at` are older than its TTL ("How it
//!   works"). The same document's "Edge cases" say `COALESCE(heartbeat_at, locked_at)`, by which a
//!   heartbeat from before the claim would make a fresh claim stale.
//! - The TTLs are the specification's table; the running code doubled three of them later.
//! - `processing` counts as `running`, though later databases forbid the word.
//!
//! Claiming counts an attempt, and so does reclaiming: a job whose workers always crash is claimed
//! six times, not ten, before it is dead. The specification asks for both, so both are done.
//!
//! What the specification leaves open is as the running code has it: the backoff, the two rows of a run,
//! that success keeps `last_error` and nobody ever clears `heartbeat_at`.

mod backoff;
mod job;
mod operations;
mod reclaim;
mod runs;
pub(super) mod settle;
mod stamp;
mod ttl;

pub use backoff::backoff;
pub use job::{Enqueued, Job, NewJob};
pub use operations::{Fetched, Operations};
pub use reclaim::{Reclaimed, ReclaimedJob};
pub use settle::{FailedAttempt, Settled};
pub use ttl::Ttls;

use rusqlite::{OptionalExtension, Transaction, params};

use super::{Database, Event, WorkerError};
use crate::domain::time::{Moment, Span};

/// The jobs of a database.
#[derive(Debug)]
pub struct ExecutorJobs {
    database: Database,
    ttls: Ttls,
}

impl ExecutorJobs {
    /// With the TTLs of the specification.
    pub fn new(database: Database) -> ExecutorJobs {
        ExecutorJobs { database, ttls: Ttls::default() }
    }

    /// Sets the time to live of jobs of this type.
    pub fn with_ttl(mut self, kind: &str, ttl: Span) -> ExecutorJobs {
        self.ttls.set(kind, ttl);
        self
    }

    /// Enqueues a job, unless a job with its dedupe key was ever enqueued.
    pub fn enqueue(&mut self, new: &NewJob) -> Result<Enqueued, WorkerError> {
        new.validate()?;
        self.database.change(|transaction, now, _| new.insert(transaction, now))
    }

    /// Claims the job that has been due longest. Without `types`, of any type.
    pub fn claim(&mut self, worker: &str, types: &[&str]) -> Result<Option<Job>, WorkerError> {
        named(worker)?;
        let types = serde_json::json!(types).to_string();
        let ttls = &self.ttls;
        self.database.change(|transaction, now, events| {
            let Some(id) = due(transaction, now, &types)? else { return Ok(None) };
            let job = take(transaction, now, &id, worker)?;
            runs::start(transaction, now, &job, worker)?;
            events.push(acquired(&job, worker, ttls));
            Ok(Some(job))
        })
    }

    /// Sends a heartbeat for the job; ignored if another worker holds it.
    pub fn heartbeat(&mut self, id: &str, worker: &str) -> Result<Settled, WorkerError> {
        let ttls = &self.ttls;
        self.database.change(|transaction, now, events| {
            let sql = "UPDATE executor_jobs SET heartbeat_at = ?3, updated_at = ?3
                       WHERE id = ?1 AND locked_by = ?2 AND status IN ('running', 'processing')
                       RETURNING type";
            let kind: Option<String> = transaction
                .prepare_cached(sql)?
                .query_row(params![id, worker, now.rfc3339()], |row| row.get(0))
                .optional()?;
            let Some(kind) = kind else { return Ok(Settled::NotOwner) };
            events.push(extended(id, &kind, worker, ttls, now));
            Ok(Settled::Done)
        })
    }

    /// Marks the job as done.
    pub fn succeed(&mut self, id: &str, worker: &str) -> Result<Settled, WorkerError> {
        self.database.change(|transaction, now, events| settle::succeed(transaction, now, events, id, worker))
    }

    /// Marks this attempt as failed: the job is due again after its [`backoff()`], or dead if it was the last
    /// attempt.
    pub fn fail(&mut self, id: &str, worker: &str, error: &str) -> Result<FailedAttempt, WorkerError> {
        self.database
            .change(|transaction, now, events| settle::fail(transaction, now, events, id, worker, error))
    }

    /// Marks the job as dead at once, because it can never succeed.
    pub fn bury(&mut self, id: &str, worker: &str, error: &str) -> Result<Settled, WorkerError> {
        self.database
            .change(|transaction, now, events| settle::bury(transaction, now, events, id, worker, error))
    }

    /// Reclaims every job whose worker was silent for longer than the TTL of the job's type. A second call finds
    /// nothing.
    pub fn reclaim_stale_jobs(&mut self) -> Result<Reclaimed, WorkerError> {
        let ttls = &self.ttls;
        self.database.change(|transaction, now, events| reclaim::all(transaction, now, events, ttls))
    }
}

/// The id of the job that is due. One part of the query per status, so that each is read in index order and the first
/// row of either is the answer.
fn due(transaction: &Transaction<'_>, now: Moment, types: &str) -> Result<Option<String>, WorkerError> {
    let sql = "
        SELECT id, run_at, created_at FROM executor_jobs WHERE status = 'queued' AND run_at <= ?1
          AND (?2 = '[]' OR type IN (SELECT value FROM json_each(?2)))
        UNION ALL
        SELECT id, run_at, created_at FROM executor_jobs WHERE status = 'retry_scheduled' AND run_at <= ?1
          AND (?2 = '[]' OR type IN (SELECT value FROM json_each(?2)))
        ORDER BY run_at, created_at, id LIMIT 1";
    let found = transaction.prepare_cached(sql)?.query_row([&now.rfc3339(), types], |row| row.get(0));
    Ok(found.optional()?)
}

fn take(transaction: &Transaction<'_>, now: Moment, id: &str, worker: &str) -> Result<Job, WorkerError> {
    let sql = "UPDATE executor_jobs SET status = 'running', attempts = attempts + 1,
                 locked_at = ?2, heartbeat_at = ?2, updated_at = ?2, locked_by = ?3
               WHERE id = ?1
               RETURNING id, type, payload, attempts, max_attempts, dedupe_key, last_error";
    let row = transaction
        .prepare_cached(sql)?
        .query_row([id, &now.rfc3339(), worker], |row| Job::from_row(row, now))?;
    Ok(row)
}

pub(super) fn acquired(job: &Job, worker: &str, ttls: &Ttls) -> Event {
    Event::ClaimAcquired {
        task_id: job.id.clone(),
        session_id: worker.into(),
        expires_at: ttls.of(&job.kind).map(|ttl| millis(job.claimed_at.plus(ttl))),
    }
}

pub(super) fn extended(id: &str, kind: &str, worker: &str, ttls: &Ttls, now: Moment) -> Event {
    Event::ClaimExtended {
        task_id: id.into(),
        session_id: worker.into(),
        expires_at: ttls.of(kind).map(|ttl| millis(now.plus(ttl))),
    }
}

/// A claim without a holder's name could never be renewed, nor reclaimed for a reason.
pub(super) fn named(worker: &str) -> Result<(), WorkerError> {
    if worker.trim().is_empty() {
        return Err(WorkerError::Invalid("a worker needs a name".into()));
    }
    Ok(())
}

pub(super) fn millis(moment: Moment) -> i64 {
    moment.micros().div_euclid(1_000)
}
