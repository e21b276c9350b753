//! A job: as it is put into the queue, and as a worker gets it.

use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde_json::Value as Json;

use crate::domain::time::Moment;
use crate::worker::WorkerError;

/// A job to enqueue.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob {
    pub kind: String,
    pub payload: Json,
    /// Only one job with this key is ever enqueued, even after it is done.
    pub dedupe_key: Option<String>,
    /// The earliest start; now if it is unset.
    pub run_at: Option<Moment>,
    pub max_attempts: i64,
}

impl NewJob {
    /// A job that is due now and may be attempted ten times.
    pub fn of(kind: &str, payload: Json) -> NewJob {
        NewJob { kind: kind.into(), payload, dedupe_key: None, run_at: None, max_attempts: 10 }
    }

    pub fn deduped_by(self, key: &str) -> NewJob {
        NewJob { dedupe_key: Some(key.into()), ..self }
    }

    pub fn not_before(self, moment: Moment) -> NewJob {
        NewJob { run_at: Some(moment), ..self }
    }

    pub fn at_most(self, max_attempts: i64) -> NewJob {
        NewJob { max_attempts, ..self }
    }

    pub(in crate::worker) fn validate(&self) -> Result<(), WorkerError> {
        if self.kind.trim().is_empty() {
            return Err(WorkerError::Invalid("a job needs a type".into()));
        }
        if self.max_attempts < 1 {
            let sentence = format!("{} attempts are none: a job needs at least 1", self.max_attempts);
            return Err(WorkerError::Invalid(sentence));
        }
        Ok(())
    }

    pub(super) fn insert(&self, transaction: &Transaction<'_>, now: Moment) -> Result<Enqueued, WorkerError> {
        if let Some(key) = &self.dedupe_key {
            let sql = "SELECT id FROM executor_jobs WHERE dedupe_key = ?1";
            let there = transaction.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()?;
            if let Some(id) = there {
                return Ok(Enqueued::Duplicate(id));
            }
        }
        let id = uuid::Uuid::now_v7().to_string();
        let sql = "INSERT INTO executor_jobs
                     (id, type, payload, dedupe_key, run_at, max_attempts, created_at, updated_at)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)";
        let run_at = self.run_at.unwrap_or(now).rfc3339();
        transaction.prepare_cached(sql)?.execute(params![
            id,
            self.kind,
            self.payload.to_string(),
            self.dedupe_key,
            run_at,
            self.max_attempts,
            now.rfc3339()
        ])?;
        Ok(Enqueued::New(id))
    }
}

/// The result of enqueuing, with the id of the job that exists now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Enqueued {
    New(String),
    Duplicate(String),
}

impl Enqueued {
    pub fn id(&self) -> &str {
        match self {
            Enqueued::New(id) | Enqueued::Duplicate(id) => id,
        }
    }
}

/// A claimed job.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    pub id: String,
    pub kind: String,
    pub payload: Json,
    /// Including this one.
    pub attempts: i64,
    pub max_attempts: i64,
    pub dedupe_key: Option<String>,
    /// The error of an earlier attempt.
    pub last_error: Option<String>,
    pub claimed_at: Moment,
}

impl Job {
    /// Reads id, type, payload, attempts, max_attempts, dedupe_key, last_error.
    pub(super) fn from_row(row: &Row<'_>, claimed_at: Moment) -> rusqlite::Result<Job> {
        let payload: String = row.get(2)?;
        Ok(Job {
            id: row.get(0)?,
            kind: row.get(1)?,
            // SQLite accepts more JSON than serde; such a job must not block the head of the queue.
            payload: serde_json::from_str(&payload).unwrap_or(Json::String(payload)),
            attempts: row.get(3)?,
            max_attempts: row.get(4)?,
            dedupe_key: row.get(5)?,
            last_error: row.get(6)?,
            claimed_at,
        })
    }
}
