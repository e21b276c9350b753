//! Who works: the registry of heartbeats, and what becomes of the silent.

use super::write;
use crate::domain::time::{Moment, Span};
use crate::worker::WorkerError;
use crate::worker::postgres::cells::{moment, number, stamp, text};
use crate::worker::postgres::database::Turn;
use crate::worker::task_queue::log::What;
use crate::worker::task_queue::workers::{cleanup, presence, reported};
use crate::worker::task_queue::{StaleWorker, Vitals, Worker, WorkerId};

pub fn report(turn: &mut Turn<'_>, worker: &WorkerId, vitals: &Vitals) -> Result<(), WorkerError> {
    let metadata = serde_json::to_string(vitals).map_err(|error| WorkerError::Invalid(error.to_string()))?;
    // Whoever judges this worker right now is waited for: the beat counts from when it is written.
    let locked = "SELECT worker_id FROM worker_heartbeats WHERE worker_id = $1 FOR UPDATE";
    let known = turn.first(locked, &[Some(worker.as_str())])?.is_some();
    let now = turn.now()?;
    let sql = "INSERT INTO worker_heartbeats (worker_id, status, last_seen_at, metadata)
               VALUES ($1, 'active', $2::timestamptz, $3::jsonb)
               ON CONFLICT (worker_id) DO UPDATE SET status = 'active',
                 last_seen_at = excluded.last_seen_at, metadata = excluded.metadata";
    turn.execute(sql, &[Some(worker.as_str()), Some(&stamp(now)), Some(&metadata)])?;
    turn.tell([reported(worker, vitals, known, now)]);
    Ok(())
}

pub fn all(turn: &mut Turn<'_>) -> Result<Vec<Worker>, WorkerError> {
    let now = turn.now()?;
    let sql = "SELECT worker_id, status, last_seen_at::text FROM worker_heartbeats
               ORDER BY worker_id COLLATE \"C\"";
    let rows = turn.query(sql, &[])?;
    let worker = |row| {
        let last_seen_at = moment(row, 2);
        Ok(Worker { id: text(row, 0)?, presence: presence(&text(row, 1)?, last_seen_at, now), last_seen_at })
    };
    rows.iter().map(worker).collect()
}

pub fn check(turn: &mut Turn<'_>, after: Span) -> Result<Vec<StaleWorker>, WorkerError> {
    let now = turn.now()?;
    // In whole seconds, as on SQLite: at exactly `after` a worker is not stale yet.
    let cutoff = stamp(now.floor(Span::seconds(1)).minus(after));
    // Who is reporting in at this moment, or is looked at by another, is left to the next look. The row
    // stays locked: nobody reports in between the judgement and its consequences.
    let sql = "SELECT w.worker_id, w.last_seen_at::text FROM worker_heartbeats w
               WHERE w.last_seen_at < $1::timestamptz AND (w.status = 'active' OR EXISTS (
                 SELECT 1 FROM tasks t WHERE t.worker_id = w.worker_id AND t.status = 'claimed'))
               ORDER BY w.worker_id COLLATE \"C\" FOR UPDATE OF w SKIP LOCKED";
    let mut stale = Vec::new();
    for row in turn.query(sql, &[Some(&cutoff)])? {
        let id = text(&row, 0)?;
        let requeued = requeue(turn, &id, now)?;
        turn.execute("UPDATE worker_heartbeats SET status = 'stale' WHERE worker_id = $1", &[Some(&id)])?;
        let worker = StaleWorker { id, requeued };
        turn.tell(worker.orphaned(moment(&row, 1), now));
        stale.push(worker);
    }
    turn.tell(cleanup(&stale, now));
    Ok(stale)
}

/// Gives the worker's tasks back, but those that it is settling at this very moment.
fn requeue(turn: &mut Turn<'_>, worker: &str, now: Moment) -> Result<Vec<i64>, WorkerError> {
    let sql = "UPDATE tasks SET status = 'pending', worker_id = NULL, claimed_at = NULL,
                 updated_at = $2::timestamptz
               WHERE id IN (SELECT t.id FROM tasks t WHERE t.worker_id = $1 AND t.status = 'claimed'
                            FOR UPDATE SKIP LOCKED)
               RETURNING id::text";
    let rows = turn.query(sql, &[Some(worker), Some(&stamp(now))])?;
    let mut tasks: Vec<i64> = rows.iter().map(|row| number(row, 0)).collect::<Result<_, _>>()?;
    tasks.sort_unstable();
    for task in &tasks {
        write(turn, *task, What::Requeued, Some(worker), "Worker is stale; task requeued", now)?;
    }
    Ok(tasks)
}
