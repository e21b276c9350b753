//! Settles a task: completed or failed.

use rusqlite::{OptionalExtension, Transaction, params};
use serde_json::Value as Json;
use std::fmt;

use super::super::{Event, WorkerError};
use super::log::{TaskEvent, write};
use super::task::{Status, text};
use super::{TaskQueue, WorkerId};
use crate::domain::time::Moment;

/// Whether a retry may succeed (the specification's `is_retryable`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    Worthwhile,
    Pointless,
}

/// Why a worker cannot settle a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettleRefusal {
    NotFound,
    OtherWorkers {
        by: String,
    },
    /// This worker or nobody holds the task, but it is not claimed.
    WrongState {
        status: Status,
    },
}

impl fmt::Display for SettleRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettleRefusal::NotFound => f.write_str("there is no such task"),
            SettleRefusal::OtherWorkers { by } => write!(f, "the task is {by}'s"),
            SettleRefusal::WrongState { status } => write!(f, "the task is {status}, not claimed"),
        }
    }
}

/// The result of completing a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    Completed { attempts: i64 },
    Refused(SettleRefusal),
}

/// The result of failing a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureOutcome {
    /// It is pending again.
    Retried {
        attempts: i64,
    },
    /// It has failed for good.
    Failed {
        attempts: i64,
    },
    Refused(SettleRefusal),
}

impl TaskQueue {
    /// Marks a claimed task as completed; only its worker may do that. The attempt is counted here, not at the claim.
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
            write(transaction, task, TaskEvent::Completed, Some(worker.as_str()), "Task completed", now)?;
            events.push(held.released(worker, task, "completed", now));
            Ok(Completion::Completed { attempts })
        })
    }

    /// Marks a claimed task as failed; only its worker may do that. It becomes pending again if a retry may succeed
    /// and an attempt is left.
    pub fn fail(
        &mut self,
        worker: &WorkerId,
        task: i64,
        error: &str,
        retry: Retry,
    ) -> Result<FailureOutcome, WorkerError> {
        self.database.change(|transaction, now, events| {
            let held = match held(transaction, worker, task)? {
                Ok(held) => held,
                Err(refusal) => return Ok(FailureOutcome::Refused(refusal)),
            };
            events.push(held.released(worker, task, "failed", now));
            let attempts = held.attempts.saturating_add(1);
            if retry == Retry::Worthwhile && attempts < held.max_attempts {
                let sql = "UPDATE tasks SET status = 'pending', worker_id = NULL, claimed_at = NULL,
                           error_message = ?2, attempts = ?3, updated_at = ?4 WHERE id = ?1";
                transaction.prepare_cached(sql)?.execute(params![task, error, attempts, text(now)])?;
                write(transaction, task, TaskEvent::Retried, Some(worker.as_str()), error, now)?;
                return Ok(FailureOutcome::Retried { attempts });
            }
            let sql = "UPDATE tasks SET status = 'failed', error_message = ?2, attempts = ?3,
                       completed_at = ?4, updated_at = ?4 WHERE id = ?1";
            transaction.prepare_cached(sql)?.execute(params![task, error, attempts, text(now)])?;
            write(transaction, task, TaskEvent::Failed, Some(worker.as_str()), error, now)?;
            Ok(FailureOutcome::Failed { attempts })
        })
    }
}

/// A task that the worker holds.
pub(in crate::worker) struct HeldTask {
    pub attempts: i64,
    pub max_attempts: i64,
    pub claimed_at: Option<Moment>,
}

impl HeldTask {
    pub(crate) fn released(&self, worker: &WorkerId, task: i64, reason: &str, now: Moment) -> Event {
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
) -> Result<Result<HeldTask, SettleRefusal>, WorkerError> {
    let sql = "SELECT status, worker_id, attempts, max_attempts, claimed_at FROM tasks WHERE id = ?1";
    let found = transaction.prepare_cached(sql)?.query_row([task], |row| {
        let claimed_at: Option<String> = row.get(4)?;
        let claimed_at = claimed_at.and_then(|text| Moment::parse(&text));
        let held = HeldTask { attempts: row.get(2)?, max_attempts: row.get(3)?, claimed_at };
        Ok((row.get(0)?, row.get::<_, Option<String>>(1)?, held))
    });
    Ok(match found.optional()? {
        None => Err(SettleRefusal::NotFound),
        Some((status, by, held)) => judge(worker, status, by, held),
    })
}

/// Whether the worker holds the task.
pub(in crate::worker) fn judge(
    worker: &WorkerId,
    status: Status,
    by: Option<String>,
    held: HeldTask,
) -> Result<HeldTask, SettleRefusal> {
    match (status, by) {
        // Check the holder first: the state of another worker's task does not matter.
        (_, Some(by)) if by != worker.as_str() => Err(SettleRefusal::OtherWorkers { by }),
        (Status::Claimed, Some(_)) => Ok(held),
        (status, _) => Err(SettleRefusal::WrongState { status }),
    }
}
