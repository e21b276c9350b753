//! Taking a task.

use serde_json::json;

use super::{COLUMNS, read, status, write};
use crate::domain::time::Moment;
use crate::store::postgres::Row;
use crate::worker::WorkerError;
use crate::worker::postgres::cells::{optional, stamp, text};
use crate::worker::postgres::database::Turn;
use crate::worker::task_queue::claim::acquired;
use crate::worker::task_queue::log::What;
use crate::worker::task_queue::{Claim, Order, Wanted, WorkerId};

/// The first of the wanted tasks that nobody is taking at this moment.
pub fn best(turn: &mut Turn<'_>, worker: &WorkerId, wanted: &Wanted<'_>) -> Result<Claim, WorkerError> {
    let types = (!wanted.types.is_empty()).then(|| json!(wanted.types).to_string());
    let spare = wanted.max_attempts_remaining.map(|spare| spare.to_string());
    let now = turn.now()?;
    let values = [Some(worker.as_str()), Some(&stamp(now)), types.as_deref(), spare.as_deref()];
    match turn.first(&statement(wanted.order), &values)? {
        Some(row) => claimed(turn, worker, &row, now),
        None => Ok(Claim::Nothing),
    }
}

/// Finds a task and takes it, with the worker, the time, the types (a JSON list or NULL) and the spare
/// attempts.
///
/// The index is sorted within a type: the types are looked at in the order of their first tasks, and
/// the first row that is free is locked, no other. Where many take at once a task may so be taken before
/// a better one of another type; without them the order is exact.
fn statement(order: Order) -> String {
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
        Order::Priority => by_type("?.priority DESC, ?.created_at, ?.id"),
        Order::Creation => by_type("?.created_at, ?.id"),
        Order::Random => format!(
            "SELECT t.id FROM task_types k JOIN tasks t ON t.task_type_id = k.id AND t.status = 'pending'
             WHERE {wanted} AND {spare} ORDER BY random() LIMIT 1 FOR UPDATE OF t SKIP LOCKED"
        ),
    };
    format!("{TAKE} WHERE id = ({chosen}) RETURNING {COLUMNS}")
}

const TAKE: &str = "UPDATE tasks SET status = 'claimed', worker_id = $1, claimed_at = $2::timestamptz,
    updated_at = $2::timestamptz";

/// The task of that number. Whoever is taking it at this moment is waited for: then it is known who
/// has it.
pub fn named(turn: &mut Turn<'_>, worker: &WorkerId, task: i64) -> Result<Claim, WorkerError> {
    let number = task.to_string();
    let sql = "SELECT status, worker_id FROM tasks WHERE id = $1::bigint FOR UPDATE";
    let Some(row) = turn.first(sql, &[Some(&number)])? else { return Ok(Claim::Nothing) };
    let now = turn.now()?;
    let sql = format!("{TAKE} WHERE id = $3::bigint AND status = 'pending' RETURNING {COLUMNS}");
    match turn.first(&sql, &[Some(worker.as_str()), Some(&stamp(now)), Some(&number)])? {
        Some(won) => claimed(turn, worker, &won, now),
        None => Ok(Claim::LostRace { status: status(&text(&row, 0)?)?, by: optional(&row, 1) }),
    }
}

fn claimed(turn: &mut Turn<'_>, worker: &WorkerId, row: &Row, now: Moment) -> Result<Claim, WorkerError> {
    let task = read(row)?;
    write(turn, task.id, What::Claimed, Some(worker.as_str()), "Task claimed by worker", now)?;
    turn.tell([acquired(worker, &task)]);
    Ok(Claim::Task(Box::new(task)))
}
