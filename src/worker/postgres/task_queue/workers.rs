//! The registry of heartbeats, and the recovery of silent workers' tasks.

use super::write;
use crate::domain::time::{Moment, Span};
use crate::worker::WorkerError;
use crate::worker::postgres::cells::{moment, number, stamp, text};
use crate::worker::postgres::database::WorkerTransaction;
use crate::worker::task_queue::log::TaskEvent;
use crate::worker::task_queue::workers::{cleanup, presence, reported};
use crate::worker::task_queue::{HeartbeatInfo, RegisteredWorker, StaleWorker, WorkerId};

pub(super) fn report(
    transaction: &mut WorkerTransaction<'_>,
    worker: &WorkerId,
    vitals: &HeartbeatInfo,
) -> Result<(), WorkerError> {
    let metadata = serde_json::to_string(vitals).map_err(|error| WorkerError::Invalid(error.to_string()))?;
    // Wait for a concurrent check of this worker: the heartbeat counts from when it is written.
    let locked = "SELECT worker_id FROM worker_heartbeats WHERE worker_id = $1 FOR UPDATE";
    let known = transaction.first(locked, &[Some(worker.as_str())])?.is_some();
    let now = transaction.now()?;
    let sql = "INSERT INTO worker_heartbeats (worker_id, status, last_seen_at, metadata)
               VALUES ($1, 'active', $2::timestamptz, $3::jsonb)
               ON CONFLICT (worker_id) DO UPDATE SET status = 'active',
                 last_seen_at = excluded.last_seen_at, metadata = excluded.metadata";
    transaction.execute(sql, &[Some(worker.as_str()), Some(&stamp(now)), Some(&metadata)])?;
    transaction.tell([reported(worker, vitals, known, now)]);
    Ok(())
}

pub(super) fn all(transaction: &mut WorkerTransaction<'_>) -> Result<Vec<RegisteredWorker>, WorkerError> {
    let now = transaction.now()?;
    let sql = "SELECT worker_id, status, last_seen_at::text FROM worker_heartbeats
               ORDER BY worker_id COLLATE \"C\"";
    let rows = transaction.query(sql, &[])?;
    let worker = |row| {
        let last_seen_at = moment(row, 2);
        Ok(RegisteredWorker {
            id: text(row, 0)?,
            presence: presence(&text(row, 1)?, last_seen_at, now),
            last_seen_at,
        })
    };
    rows.iter().map(worker).collect()
}

pub(super) fn check(
    transaction: &mut WorkerTransaction<'_>,
    after: Span,
) -> Result<Vec<StaleWorker>, WorkerError> {
    let now = transaction.now()?;
    // In whole seconds, as on SQLite: a worker is not stale yet at exactly `after`.
    let cutoff = stamp(now.floor(Span::seconds(1)).minus(after));
    // A worker that is sending a heartbeat or is being checked right now is skipped. The row stays locked: no
    // heartbeat can come between the check and its consequences.
    let sql = "SELECT w.worker_id, w.last_seen_at::text FROM worker_heartbeats w
               WHERE w.last_seen_at < $1::timestamptz AND (w.status = 'active' OR EXISTS (
                 SELECT 1 FROM tasks t WHERE t.worker_id = w.worker_id AND t.status = 'claimed'))
               ORDER BY w.worker_id COLLATE \"C\" FOR UPDATE OF w SKIP LOCKED";
    let mut stale = Vec::new();
    for row in transaction.query(sql, &[Some(&cutoff)])? {
        let id = text(&row, 0)?;
        let requeued = requeue(transaction, &id, now)?;
        transaction
            .execute("UPDATE worker_heartbeats SET status = 'stale' WHERE worker_id = $1", &[Some(&id)])?;
        let worker = StaleWorker { id, requeued };
        transaction.tell(worker.orphaned(moment(&row, 1), now));
        stale.push(worker);
    }
    transaction.tell(cleanup(&stale, now));
    Ok(stale)
}

/// Requeues the worker's tasks, except those that it is settling right now.
fn requeue(
    transaction: &mut WorkerTransaction<'_>,
    worker: &str,
    now: Moment,
) -> Result<Vec<i64>, WorkerError> {
    let sql = "UPDATE tasks SET status = 'pending', worker_id = NULL, claimed_at = NULL,
                 updated_at = $2::timestamptz
               WHERE id IN (SELECT t.id FROM tasks t WHERE t.worker_id = $1 AND t.status = 'claimed'
                            FOR UPDATE SKIP LOCKED)
               RETURNING id::text";
    let rows = transaction.query(sql, &[Some(worker), Some(&stamp(now))])?;
    let mut tasks: Vec<i64> = rows.iter().map(|row| number(row, 0)).collect::<Result<_, _>>()?;
    tasks.sort_unstable();
    for task in &tasks {
        write(transaction, *task, TaskEvent::Requeued, Some(worker), "Worker is stale; task requeued", now)?;
    }
    Ok(tasks)
}
