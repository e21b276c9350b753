//! Settles a job, and writes the rows of its runs.

use crate::domain::time::Moment;
use crate::worker::WorkerError;
use crate::worker::executor_jobs::settle::{HeldJob, released};
use crate::worker::executor_jobs::{FailedAttempt, Job, Settled};
use crate::worker::postgres::cells::{moment, number, stamp, text};
use crate::worker::postgres::database::WorkerTransaction;

pub(super) fn succeed(
    transaction: &mut WorkerTransaction<'_>,
    id: &str,
    worker: &str,
) -> Result<Settled, WorkerError> {
    let Some(held) = held(transaction, id, worker)? else { return Ok(Settled::NotOwner) };
    let now = transaction.now()?;
    let sql = "UPDATE executor_jobs SET status = 'succeeded', locked_at = NULL, locked_by = NULL,
                 updated_at = $2::timestamptz WHERE id = $1::uuid";
    transaction.execute(sql, &[Some(id), Some(&stamp(now))])?;
    end_run(transaction, now, &held, worker, None)?;
    transaction.tell([released(&held, worker, "succeeded", now)]);
    Ok(Settled::Done)
}

pub(super) fn fail(
    transaction: &mut WorkerTransaction<'_>,
    id: &str,
    worker: &str,
    error: &str,
) -> Result<FailedAttempt, WorkerError> {
    let Some(held) = held(transaction, id, worker)? else { return Ok(FailedAttempt::NotOwner) };
    let now = transaction.now()?;
    if held.attempts >= held.max_attempts {
        kill(transaction, now, &held, worker, error)?;
        return Ok(FailedAttempt::Dead);
    }
    let run_at = held.retried_at(now);
    let sql = "UPDATE executor_jobs SET status = 'retry_scheduled', run_at = $2::timestamptz,
                 last_error = $3, locked_at = NULL, locked_by = NULL, updated_at = $4::timestamptz
               WHERE id = $1::uuid";
    transaction.execute(sql, &[Some(id), Some(&stamp(run_at)), Some(error), Some(&stamp(now))])?;
    end_run(transaction, now, &held, worker, Some(error))?;
    transaction.tell([released(&held, worker, "failed", now)]);
    Ok(FailedAttempt::Retry { run_at })
}

pub(super) fn bury(
    transaction: &mut WorkerTransaction<'_>,
    id: &str,
    worker: &str,
    error: &str,
) -> Result<Settled, WorkerError> {
    let Some(held) = held(transaction, id, worker)? else { return Ok(Settled::NotOwner) };
    let now = transaction.now()?;
    kill(transaction, now, &held, worker, error)?;
    Ok(Settled::Done)
}

fn kill(
    transaction: &mut WorkerTransaction<'_>,
    now: Moment,
    held: &HeldJob,
    worker: &str,
    error: &str,
) -> Result<(), WorkerError> {
    let sql = "UPDATE executor_jobs SET status = 'dead', last_error = $2, locked_at = NULL,
                 locked_by = NULL, updated_at = $3::timestamptz WHERE id = $1::uuid";
    transaction.execute(sql, &[Some(&held.id), Some(error), Some(&stamp(now))])?;
    end_run(transaction, now, held, worker, Some(error))?;
    transaction.tell([released(held, worker, "dead", now)]);
    Ok(())
}

/// The job, locked, if this worker holds it.
pub(super) fn held(
    transaction: &mut WorkerTransaction<'_>,
    id: &str,
    worker: &str,
) -> Result<Option<HeldJob>, WorkerError> {
    let sql = "SELECT id::text, type, attempts::text, max_attempts::text, locked_at::text FROM executor_jobs
               WHERE id = $1::uuid AND locked_by = $2 AND status IN ('running', 'processing') FOR UPDATE";
    let Some(row) = transaction.first(sql, &[Some(id), Some(worker)])? else { return Ok(None) };
    Ok(Some(HeldJob {
        id: text(&row, 0)?,
        kind: text(&row, 1)?,
        attempts: number(&row, 2)?,
        max_attempts: number(&row, 3)?,
        locked_at: moment(&row, 4),
    }))
}

pub(super) fn start_run(
    transaction: &mut WorkerTransaction<'_>,
    job: &Job,
    worker: &str,
) -> Result<(), WorkerError> {
    let sql = "INSERT INTO executor_job_runs (id, job_id, status, attempt, worker_id, started_at, created_at)
               VALUES ($1::uuid, $2::uuid, 'started', $3::integer, $4, $5::timestamptz, $5::timestamptz)";
    let (run, attempt) = (uuid::Uuid::now_v7().to_string(), job.attempts.to_string());
    let at = stamp(job.claimed_at);
    transaction.execute(sql, &[Some(&run), Some(&job.id), Some(&attempt), Some(worker), Some(&at)])?;
    Ok(())
}

fn end_run(
    transaction: &mut WorkerTransaction<'_>,
    now: Moment,
    held: &HeldJob,
    worker: &str,
    error: Option<&str>,
) -> Result<(), WorkerError> {
    let sql =
        "INSERT INTO executor_job_runs (id, job_id, status, attempt, worker_id, started_at, finished_at,
                 duration_ms, error, created_at)
               VALUES ($1::uuid, $2::uuid, $3, $4::integer, $5, $6::timestamptz, $7::timestamptz, $8::integer,
                       $9, $7::timestamptz)";
    let status = if error.is_some() { "failed" } else { "succeeded" };
    let (run, attempt) = (uuid::Uuid::now_v7().to_string(), held.attempts.to_string());
    let (started, ended) = (stamp(held.locked_at.unwrap_or(now)), stamp(now));
    // A duration that does not fit into the column is left out.
    let length = held.locked_at.and_then(|at| i32::try_from(now.since(at).as_millis()).ok());
    let length = length.map(|length| length.to_string());
    transaction.execute(
        sql,
        &[
            Some(&run),
            Some(&held.id),
            Some(status),
            Some(&attempt),
            Some(worker),
            Some(&started),
            Some(&ended),
            length.as_deref(),
            error,
        ],
    )?;
    Ok(())
}
