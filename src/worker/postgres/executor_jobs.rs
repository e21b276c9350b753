//! Executor-jobs on PostgreSQL; see [`crate::worker::executor_jobs`] for what it promises.

mod reclaim;
mod settle;

use super::Database;
use super::cells::{json, number, optional, stamp, text, uuid};
use super::database::WorkerTransaction;
use crate::domain::time::Span;
use crate::postgres::Row;
use crate::worker::WorkerError;
use crate::worker::executor_jobs::{
    Enqueued, FailedAttempt, Job, NewJob, Operations, Reclaimed, Settled, Ttls, acquired, extended, named,
};

/// The jobs of a database.
#[derive(Debug)]
pub struct ExecutorJobs {
    database: Database,
    ttls: Ttls,
}

impl ExecutorJobs {
    /// With the TTLs of the specification.
    pub fn new(database: Database) -> ExecutorJobs {
        ExecutorJobs { database, ttls: Ttls::default() }
    }

    /// Sets the time to live of jobs of this type.
    pub fn with_ttl(mut self, kind: &str, ttl: Span) -> ExecutorJobs {
        self.ttls.set(kind, ttl);
        self
    }
}

impl Operations for ExecutorJobs {
    fn enqueue(&mut self, new: &NewJob) -> Result<Enqueued, WorkerError> {
        new.validate()?;
        self.database.change(|transaction| insert(transaction, new))
    }

    fn claim(&mut self, worker: &str, types: &[&str]) -> Result<Option<Job>, WorkerError> {
        named(worker)?;
        let types = serde_json::json!(types).to_string();
        let ttls = &self.ttls;
        self.database.change(|transaction| {
            let now = transaction.now()?;
            let at = stamp(now);
            let values = [Some(worker), Some(at.as_str()), Some(types.as_str())];
            let Some(row) = transaction.first(CLAIM, &values)? else { return Ok(None) };
            let job = Job {
                id: text(&row, 0)?,
                kind: text(&row, 1)?,
                payload: json(text(&row, 2)?),
                attempts: number(&row, 3)?,
                max_attempts: number(&row, 4)?,
                dedupe_key: optional(&row, 5),
                last_error: optional(&row, 6),
                claimed_at: now,
            };
            settle::start_run(transaction, &job, worker)?;
            transaction.tell([acquired(&job, worker, ttls)]);
            Ok(Some(job))
        })
    }

    fn heartbeat(&mut self, id: &str, worker: &str) -> Result<Settled, WorkerError> {
        let Some(id) = uuid(id) else { return Ok(Settled::NotOwner) };
        let ttls = &self.ttls;
        self.database.change(|transaction| {
            let Some(held) = settle::held(transaction, &id, worker)? else { return Ok(Settled::NotOwner) };
            let now = transaction.now()?;
            let sql = "UPDATE executor_jobs SET heartbeat_at = $2::timestamptz, updated_at = $2::timestamptz
                       WHERE id = $1::uuid";
            transaction.execute(sql, &[Some(&id), Some(&stamp(now))])?;
            transaction.tell([extended(&id, &held.kind, worker, ttls, now)]);
            Ok(Settled::Done)
        })
    }

    fn succeed(&mut self, id: &str, worker: &str) -> Result<Settled, WorkerError> {
        let Some(id) = uuid(id) else { return Ok(Settled::NotOwner) };
        self.database.change(|transaction| settle::succeed(transaction, &id, worker))
    }

    fn fail(&mut self, id: &str, worker: &str, error: &str) -> Result<FailedAttempt, WorkerError> {
        let Some(id) = uuid(id) else { return Ok(FailedAttempt::NotOwner) };
        self.database.change(|transaction| settle::fail(transaction, &id, worker, error))
    }

    fn bury(&mut self, id: &str, worker: &str, error: &str) -> Result<Settled, WorkerError> {
        let Some(id) = uuid(id) else { return Ok(Settled::NotOwner) };
        self.database.change(|transaction| settle::bury(transaction, &id, worker, error))
    }

    fn reclaim_stale_jobs(&mut self) -> Result<Reclaimed, WorkerError> {
        let ttls = &self.ttls;
        self.database.change(|transaction| reclaim::all(transaction, ttls))
    }
}

/// The job that has been due longest among those that nobody is claiming right now.
const CLAIM: &str = "
  UPDATE executor_jobs
  SET status = 'running', attempts = attempts + 1, locked_by = $1, locked_at = $2::timestamptz,
      heartbeat_at = $2::timestamptz, updated_at = $2::timestamptz
  WHERE id = (
    SELECT due.id FROM executor_jobs due
    WHERE due.status IN ('queued', 'retry_scheduled') AND due.run_at <= $2::timestamptz
      AND ($3::jsonb = '[]' OR $3::jsonb ? due.type)
    ORDER BY due.run_at, due.created_at, due.id LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING id::text, type, payload::text, attempts::text, max_attempts::text, dedupe_key, last_error";

fn insert(transaction: &mut WorkerTransaction<'_>, new: &NewJob) -> Result<Enqueued, WorkerError> {
    let now = transaction.now()?;
    let key = new.dedupe_key.as_deref();
    let (id, at) = (uuid::Uuid::now_v7().to_string(), stamp(now));
    let run_at = stamp(new.run_at.unwrap_or(now));
    let (payload, max) = (new.payload.to_string(), new.max_attempts.to_string());
    let sql = "INSERT INTO executor_jobs
                 (id, type, payload, dedupe_key, run_at, max_attempts, created_at, updated_at)
               VALUES ($1::uuid, $2, $3::jsonb, $4, $5::timestamptz, $6::integer, $7::timestamptz,
                       $7::timestamptz)
               ON CONFLICT (dedupe_key) WHERE dedupe_key IS NOT NULL DO NOTHING";
    let values = [Some(&*id), Some(&new.kind), Some(&payload), key, Some(&run_at), Some(&max), Some(&at)];
    if transaction.execute(sql, &values)? > 0 {
        return Ok(Enqueued::New(id));
    }
    let there = transaction.first("SELECT id::text FROM executor_jobs WHERE dedupe_key = $1", &[key])?;
    let id = |row: &Row| text(row, 0).map(Enqueued::Duplicate);
    // It was deleted between the two statements: the next attempt will succeed.
    there.as_ref().map_or(Err(WorkerError::Busy { waited_ms: 0 }), id)
}
