//! The log of a task: one row for each event.

use rusqlite::{Transaction, params};

use super::super::WorkerError;
use super::task::text;
use crate::domain::time::Moment;

#[derive(Clone, Copy)]
pub(in crate::worker) enum TaskEvent {
    Created,
    Claimed,
    Completed,
    Failed,
    Retried,
    Requeued,
}

impl TaskEvent {
    pub(in crate::worker) fn as_str(self) -> &'static str {
        match self {
            TaskEvent::Created => "created",
            TaskEvent::Claimed => "claimed",
            TaskEvent::Completed => "completed",
            TaskEvent::Failed => "failed",
            TaskEvent::Retried => "retried",
            TaskEvent::Requeued => "requeued",
        }
    }
}

/// Written in the same transaction as the change, so that neither exists without the other.
pub(super) fn write(
    transaction: &Transaction<'_>,
    task: i64,
    what: TaskEvent,
    worker: Option<&str>,
    message: &str,
    now: Moment,
) -> Result<(), WorkerError> {
    let sql = "INSERT INTO task_logs (task_id, event, worker_id, message, created_at)
               VALUES (?1, ?2, ?3, ?4, ?5)";
    transaction.prepare_cached(sql)?.execute(params![task, what.as_str(), worker, message, text(now)])?;
    Ok(())
}
