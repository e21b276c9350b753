//! How a worker ends its hold on a job: done, failed, or given up. Only the owner is heard.

use rusqlite::{OptionalExtension, Transaction, params};

use super::stamp::stamp;
use super::{backoff, millis, runs};
use crate::domain::time::{Moment, Span};
use crate::worker::{Event, WorkerError};

/// What a job's owner gets for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    Done,
    /// The job is not this worker's, or no longer: it was reclaimed, or is settled already.
    NotOwner,
}

/// What became of a job that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed {
    /// It is due again at this time.
    Retry { run_at: Moment },
    /// It was the last attempt.
    Dead,
    /// Nothing was changed: the job is not this worker's, or no longer.
    NotOwner,
}

/// A job that a worker holds.
#[derive(Debug)]
pub struct Held {
    pub id: String,
    pub kind: String,
    pub attempts: i64,
    pub max_attempts: i64,
    pub locked_at: Option<Moment>,
}

impl Held {
    /// When it is due again if it fails now, as it can be read back: SQLite's column keeps milliseconds.
    pub fn retried_at(&self, now: Moment) -> Moment {
        now.plus(backoff(&self.kind, self.attempts)).floor(Span::millis(1))
    }
}

pub fn succeed(
    transaction: &Transaction<'_>,
    now: Moment,
    events: &mut Vec<Event>,
    id: &str,
    worker: &str,
) -> Result<Settled, WorkerError> {
    let Some(held) = held(transaction, id, worker)? else { return Ok(Settled::NotOwner) };
    // The last error stays, and so does the heartbeat: both tell later what happened.
    let sql = "UPDATE executor_jobs SET status = 'succeeded', locked_at = NULL, locked_by = NULL,
                 updated_at = ?2 WHERE id = ?1";
    transaction.prepare_cached(sql)?.execute([id, &now.rfc3339()])?;
    runs::end(transaction, now, &held, worker, None)?;
    events.push(released(&held, worker, "succeeded", now));
    Ok(Settled::Done)
}

pub fn fail(
    transaction: &Transaction<'_>,
    now: Moment,
    events: &mut Vec<Event>,
    id: &str,
    worker: &str,
    error: &str,
) -> Result<Failed, WorkerError> {
    let Some(held) = held(transaction, id, worker)? else { return Ok(Failed::NotOwner) };
    if held.attempts >= held.max_attempts {
        kill(transaction, now, &held, worker, error)?;
        events.push(released(&held, worker, "dead", now));
        return Ok(Failed::Dead);
    }
    let run_at = held.retried_at(now);
    let sql = "UPDATE executor_jobs SET status = 'retry_scheduled', run_at = ?2, last_error = ?3,
                 locked_at = NULL, locked_by = NULL, updated_at = ?4 WHERE id = ?1";
    transaction.prepare_cached(sql)?.execute(params![id, run_at.rfc3339(), error, now.rfc3339()])?;
    runs::end(transaction, now, &held, worker, Some(error))?;
    events.push(released(&held, worker, "failed", now));
    Ok(Failed::Retry { run_at })
}

pub fn bury(
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
    held: &Held,
    worker: &str,
    error: &str,
) -> Result<(), WorkerError> {
    let sql = "UPDATE executor_jobs SET status = 'dead', last_error = ?2, locked_at = NULL, locked_by = NULL,
                 updated_at = ?3 WHERE id = ?1";
    transaction.prepare_cached(sql)?.execute([&held.id, error, &now.rfc3339()])?;
    runs::end(transaction, now, held, worker, Some(error))
}

/// The job, if it is this worker's.
fn held(transaction: &Transaction<'_>, id: &str, worker: &str) -> Result<Option<Held>, WorkerError> {
    let sql = "SELECT id, type, attempts, max_attempts, locked_at FROM executor_jobs
               WHERE id = ?1 AND locked_by = ?2 AND status IN ('running', 'processing')";
    let held = transaction.prepare_cached(sql)?.query_row([id, worker], |row| {
        Ok(Held {
            id: row.get(0)?,
            kind: row.get(1)?,
            attempts: row.get(2)?,
            max_attempts: row.get(3)?,
            locked_at: stamp(row.get_ref(4)?).at(),
        })
    });
    Ok(held.optional()?)
}

pub fn released(held: &Held, worker: &str, reason: &str, now: Moment) -> Event {
    let since = held.locked_at.unwrap_or(now);
    Event::ClaimReleased {
        task_id: held.id.clone(),
        session_id: worker.into(),
        reason: reason.into(),
        held_for_ms: millis(now) - millis(since),
    }
}
