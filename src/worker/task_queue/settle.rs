//! Handing a task back: done, or not.

use rusqlite::{OptionalExtension, Transaction, params};
use serde_json::Value as Json;
use std::fmt;

use super::super::{Event, WorkerError};
use super::log::{What, write};
use super::task::{Status, text};
use super::{TaskQueue, WorkerId};
use crate::domain::time::Moment;

/// Whether a failure may pass (the document's `is_retryable`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    Worthwhile,
    Pointless,
}

/// Why a worker's word about a task does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    NotFound,
    OtherWorkers {
        by: String,
    },
    /// The task is this worker's or nobody's, but not claimed.
    WrongState {
        status: Status,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotFound => f.write_str("there is no such task"),
            Refusal::OtherWorkers { by } => write!(f, "the task is {by}'s"),
            Refusal::WrongState { status } => write!(f, "the task is {status}, not claimed"),
        }
    }
}

/// The answers to the word that a task is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    Completed { attempts: i64 },
    Refused(Refusal),
}

/// The answers to the word that a task failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// It is pending again.
    Retried {
        attempts: i64,
    },
    /// It stays failed.
    Failed {
        attempts: i64,
    },
    Refused(Refusal),
}

impl TaskQueue {
    /// Marks a claimed task completed; only its worker may. The attempt counts here, not at the claim.
    pub fn complete(
        &mut self,
        worker: &WorkerId,
        task: i64,
        result: &Json,
    ) -> Result<Completion, WorkerError> {
        self.database.change(|transaction, now, events| {
            let held = match held(transaction, worker, task)? {
                Ok(held) => held,
                Err(refusal) => return Ok(Completion::Refused(refusal)),
            };
            let attempts = held.attempts.saturating_add(1);
            let sql =
                "UPDATE tasks SET status = 'completed', result = ?2, error_message = NULL, attempts = ?3,
                       completed_at = ?4, updated_at = ?4 WHERE id = ?1";
            transaction.prepare_cached(sql)?.execute(params![
                task,
                result.to_string(),
                attempts,
                text(now)
            ])?;
            write(transaction, task, What::Completed, Some(worker.as_str()), "Task completed", now)?;
            events.push(held.released(worker, task, "completed", now));
            Ok(Completion::Completed { attempts })
        })
    }

    /// Marks a claimed task failed; only its worker may. It becomes pending again if that is worthwhile
    /// and an attempt is left after this one.
    pub fn fail(
        &mut self,
        worker: &WorkerId,
        task: i64,
        error: &str,
        retry: Retry,
    ) -> Result<Failure, WorkerError> {
        self.database.change(|transaction, now, events| {
            let held = match held(transaction, worker, task)? {
                Ok(held) => held,
                Err(refusal) => return Ok(Failure::Refused(refusal)),
            };
            events.push(held.released(worker, task, "failed", now));
            let attempts = held.attempts.saturating_add(1);
            if retry == Retry::Worthwhile && attempts < held.max_attempts {
                let sql = "UPDATE tasks SET status = 'pending', worker_id = NULL, claimed_at = NULL,
                           error_message = ?2, attempts = ?3, updated_at = ?4 WHERE id = ?1";
                transaction.prepare_cached(sql)?.execute(params![task, error, attempts, text(now)])?;
                write(transaction, task, What::Retried, Some(worker.as_str()), error, now)?;
                return Ok(Failure::Retried { attempts });
            }
            let sql = "UPDATE tasks SET status = 'failed', error_message = ?2, attempts = ?3,
                       completed_at = ?4, updated_at = ?4 WHERE id = ?1";
            transaction.prepare_cached(sql)?.execute(params![task, error, attempts, text(now)])?;
            write(transaction, task, What::Failed, Some(worker.as_str()), error, now)?;
            Ok(Failure::Failed { attempts })
        })
    }
}

/// A task that the worker has.
pub(in crate::worker) struct Held {
    pub attempts: i64,
    pub max_attempts: i64,
    pub claimed_at: Option<Moment>,
}

impl Held {
    pub fn released(&self, worker: &WorkerId, task: i64, reason: &str, now: Moment) -> Event {
        Event::ClaimReleased {
            task_id: task.to_string(),
            session_id: worker.to_string(),
            reason: reason.into(),
            held_for_ms: self.claimed_at.map_or(0, |since| now.since(since).as_millis()),
        }
    }
}

fn held(
    transaction: &Transaction<'_>,
    worker: &WorkerId,
    task: i64,
) -> Result<Result<Held, Refusal>, WorkerError> {
    let sql = "SELECT status, worker_id, attempts, max_attempts, claimed_at FROM tasks WHERE id = ?1";
    let found = transaction.prepare_cached(sql)?.query_row([task], |row| {
        let claimed_at: Option<String> = row.get(4)?;
        let claimed_at = claimed_at.and_then(|text| Moment::parse(&text));
        let held = Held { attempts: row.get(2)?, max_attempts: row.get(3)?, claimed_at };
        Ok((row.get(0)?, row.get::<_, Option<String>>(1)?, held))
    });
    Ok(match found.optional()? {
        None => Err(Refusal::NotFound),
        Some((status, by, held)) => judge(worker, status, by, held),
    })
}

/// Whether the worker has the task that was found.
pub(in crate::worker) fn judge(
    worker: &WorkerId,
    status: Status,
    by: Option<String>,
    held: Held,
) -> Result<Held, Refusal> {
    match (status, by) {
        // Whose it is comes first: that a stranger's task is also over helps nobody.
        (_, Some(by)) if by != worker.as_str() => Err(Refusal::OtherWorkers { by }),
        (Status::Claimed, Some(_)) => Ok(held),
        (status, _) => Err(Refusal::WrongState { status }),
    }
}
