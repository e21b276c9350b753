//! Claims a task.

use rusqlite::{OptionalExtension, Transaction, named_params};
use serde_json::json;

use super::super::{Event, WorkerError};
use super::log::{TaskEvent, write};
use super::task::{COLUMNS, Status, Task, text};
use super::{TaskQueue, WorkerId};
use crate::domain::time::Moment;

/// Which of the matching tasks comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClaimOrder {
    /// The highest priority first; among equals the oldest.
    #[default]
    Priority,
    /// The lowest priority first; among equals the oldest. Reads every pending task of the wanted types.
    LowestPriority,
    /// The oldest first.
    Creation,
    /// The newest first.
    Newest,
    /// A random one. Reads every pending task of the wanted types.
    Random,
}

impl ClaimOrder {
    /// The statement that finds and claims a task, with `:worker`, `:now`, `:types` (a JSON list or NULL) and
    /// `:spare`; public, so that its query plan and cost can be examined.
    ///
    /// The index is sorted within a type, so the first task of every wanted type is looked up, and the best of those
    /// is claimed: a few index probes, however long the queue is.
    pub fn statement(self) -> String {
        let spare = "(:spare IS NULL OR t.attempts < t.max_attempts - :spare)";
        let wanted = "(:types IS NULL OR k.name IN (SELECT value FROM json_each(:types)))";
        let by_type = |first: &str| {
            format!(
                "SELECT best.id FROM task_types k JOIN tasks best ON best.id = (
                   SELECT t.id FROM tasks t WHERE t.status = 'pending' AND t.task_type_id = k.id AND {spare}
                   ORDER BY {} LIMIT 1)
                 WHERE {wanted} ORDER BY {} LIMIT 1",
                first.replace("?", "t"),
                first.replace("?", "best"),
            )
        };
        let chosen = match self {
            ClaimOrder::Priority => by_type("?.priority DESC, ?.created_at, ?.id"),
            ClaimOrder::LowestPriority => by_type("?.priority, ?.created_at, ?.id"),
            ClaimOrder::Creation => by_type("?.created_at, ?.id"),
            ClaimOrder::Newest => by_type("?.created_at DESC, ?.id DESC"),
            ClaimOrder::Random => format!(
                "SELECT t.id FROM task_types k JOIN tasks t ON t.task_type_id = k.id AND t.status = 'pending'
                 WHERE {wanted} AND {spare} ORDER BY random() LIMIT 1"
            ),
        };
        format!(
            "UPDATE tasks SET status = 'claimed', worker_id = :worker, claimed_at = :now, updated_at = :now
             WHERE id = ({chosen}) AND status = 'pending' RETURNING {COLUMNS}"
        )
    }
}

/// Which tasks a worker accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskFilter<'a> {
    /// Names of types; empty means all.
    pub types: &'a [&'a str],
    /// Only tasks with more attempts left than this.
    pub max_attempts_remaining: Option<i64>,
    pub order: ClaimOrder,
}

/// The result of a claim.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskClaim {
    /// The caller holds the task now.
    Task(Box<Task>),
    /// There is nothing to claim: no matching task is pending, or the named one does not exist. Try again later.
    Nothing,
    /// The named task is no longer pending; try another.
    LostRace { status: Status, by: Option<String> },
}

impl TaskClaim {
    /// The message of the specification.
    pub fn message(&self) -> &'static str {
        match self {
            TaskClaim::Task(_) => "Task claimed successfully",
            TaskClaim::Nothing => "No pending tasks available",
            TaskClaim::LostRace { .. } => "Task already claimed by another worker",
        }
    }

    pub fn task(self) -> Option<Task> {
        match self {
            TaskClaim::Task(task) => Some(*task),
            TaskClaim::Nothing | TaskClaim::LostRace { .. } => None,
        }
    }
}

impl TaskQueue {
    /// Claims the first matching task. Two workers never get the same task, and nobody loses a race: a second worker
    /// gets the next task or `Nothing`.
    pub fn claim(&mut self, worker: &WorkerId, wanted: &TaskFilter<'_>) -> Result<TaskClaim, WorkerError> {
        let types = (!wanted.types.is_empty()).then(|| json!(wanted.types).to_string());
        self.database.change(|transaction, now, events| {
            let task = transaction
                .prepare_cached(&wanted.order.statement())?
                .query_row(
                    named_params! {
                        ":worker": worker.as_str(),
                        ":now": text(now),
                        ":types": types,
                        ":spare": wanted.max_attempts_remaining,
                    },
                    Task::from_row,
                )
                .optional()?;
            let Some(task) = task else { return Ok(TaskClaim::Nothing) };
            claimed(transaction, worker, task, now, events)
        })
    }

    /// Claims the task with this id, which another worker may have claimed meanwhile.
    pub fn claim_by_id(&mut self, worker: &WorkerId, task: i64) -> Result<TaskClaim, WorkerError> {
        self.database.change(|transaction, now, events| {
            let sql = format!(
                "UPDATE tasks SET status = 'claimed', worker_id = :worker, claimed_at = :now, updated_at = :now
                 WHERE id = :id AND status = 'pending' RETURNING {COLUMNS}"
            );
            let values = named_params! {":worker": worker.as_str(), ":now": text(now), ":id": task};
            let won = transaction.prepare_cached(&sql)?.query_row(values, Task::from_row).optional()?;
            if let Some(won) = won {
                return claimed(transaction, worker, won, now, events);
            }
            let sql = "SELECT status, worker_id FROM tasks WHERE id = ?1";
            let lost = |row: &rusqlite::Row<'_>| Ok(TaskClaim::LostRace { status: row.get(0)?, by: row.get(1)? });
            let lost = transaction.prepare_cached(sql)?.query_row([task], lost).optional()?;
            Ok(lost.unwrap_or(TaskClaim::Nothing))
        })
    }
}

fn claimed(
    transaction: &Transaction<'_>,
    worker: &WorkerId,
    task: Task,
    now: Moment,
    events: &mut Vec<Event>,
) -> Result<TaskClaim, WorkerError> {
    write(transaction, task.id, TaskEvent::Claimed, Some(worker.as_str()), "Task claimed by worker", now)?;
    events.push(acquired(worker, &task));
    Ok(TaskClaim::Task(Box::new(task)))
}

/// The event that a worker holds a task, for as long as it sends heartbeats.
pub(in crate::worker) fn acquired(worker: &WorkerId, task: &Task) -> Event {
    Event::ClaimAcquired { task_id: task.id.to_string(), session_id: worker.to_string(), expires_at: None }
}
