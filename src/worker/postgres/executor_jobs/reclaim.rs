//! Reclaims jobs from silent workers, as `reclaim_stale_jobs()` of executor-jobs does.

use crate::domain::time::{Moment, Span};
use crate::postgres::Row;
use crate::worker::executor_jobs::{Reclaimed, ReclaimedJob, Ttls, millis};
use crate::worker::postgres::cells::{flag, moment, number, optional, stamp, text};
use crate::worker::postgres::database::WorkerTransaction;
use crate::worker::{Event, WorkerError};

/// A locked job is being settled or reclaimed by another process: skip it.
const RECLAIM: &str = "
  WITH stale AS (
    SELECT j.id, j.locked_at, j.locked_by, greatest(j.locked_at, j.heartbeat_at) AS seen_at,
           ttl.micros, ttl.micros / 60000000 AS minutes
    FROM jsonb_each_text($2::jsonb) AS given (type, length)
    CROSS JOIN LATERAL (SELECT given.length::bigint AS micros) ttl
    JOIN executor_jobs j ON j.type = given.type
    WHERE j.status IN ('running', 'processing') AND isfinite(j.locked_at)
      AND j.locked_at < $1::timestamptz - ttl.micros * interval '1 microsecond'
      AND (j.heartbeat_at IS NULL OR j.heartbeat_at < $1::timestamptz - ttl.micros * interval '1 microsecond')
    FOR UPDATE OF j SKIP LOCKED),
  taken AS (
    UPDATE executor_jobs j
    SET status = CASE WHEN j.attempts >= j.max_attempts THEN 'dead' ELSE 'queued' END,
        attempts = CASE WHEN j.attempts >= j.max_attempts THEN j.attempts ELSE j.attempts + 1 END,
        locked_at = NULL, locked_by = NULL, updated_at = $1::timestamptz,
        last_error = format('RECLAIMED_TTL: Exceeded TTL (%s min) at attempt %s. ', stale.minutes, j.attempts)
          || CASE WHEN j.attempts >= j.max_attempts
             THEN format('Max attempts reached (%s). ', j.max_attempts) ELSE '' END
          || coalesce(j.last_error, '')
    FROM stale WHERE j.id = stale.id
    RETURNING j.id, j.type, j.attempts, j.max_attempts, j.status = 'dead' AS dead, stale.minutes,
      stale.locked_by, stale.locked_at, stale.seen_at, stale.micros)
  SELECT id::text, type, attempts::text, max_attempts::text, minutes::text, locked_by, dead::text,
         locked_at::text, seen_at::text, micros::text
  FROM taken ORDER BY type COLLATE \"C\", taken.locked_at, taken.id";

pub(super) fn all(transaction: &mut WorkerTransaction<'_>, ttls: &Ttls) -> Result<Reclaimed, WorkerError> {
    let now = transaction.now()?;
    let lengths: serde_json::Map<String, serde_json::Value> =
        ttls.iter().map(|(kind, ttl)| (kind.into(), ttl.as_micros().into())).collect();
    let lengths = serde_json::Value::Object(lengths).to_string();
    let (mut reclaimed, mut dead) = (Vec::new(), Vec::new());
    for row in transaction.query(RECLAIM, &[Some(&stamp(now)), Some(&lengths)])? {
        let job = ReclaimedJob {
            id: text(&row, 0)?,
            kind: text(&row, 1)?,
            attempts: number(&row, 2)?,
            max_attempts: number(&row, 3)?,
            ttl_minutes: number(&row, 4)?,
            locked_by: optional(&row, 5),
        };
        transaction.tell([expired(&job, &row, now)?]);
        if flag(&row, 6) { dead.push(job) } else { reclaimed.push(job) }
    }
    Ok(Reclaimed {
        reclaimed_count: reclaimed.len(),
        dead_count: dead.len(),
        timestamp: now,
        reclaimed_jobs: reclaimed,
        dead_jobs: dead,
    })
}

fn expired(job: &ReclaimedJob, row: &Row, now: Moment) -> Result<Event, WorkerError> {
    let ttl = Span::micros(number(row, 9)?);
    Ok(Event::ClaimExpired {
        task_id: job.id.clone(),
        session_id: job.locked_by.clone().unwrap_or_default(),
        expired_at: moment(row, 8).map_or(0, |seen| millis(seen.plus(ttl))),
        age_ms: moment(row, 7).map_or(0, |claimed| now.since(claimed).as_millis()),
    })
}
