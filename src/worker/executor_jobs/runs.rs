//! The runs of a job: one row when it starts, another when it ends, neither ever changed.

use rusqlite::{Transaction, params};

use super::job::Job;
use super::settle::HeldJob;
use crate::domain::time::Moment;
use crate::worker::WorkerError;

pub(super) fn start(
    transaction: &Transaction<'_>,
    now: Moment,
    job: &Job,
    worker: &str,
) -> Result<(), WorkerError> {
    let sql = "INSERT INTO executor_job_runs (id, job_id, status, attempt, worker_id, started_at, created_at)
               VALUES (?1, ?2, 'started', ?3, ?4, ?5, ?5)";
    let id = uuid::Uuid::now_v7().to_string();
    let values = params![id, job.id, job.attempts, worker, now.rfc3339()];
    transaction.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// The end of a run, with or without an error.
pub(super) fn end(
    transaction: &Transaction<'_>,
    now: Moment,
    held: &HeldJob,
    worker: &str,
    error: Option<&str>,
) -> Result<(), WorkerError> {
    let sql = "INSERT INTO executor_job_runs
                 (id, job_id, status, attempt, worker_id, started_at, finished_at, duration_ms, error, created_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?7)";
    let status = if error.is_some() { "failed" } else { "succeeded" };
    // If the lock time cannot be read, the run has no duration.
    let started = held.locked_at.unwrap_or(now);
    let id = uuid::Uuid::now_v7().to_string();
    transaction.prepare_cached(sql)?.execute(params![
        id,
        held.id,
        status,
        held.attempts,
        worker,
        started.rfc3339(),
        now.rfc3339(),
        held.locked_at.map(|at| now.since(at).as_millis()),
        error
    ])?;
    Ok(())
}
