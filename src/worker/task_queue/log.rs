//! The trail of a task: one row for everything that befalls it.

use rusqlite::{Transaction, params};

use super::super::WorkerError;
use super::task::text;
use crate::domain::time::Moment;

#[derive(Clone, Copy)]
pub(in crate::worker) enum What {
    Created,
    Claimed,
    Completed,
    Failed,
    Retried,
    Requeued,
}

impl What {
    pub(in crate::worker) fn as_str(self) -> &'static str {
        match self {
            What::Created => "created",
            What::Claimed => "claimed",
            What::Completed => "completed",
            What::Failed => "failed",
            What::Retried => "retried",
            What::Requeued => "requeued",
        }
    }
}

/// Written in the transaction of what it tells, so that neither is there without the other.
pub(super) fn write(
    transaction: &Transaction<'_>,
    task: i64,
    what: What,
    worker: Option<&str>,
    message: &str,
    now: Moment,
) -> Result<(), WorkerError> {
    let sql = "INSERT INTO task_logs (task_id, event, worker_id, message, created_at)
               VALUES (?1, ?2, ?3, ?4, ?5)";
    transaction.prepare_cached(sql)?.execute(params![task, what.as_str(), worker, message, text(now)])?;
    Ok(())
}
