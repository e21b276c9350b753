//! Taking a task.

use rusqlite::{OptionalExtension, Transaction, named_params};
use serde_json::json;

use super::super::{Event, WorkerError};
use super::log::{What, write};
use super::task::{COLUMNS, Status, Task, text};
use super::{TaskQueue, WorkerId};
use crate::domain::time::Moment;

/// Which of the wanted tasks comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The highest priority; among equals the oldest.
    #[default]
    Priority,
    /// The oldest.
    Creation,
    /// Any, with equal chances. Reads every pending task of the wanted types.
    Random,
}

impl Order {
    /// The one statement that finds a task and takes it, with `:worker`, `:now`, `:types` (a JSON list or
    /// NULL) and `:spare`: for those who want to see its plan or its price.
    ///
    /// The index is sorted within a type, so the first task of every wanted type is asked for by itself and
    /// the best of those few is taken: a handful of probes, however long the queue is.
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
            Order::Priority => by_type("?.priority DESC, ?.created_at, ?.id"),
            Order::Creation => by_type("?.created_at, ?.id"),
            Order::Random => format!(
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

/// What a worker is willing to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted<'a> {
    /// Names of types; none means all.
    pub types: &'a [&'a str],
    /// Only tasks with more attempts left than this.
    pub max_attempts_remaining: Option<i64>,
    pub order: Order,
}

/// The answers to a claim.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// The task is the caller's.
    Task(Box<Task>),
    /// There is nothing to claim: no such task is pending, or the one named does not exist. Come back
    /// later.
    Nothing,
    /// The task that was named is not pending any more; try another at once.
    LostRace { status: Status, by: Option<String> },
}

impl Claim {
    /// The document's words.
    pub fn message(&self) -> &'static str {
        match self {
            Claim::Task(_) => "Task claimed successfully",
            Claim::Nothing => "No pending tasks available",
            Claim::LostRace { .. } => "Task already claimed by another worker",
        }
    }

    pub fn task(self) -> Option<Task> {
        match self {
            Claim::Task(task) => Some(*task),
            Claim::Nothing | Claim::LostRace { .. } => None,
        }
    }
}

impl TaskQueue {
    /// Claims the first of the wanted tasks. Two never get the same, and nobody loses a race: whoever
    /// comes second finds the next task or [`Claim::Nothing`].
    pub fn claim(&mut self, worker: &WorkerId, wanted: &Wanted<'_>) -> Result<Claim, WorkerError> {
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
            let Some(task) = task else { return Ok(Claim::Nothing) };
            claimed(transaction, worker, task, now, events)
        })
    }

    /// Claims the task of that number, which another may have taken since it was seen.
    pub fn claim_by_id(&mut self, worker: &WorkerId, task: i64) -> Result<Claim, WorkerError> {
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
            let lost = |row: &rusqlite::Row<'_>| Ok(Claim::LostRace { status: row.get(0)?, by: row.get(1)? });
            let lost = transaction.prepare_cached(sql)?.query_row([task], lost).optional()?;
            Ok(lost.unwrap_or(Claim::Nothing))
        })
    }
}

fn claimed(
    transaction: &Transaction<'_>,
    worker: &WorkerId,
    task: Task,
    now: Moment,
    events: &mut Vec<Event>,
) -> Result<Claim, WorkerError> {
    write(transaction, task.id, What::Claimed, Some(worker.as_str()), "Task claimed by worker", now)?;
    events.push(acquired(worker, &task));
    Ok(Claim::Task(Box::new(task)))
}

/// The word that a worker has a task, for as long as it reports in.
pub(in crate::worker) fn acquired(worker: &WorkerId, task: &Task) -> Event {
    Event::ClaimAcquired { task_id: task.id.to_string(), session_id: worker.to_string(), expires_at: None }
}
