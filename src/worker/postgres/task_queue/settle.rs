//! Settles a task: completed or failed.

use serde_json::Value as Json;

use super::{status, write};
use crate::worker::WorkerError;
use crate::worker::postgres::cells::{moment, number, optional, stamp, text};
use crate::worker::postgres::database::WorkerTransaction;
use crate::worker::task_queue::log::TaskEvent;
use crate::worker::task_queue::settle::{HeldTask, judge};
use crate::worker::task_queue::{Completion, FailureOutcome, Retry, SettleRefusal, WorkerId};

pub(super) fn complete(
    transaction: &mut WorkerTransaction<'_>,
    worker: &WorkerId,
    task: i64,
    result: &Json,
) -> Result<Completion, WorkerError> {
    let held = match held(transaction, worker, task)? {
        Ok(held) => held,
        Err(refusal) => return Ok(Completion::Refused(refusal)),
    };
    let now = transaction.now()?;
    let attempts = held.attempts.saturating_add(1);
    let sql = "UPDATE tasks SET status = 'completed', result = $2::jsonb, error_message = NULL,
                 attempts = $3::integer, completed_at = $4::timestamptz, updated_at = $4::timestamptz
               WHERE id = $1::bigint";
    let values = [task.to_string(), result.to_string(), attempts.to_string(), stamp(now)];
    transaction.execute(sql, &values.each_ref().map(|value| Some(value.as_str())))?;
    write(transaction, task, TaskEvent::Completed, Some(worker.as_str()), "Task completed", now)?;
    transaction.tell([held.released(worker, task, "completed", now)]);
    Ok(Completion::Completed { attempts })
}

pub(super) fn fail(
    transaction: &mut WorkerTransaction<'_>,
    worker: &WorkerId,
    task: i64,
    error: &str,
    retry: Retry,
) -> Result<FailureOutcome, WorkerError> {
    let held = match held(transaction, worker, task)? {
        Ok(held) => held,
        Err(refusal) => return Ok(FailureOutcome::Refused(refusal)),
    };
    let now = transaction.now()?;
    let attempts = held.attempts.saturating_add(1);
    let again = retry == Retry::Worthwhile && attempts < held.max_attempts;
    let sql = match again {
        true => {
            "UPDATE tasks SET status = 'pending', worker_id = NULL, claimed_at = NULL, error_message = $2,
               attempts = $3::integer, updated_at = $4::timestamptz WHERE id = $1::bigint"
        }
        false => {
            "UPDATE tasks SET status = 'failed', error_message = $2, attempts = $3::integer,
               completed_at = $4::timestamptz, updated_at = $4::timestamptz WHERE id = $1::bigint"
        }
    };
    let values = [task.to_string(), error.to_owned(), attempts.to_string(), stamp(now)];
    transaction.execute(sql, &values.each_ref().map(|value| Some(value.as_str())))?;
    let what = if again { TaskEvent::Retried } else { TaskEvent::Failed };
    write(transaction, task, what, Some(worker.as_str()), error, now)?;
    transaction.tell([held.released(worker, task, "failed", now)]);
    Ok(if again { FailureOutcome::Retried { attempts } } else { FailureOutcome::Failed { attempts } })
}

/// The task, locked, if the worker holds it.
fn held(
    transaction: &mut WorkerTransaction<'_>,
    worker: &WorkerId,
    task: i64,
) -> Result<Result<HeldTask, SettleRefusal>, WorkerError> {
    let sql = "SELECT status, worker_id, attempts::text, max_attempts::text, claimed_at::text FROM tasks
               WHERE id = $1::bigint FOR UPDATE";
    let Some(row) = transaction.first(sql, &[Some(&task.to_string())])? else {
        return Ok(Err(SettleRefusal::NotFound));
    };
    let held =
        HeldTask { attempts: number(&row, 2)?, max_attempts: number(&row, 3)?, claimed_at: moment(&row, 4) };
    Ok(judge(worker, status(&text(&row, 0)?)?, optional(&row, 1), held))
}
