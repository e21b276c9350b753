//! The one processing lock.
//!
//! It is valid until the end of the second in `expires_at`.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::worker::{Event, WorkerError};

/// The lock's name in events.
const RESOURCE: &str = "queue_processing_lock";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessingLock {
    pub agent_id: String,
    pub acquired_at: i64,
    pub expires_at: i64,
}

impl ProcessingLock {
    pub fn is_live(&self, now: i64) -> bool {
        self.expires_at >= now
    }
}

pub(super) fn read(connection: &Connection) -> Result<Option<ProcessingLock>, WorkerError> {
    let sql = "SELECT agent_id, acquired_at, expires_at FROM queue_processing_lock";
    let lock = connection.prepare_cached(sql)?.query_row([], |row| {
        Ok(ProcessingLock { agent_id: row.get(0)?, acquired_at: row.get(1)?, expires_at: row.get(2)? })
    });
    Ok(lock.optional()?)
}

pub(super) fn acquire(
    transaction: &Transaction<'_>,
    now: i64,
    events: &mut Vec<Event>,
    agent: &str,
    timeout: i64,
) -> Result<bool, WorkerError> {
    let before = read(transaction)?;
    let sql = "INSERT INTO queue_processing_lock (id, agent_id, acquired_at, expires_at)
               VALUES (1, ?1, ?2, ?3)
               ON CONFLICT (id) DO UPDATE SET agent_id = excluded.agent_id,
                 acquired_at = excluded.acquired_at, expires_at = excluded.expires_at
               WHERE queue_processing_lock.expires_at < ?2";
    let expires_at = now.saturating_add(timeout);
    if transaction.prepare_cached(sql)?.execute(params![agent, now, expires_at])? == 0 {
        return Ok(false);
    }
    events.extend(before.map(|lock| expired(&lock)));
    events.push(Event::LockAcquired {
        resource: RESOURCE.into(),
        session_id: agent.into(),
        expires_at: millis(expires_at),
    });
    Ok(true)
}

pub(super) fn release(
    transaction: &Transaction<'_>,
    events: &mut Vec<Event>,
    agent: &str,
) -> Result<bool, WorkerError> {
    let sql = "DELETE FROM queue_processing_lock WHERE agent_id = ?1";
    let released = transaction.prepare_cached(sql)?.execute([agent])? > 0;
    if released {
        events.push(Event::LockReleased { resource: RESOURCE.into(), session_id: agent.into() });
    }
    Ok(released)
}

pub(super) fn extend(
    transaction: &Transaction<'_>,
    now: i64,
    events: &mut Vec<Event>,
    agent: &str,
    extra: i64,
) -> Result<bool, WorkerError> {
    let sql = "UPDATE queue_processing_lock SET expires_at = max(expires_at, ?3)
               WHERE agent_id = ?1 AND expires_at >= ?2 RETURNING expires_at";
    let until: Option<i64> = transaction
        .prepare_cached(sql)?
        .query_row(params![agent, now, now.saturating_add(extra)], |row| row.get(0))
        .optional()?;
    events.extend(until.map(|until| Event::LockExtended {
        resource: RESOURCE.into(),
        session_id: agent.into(),
        expires_at: millis(until),
    }));
    Ok(until.is_some())
}

/// Removes the lock if it has expired. Returns how many were removed.
pub(super) fn remove_expired(
    transaction: &Transaction<'_>,
    now: i64,
    events: &mut Vec<Event>,
) -> Result<usize, WorkerError> {
    let Some(lock) = read(transaction)?.filter(|lock| !lock.is_live(now)) else { return Ok(0) };
    let sql = "DELETE FROM queue_processing_lock WHERE expires_at < ?1";
    let removed = transaction.prepare_cached(sql)?.execute([now])?;
    events.push(expired(&lock));
    Ok(removed)
}

fn expired(lock: &ProcessingLock) -> Event {
    Event::LockExpired {
        resource: RESOURCE.into(),
        session_id: lock.agent_id.clone(),
        expired_at: millis(lock.expires_at),
    }
}

fn millis(seconds: i64) -> i64 {
    seconds.saturating_mul(1_000)
}
