//! The tasks and steps before finalization, as far as a claim needs them.

use rusqlite::{Transaction, params};

use super::super::WorkerError;
use super::Finalization;
use super::row::text;
use crate::domain::time::Moment;

/// How a step ended. In either case the task may be finalized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepEnd {
    Completed,
    Failed,
}

impl StepEnd {
    pub fn as_str(self) -> &'static str {
        match self {
            StepEnd::Completed => "completed",
            StepEnd::Failed => "failed",
        }
    }
}

impl Finalization {
    /// Adds a task without steps; `false` if the name exists.
    pub fn add_task(&mut self, task: &str, priority: i64) -> Result<bool, WorkerError> {
        self.database.change(|transaction, now, _| {
            let sql = "INSERT INTO tasker_tasks (task_uuid, priority, requested_at, created_at, updated_at)
                       VALUES (?1, ?2, ?3, ?3, ?3) ON CONFLICT (task_uuid) DO NOTHING";
            let added = transaction.prepare_cached(sql)?.execute(params![task, priority, text(now)])? > 0;
            if added {
                move_to(transaction, task, "pending", now)?;
            }
            Ok(added)
        })
    }

    /// Adds a pending step to a task; `false` if the name exists.
    pub fn add_step(&mut self, task: &str, step: &str) -> Result<bool, WorkerError> {
        self.database.change(|transaction, now, _| {
            let sql =
                "INSERT INTO tasker_workflow_steps (workflow_step_uuid, task_uuid, created_at, updated_at)
                       VALUES (?2, ?1, ?3, ?3) ON CONFLICT (workflow_step_uuid) DO NOTHING";
            Ok(transaction.prepare_cached(sql)?.execute(params![task, step, text(now)])? > 0)
        })
    }

    /// Ends a step; `false` if it is unknown or has ended before.
    pub fn end_step(&mut self, step: &str, end: StepEnd) -> Result<bool, WorkerError> {
        let state = end.as_str();
        self.database.change(|transaction, now, _| {
            let sql = "UPDATE tasker_workflow_steps SET state = ?2, updated_at = ?3
                       WHERE workflow_step_uuid = ?1 AND state IN ('pending', 'in_progress')";
            Ok(transaction.prepare_cached(sql)?.execute(params![step, state, text(now)])? > 0)
        })
    }
}

/// Records the task's next state as the newest.
pub(super) fn move_to(
    transaction: &Transaction<'_>,
    task: &str,
    state: &str,
    now: Moment,
) -> Result<(), WorkerError> {
    let newest =
        "(SELECT to_state FROM tasker_task_transitions WHERE task_uuid = ?1 ORDER BY id DESC LIMIT 1)";
    let retire =
        "UPDATE tasker_task_transitions SET most_recent = 0 WHERE task_uuid = ?1 AND most_recent = 1";
    transaction.prepare_cached(retire)?.execute([task])?;
    let sql = format!(
        "INSERT INTO tasker_task_transitions (task_uuid, from_state, to_state, created_at)
         VALUES (?1, {newest}, ?2, ?3)"
    );
    transaction.prepare_cached(&sql)?.execute(params![task, state, text(now)])?;
    Ok(())
}
