//! How a worker ends its hold on a job, and the rows of its runs.

use crate::domain::time::Moment;
use crate::worker::WorkerError;
use crate::worker::executor_jobs::settle::{Held, released};
use crate::worker::executor_jobs::{Failed, Job, Settled};
use crate::worker::postgres::cells::{moment, number, stamp, text};
use crate::worker::postgres::database::Turn;

pub fn succeed(turn: &mut Turn<'_>, id: &str, worker: &str) -> Result<Settled, WorkerError> {
    let Some(held) = held(turn, id, worker)? else { return Ok(Settled::NotOwner) };
    let now = turn.now()?;
    let sql = "UPDATE executor_jobs SET status = 'succeeded', locked_at = NULL, locked_by = NULL,
                 updated_at = $2::timestamptz WHERE id = $1::uuid";
    turn.execute(sql, &[Some(id), Some(&stamp(now))])?;
    end_run(turn, now, &held, worker, None)?;
    turn.tell([released(&held, worker, "succeeded", now)]);
    Ok(Settled::Done)
}

pub fn fail(turn: &mut Turn<'_>, id: &str, worker: &str, error: &str) -> Result<Failed, WorkerError> {
    let Some(held) = held(turn, id, worker)? else { return Ok(Failed::NotOwner) };
    let now = turn.now()?;
    if held.attempts >= held.max_attempts {
        kill(turn, now, &held, worker, error)?;
        return Ok(Failed::Dead);
    }
    let run_at = held.retried_at(now);
    let sql = "UPDATE executor_jobs SET status = 'retry_scheduled', run_at = $2::timestamptz,
                 last_error = $3, locked_at = NULL, locked_by = NULL, updated_at = $4::timestamptz
               WHERE id = $1::uuid";
    turn.execute(sql, &[Some(id), Some(&stamp(run_at)), Some(error), Some(&stamp(now))])?;
    end_run(turn, now, &held, worker, Some(error))?;
    turn.tell([released(&held, worker, "failed", now)]);
    Ok(Failed::Retry { run_at })
}

pub fn bury(turn: &mut Turn<'_>, id: &str, worker: &str, error: &str) -> Result<Settled, WorkerError> {
    let Some(held) = held(turn, id, worker)? else { return Ok(Settled::NotOwner) };
    let now = turn.now()?;
    kill(turn, now, &held, worker, error)?;
    Ok(Settled::Done)
}

fn kill(turn: &mut Turn<'_>, now: Moment, held: &Held, worker: &str, error: &str) -> Result<(), WorkerError> {
    let sql = "UPDATE executor_jobs SET status = 'dead', last_error = $2, locked_at = NULL,
                 locked_by = NULL, updated_at = $3::timestamptz WHERE id = $1::uuid";
    turn.execute(sql, &[Some(&held.id), Some(error), Some(&stamp(now))])?;
    end_run(turn, now, held, worker, Some(error))?;
    turn.tell([released(held, worker, "dead", now)]);
    Ok(())
}

/// The job, locked, if it is this worker's.
pub fn held(turn: &mut Turn<'_>, id: &str, worker: &str) -> Result<Option<Held>, WorkerError> {
    let sql = "SELECT id::text, type, attempts::text, max_attempts::text, locked_at::text FROM executor_jobs
               WHERE id = $1::uuid AND locked_by = $2 AND status IN ('running', 'processing') FOR UPDATE";
    let Some(row) = turn.first(sql, &[Some(id), Some(worker)])? else { return Ok(None) };
    Ok(Some(Held {
        id: text(&row, 0)?,
        kind: text(&row, 1)?,
        attempts: number(&row, 2)?,
        max_attempts: number(&row, 3)?,
        locked_at: moment(&row, 4),
    }))
}

pub fn start_run(turn: &mut Turn<'_>, job: &Job, worker: &str) -> Result<(), WorkerError> {
    let sql = "INSERT INTO executor_job_runs (id, job_id, status, attempt, worker_id, started_at, created_at)
               VALUES ($1::uuid, $2::uuid, 'started', $3::integer, $4, $5::timestamptz, $5::timestamptz)";
    let (run, attempt) = (uuid::Uuid::now_v7().to_string(), job.attempts.to_string());
    let at = stamp(job.claimed_at);
    turn.execute(sql, &[Some(&run), Some(&job.id), Some(&attempt), Some(worker), Some(&at)])?;
    Ok(())
}

fn end_run(
    turn: &mut Turn<'_>,
    now: Moment,
    held: &Held,
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
    // What the column cannot hold is no length that anybody wants to know.
    let length = held.locked_at.and_then(|at| i32::try_from(now.since(at).as_millis()).ok());
    let length = length.map(|length| length.to_string());
    turn.execute(
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
