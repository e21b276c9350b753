//! Claims a task.

use serde_json::json;

use super::{COLUMNS, read, status, write};
use crate::domain::time::Moment;
use crate::postgres::Row;
use crate::worker::WorkerError;
use crate::worker::postgres::cells::{optional, stamp, text};
use crate::worker::postgres::database::WorkerTransaction;
use crate::worker::task_queue::claim::acquired;
use crate::worker::task_queue::log::TaskEvent;
use crate::worker::task_queue::{ClaimOrder, TaskClaim, TaskFilter, WorkerId};

/// The first matching task that nobody is claiming right now.
pub(super) fn best(
    transaction: &mut WorkerTransaction<'_>,
    worker: &WorkerId,
    wanted: &TaskFilter<'_>,
) -> Result<TaskClaim, WorkerError> {
    let types = (!wanted.types.is_empty()).then(|| json!(wanted.types).to_string());
    let spare = wanted.max_attempts_remaining.map(|spare| spare.to_string());
    let now = transaction.now()?;
    let values = [Some(worker.as_str()), Some(&stamp(now)), types.as_deref(), spare.as_deref()];
    match transaction.first(&statement(wanted.order), &values)? {
        Some(row) => claimed(transaction, worker, &row, now),
        None => Ok(TaskClaim::Nothing),
    }
}

/// Finds and claims a task; parameters are the worker, the time, the types (a JSON list or NULL) and the spare
/// attempts.
///
/// The index is sorted within a type: types are tried in the order of their first tasks, and the first free row is
/// locked, no other. With many concurrent claims, a task may be claimed before a better one of another type;
/// otherwise the order is exact.
fn statement(order: ClaimOrder) -> String {
    let spare = "($4::bigint IS NULL OR t.attempts < t.max_attempts - $4::bigint)";
    let wanted = "($3::jsonb IS NULL OR $3::jsonb ? k.name)";
    let by_type = |first: &str| {
        let first = |of: &str| first.replace('?', of);
        let pending = format!(
            "SELECT t.* FROM tasks t WHERE t.status = 'pending' AND t.task_type_id = k.id AND {spare}
             ORDER BY {} LIMIT 1",
            first("t")
        );
        format!(
            "SELECT free.id FROM (
               SELECT k.id FROM task_types k CROSS JOIN LATERAL ({pending}) best
               WHERE {wanted} ORDER BY {}) k
             CROSS JOIN LATERAL ({pending} FOR UPDATE SKIP LOCKED) free LIMIT 1",
            first("best")
        )
    };
    let chosen = match order {
        ClaimOrder::Priority => by_type("?.priority DESC, ?.created_at, ?.id"),
        ClaimOrder::LowestPriority => by_type("?.priority, ?.created_at, ?.id"),
        ClaimOrder::Creation => by_type("?.created_at, ?.id"),
        ClaimOrder::Newest => by_type("?.created_at DESC, ?.id DESC"),
        ClaimOrder::Random => format!(
            "SELECT t.id FROM task_types k JOIN tasks t ON t.task_type_id = k.id AND t.status = 'pending'
             WHERE {wanted} AND {spare} ORDER BY random() LIMIT 1 FOR UPDATE OF t SKIP LOCKED"
        ),
    };
    format!("{TAKE} WHERE id = ({chosen}) RETURNING {COLUMNS}")
}

const TAKE: &str = "UPDATE tasks SET status = 'claimed', worker_id = $1, claimed_at = $2::timestamptz,
    updated_at = $2::timestamptz";

/// The task with this id. Waits for a concurrent claim, so that its holder is known.
pub(super) fn named(
    transaction: &mut WorkerTransaction<'_>,
    worker: &WorkerId,
    task: i64,
) -> Result<TaskClaim, WorkerError> {
    let number = task.to_string();
    let sql = "SELECT status, worker_id FROM tasks WHERE id = $1::bigint FOR UPDATE";
    let Some(row) = transaction.first(sql, &[Some(&number)])? else { return Ok(TaskClaim::Nothing) };
    let now = transaction.now()?;
    let sql = format!("{TAKE} WHERE id = $3::bigint AND status = 'pending' RETURNING {COLUMNS}");
    match transaction.first(&sql, &[Some(worker.as_str()), Some(&stamp(now)), Some(&number)])? {
        Some(won) => claimed(transaction, worker, &won, now),
        None => Ok(TaskClaim::LostRace { status: status(&text(&row, 0)?)?, by: optional(&row, 1) }),
    }
}

fn claimed(
    transaction: &mut WorkerTransaction<'_>,
    worker: &WorkerId,
    row: &Row,
    now: Moment,
) -> Result<TaskClaim, WorkerError> {
    let task = read(row)?;
    write(transaction, task.id, TaskEvent::Claimed, Some(worker.as_str()), "Task claimed by worker", now)?;
    transaction.tell([acquired(worker, &task)]);
    Ok(TaskClaim::Task(Box::new(task)))
}
