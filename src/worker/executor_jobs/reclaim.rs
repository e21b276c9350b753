//! Reclaims jobs from silent workers, as `reclaim_stale_jobs()` of executor-jobs does.

use rusqlite::{Transaction, params};
use serde::Serialize;

use super::stamp::stamp;
use super::{Ttls, millis};
use crate::domain::time::{Moment, Reading, Span};
use crate::worker::{Event, WorkerError};

/// The result of a reclaim, named as in the specification.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reclaimed {
    pub reclaimed_count: usize,
    pub dead_count: usize,
    pub timestamp: Moment,
    pub reclaimed_jobs: Vec<ReclaimedJob>,
    pub dead_jobs: Vec<ReclaimedJob>,
}

/// One reclaimed job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReclaimedJob {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// The attempts after the reclaim.
    pub attempts: i64,
    pub max_attempts: i64,
    pub ttl_minutes: i64,
    /// The former holder.
    pub locked_by: Option<String>,
}

/// A held job, whose worker may be gone.
struct RunningJob {
    id: String,
    attempts: i64,
    max_attempts: i64,
    locked_by: Option<String>,
    last_error: Option<String>,
    claimed_at: Option<Moment>,
    seen_at: Option<Moment>,
}

pub(super) fn all(
    transaction: &Transaction<'_>,
    now: Moment,
    events: &mut Vec<Event>,
    ttls: &Ttls,
) -> Result<Reclaimed, WorkerError> {
    let (mut reclaimed, mut dead) = (Vec::new(), Vec::new());
    for (kind, ttl) in ttls.iter() {
        for job in running(transaction, kind)? {
            let Some(end) = job.seen_at.map(|seen| seen.plus(ttl)).filter(|end| *end < now) else { continue };
            events.push(expired(&job, end, now));
            let exhausted = job.attempts >= job.max_attempts;
            let taken = take(transaction, now, job, kind, ttl)?;
            if exhausted { dead.push(taken) } else { reclaimed.push(taken) }
        }
    }
    Ok(Reclaimed {
        reclaimed_count: reclaimed.len(),
        dead_count: dead.len(),
        timestamp: now,
        reclaimed_jobs: reclaimed,
        dead_jobs: dead,
    })
}

/// The held jobs of a type, without those that have no lock time: the specification never reclaims them.
///
/// Their times are compared here and not by the database: other programs may have written another format, and texts
/// of two formats do not sort.
fn running(transaction: &Transaction<'_>, kind: &str) -> Result<Vec<RunningJob>, WorkerError> {
    let sql = "SELECT id, attempts, max_attempts, locked_by, last_error, locked_at, heartbeat_at
               FROM executor_jobs
               WHERE status IN ('running', 'processing') AND type = ?1 AND locked_at IS NOT NULL
               ORDER BY locked_at, id";
    let mut statement = transaction.prepare_cached(sql)?;
    let rows = statement.query_map([kind], |row| {
        let claimed_at = stamp(row.get_ref(5)?).at();
        let seen_at = match stamp(row.get_ref(6)?) {
            Reading::Absent | Reading::Null => claimed_at,
            Reading::At(beat) => claimed_at.map(|claimed| claimed.max(beat)),
            // An unreadable time may be fresh, so the job is left alone.
            Reading::Bad(_) => None,
        };
        Ok(RunningJob {
            id: row.get(0)?,
            attempts: row.get(1)?,
            max_attempts: row.get(2)?,
            locked_by: row.get(3)?,
            last_error: row.get(4)?,
            claimed_at,
            seen_at,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn take(
    transaction: &Transaction<'_>,
    now: Moment,
    job: RunningJob,
    kind: &str,
    ttl: Span,
) -> Result<ReclaimedJob, WorkerError> {
    let exhausted = job.attempts >= job.max_attempts;
    let ttl_minutes = ttl.as_micros() / Span::minutes(1).as_micros();
    let mut error = format!("RECLAIMED_TTL: Exceeded TTL ({ttl_minutes} min) at attempt {}. ", job.attempts);
    if exhausted {
        error.push_str(&format!("Max attempts reached ({}). ", job.max_attempts));
    }
    error.push_str(job.last_error.as_deref().unwrap_or_default());
    let (status, attempts) = if exhausted { ("dead", job.attempts) } else { ("queued", job.attempts + 1) };
    let sql = "UPDATE executor_jobs SET status = ?2, attempts = ?3, last_error = ?4, locked_at = NULL,
                 locked_by = NULL, updated_at = ?5 WHERE id = ?1";
    let values = params![job.id, status, attempts, error, now.rfc3339()];
    transaction.prepare_cached(sql)?.execute(values)?;
    Ok(ReclaimedJob {
        id: job.id,
        kind: kind.into(),
        attempts,
        max_attempts: job.max_attempts,
        ttl_minutes,
        locked_by: job.locked_by,
    })
}

fn expired(job: &RunningJob, end: Moment, now: Moment) -> Event {
    Event::ClaimExpired {
        task_id: job.id.clone(),
        session_id: job.locked_by.clone().unwrap_or_default(),
        expired_at: millis(end),
        age_ms: job.claimed_at.map_or(0, |claimed| now.since(claimed).as_millis()),
    }
}
