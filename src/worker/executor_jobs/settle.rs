//! Settles a job: done, failed, or dead. Only its owner can do that.

use rusqlite::{OptionalExtension, Transaction, params};

use super::stamp::stamp;
use super::{backoff, millis, runs};
use crate::domain::time::{Moment, Span};
use crate::worker::{Event, WorkerError};

/// The result of settling a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    Done,
    /// The worker does not hold the job (any more): it was reclaimed, or is settled already.
    NotOwner,
}

/// The result of a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedAttempt {
    /// It is due again at this time.
    Retry { run_at: Moment },
    /// It was the last attempt.
    Dead,
    /// Nothing was changed: the worker does not hold the job (any more).
    NotOwner,
}

/// A job that a worker holds.
#[derive(Debug)]
pub(crate) struct HeldJob {
    pub id: String,
    pub kind: String,
    pub attempts: i64,
    pub max_attempts: i64,
    pub locked_at: Option<Moment>,
}

impl HeldJob {
    /// When it is due again if it fails now, rounded as SQLite's column keeps it: to milliseconds.
    pub(crate) fn retried_at(&self, now: Moment) -> Moment {
        now.plus(backoff(&self.kind, self.attempts)).floor(Span::millis(1))
    }
}

pub(crate) fn succeed(
    transaction: &Transaction<'_>,
    now: Moment,
    events: &mut Vec<Event>,
    id: &str,
    worker: &str,
) -> Result<Settled, WorkerError> {
    let Some(held) = held(transaction, id, worker)? else { return Ok(Settled::NotOwner) };
    // The last error and the heartbeat stay: both show later what happened.
    let sql = "UPDATE executor_jobs SET status = 'succeeded', locked_at = NULL, locked_by = NULL,
                 updated_at = ?2 WHERE id = ?1";
    transaction.prepare_cached(sql)?.execute([id, &now.rfc3339()])?;
    runs::end(transaction, now, &held, worker, None)?;
    events.push(released(&held, worker, "succeeded", now));
    Ok(Settled::Done)
}

pub(crate) fn fail(
    transaction: &Transaction<'_>,
    now: Moment,
    events: &mut Vec<Event>,
    id: &str,
    worker: &str,
    error: &str,
) -> Result<FailedAttempt, WorkerError> {
    let Some(held) = held(transaction, id, worker)? else { return Ok(FailedAttempt::NotOwner) };
    if held.attempts >= held.max_attempts {
        kill(transaction, now, &held, worker, error)?;
        events.push(released(&held, worker, "dead", now));
        return Ok(FailedAttempt::Dead);
    }
    let run_at = held.retried_at(now);
    let sql = "UPDATE executor_jobs SET status = 'retry_scheduled', run_at = ?2, last_error = ?3,
                 locked_at = NULL, locked_by = NULL, updated_at = ?4 WHERE id = ?1";
    transaction.prepare_cached(sql)?.execute(params![id, run_at.rfc3339(), error, now.rfc3339()])?;
    runs::end(transaction, now, &held, worker, Some(error))?;
    events.push(released(&held, worker, "failed", now));
    Ok(FailedAttempt::Retry { run_at })
}

pub(crate) fn bury(
    transaction: &Transaction<'_>,
    now: Moment,
    events: &mut Vec<Event>,
    id: &str,
    worker: &str,
    error: &str,
) -> Result<Settled, WorkerError> {
    let Some(held) = held(transaction, id, worker)? else { return Ok(Settled::NotOwner) };
    kill(transaction, now, &held, worker, error)?;
    events.push(released(&held, worker, "dead", now));
    Ok(Settled::Done)
}

fn kill(
    transaction: &Transaction<'_>,
    now: Moment,
    held: &HeldJob,
    worker: &str,
    error: &str,
) -> Result<(), WorkerError> {
    let sql = "UPDATE executor_jobs SET status = 'dead', last_error = ?2, locked_at = NULL, locked_by = NULL,
                 updated_at = ?3 WHERE id = ?1";
    transaction.prepare_cached(sql)?.execute([&held.id, error, &now.rfc3339()])?;
    runs::end(transaction, now, held, worker, Some(error))
}

/// The job, if this worker holds it.
fn held(transaction: &Transaction<'_>, id: &str, worker: &str) -> Result<Option<HeldJob>, WorkerError> {
    let sql = "SELECT id, type, attempts, max_attempts, locked_at FROM executor_jobs
               WHERE id = ?1 AND locked_by = ?2 AND status IN ('running', 'processing')";
    let held = transaction.prepare_cached(sql)?.query_row([id, worker], |row| {
        Ok(HeldJob {
            id: row.get(0)?,
            kind: row.get(1)?,
            attempts: row.get(2)?,
            max_attempts: row.get(3)?,
            locked_at: stamp(row.get_ref(4)?).at(),
        })
    });
    Ok(held.optional()?)
}

pub(crate) fn released(held: &HeldJob, worker: &str, reason: &str, now: Moment) -> Event {
    let since = held.locked_at.unwrap_or(now);
    Event::ClaimReleased {
        task_id: held.id.clone(),
        session_id: worker.into(),
        reason: reason.into(),
        held_for_ms: millis(now) - millis(since),
    }
}
