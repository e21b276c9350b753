//! A lock: one session holds one resource, for about a minute.

use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;

use super::session::is_registered;
use super::{Coordination, RefreshOutcome, ReleaseOutcome, end_of, millis};
use crate::domain::time::{Moment, Span};
use crate::worker::error::WorkerError;
use crate::worker::events::Event;

/// The result of acquiring a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum LockOutcome {
    Acquired {
        expires_at: i64,
    },
    /// The session held it already.
    Extended {
        expires_at: i64,
    },
    /// The claim of another session had expired and was taken over.
    TookOver {
        expires_at: i64,
        previous_holder: String,
    },
    AlreadyLocked {
        existing_lock: HeldLock,
    },
    /// The session is not registered: its lock would be an orphan from the start.
    UnknownSession,
}

/// A lock in its current state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldLock {
    pub resource: String,
    pub session_id: String,
    pub acquired_at: i64,
    pub expires_at: i64,
    /// Never negative.
    pub remaining_ms: i64,
}

impl HeldLock {
    fn has_expired(&self, now: Moment) -> bool {
        self.expires_at < millis(now)
    }

    pub(super) fn expired(&self) -> Event {
        Event::LockExpired {
            resource: self.resource.clone(),
            session_id: self.session_id.clone(),
            expired_at: self.expires_at,
        }
    }
}

impl Coordination {
    /// Acquires a resource for a session, as [`Coordination::claim_task`] claims a task.
    pub fn acquire_lock(
        &mut self,
        resource: &str,
        session: &str,
        ttl: Option<Span>,
    ) -> Result<LockOutcome, WorkerError> {
        let ttl = ttl.unwrap_or(self.settings.default_lock_ttl);
        self.database.change(|transaction, now, events| {
            let expires_at = end_of(ttl, now)?;
            if !is_registered(transaction, session)? {
                return Ok(LockOutcome::UnknownSession);
            }
            let event = |resource: &str| Event::LockAcquired {
                resource: resource.into(),
                session_id: session.into(),
                expires_at,
            };
            match held(transaction, resource, now)? {
                None => {
                    insert(transaction, resource, session, expires_at, now)?;
                    events.push(event(resource));
                    Ok(LockOutcome::Acquired { expires_at })
                }
                Some(own) if own.session_id == session => {
                    prolong(transaction, resource, expires_at)?;
                    let (resource, session_id) = (own.resource, own.session_id);
                    events.push(Event::LockExtended { resource, session_id, expires_at });
                    Ok(LockOutcome::Extended { expires_at })
                }
                Some(foreign) if foreign.has_expired(now) => {
                    delete(transaction, resource)?;
                    insert(transaction, resource, session, expires_at, now)?;
                    events.extend([foreign.expired(), event(resource)]);
                    Ok(LockOutcome::TookOver { expires_at, previous_holder: foreign.session_id })
                }
                Some(existing_lock) => Ok(LockOutcome::AlreadyLocked { existing_lock }),
            }
        })
    }

    /// Extends a lock to `extend_by` from now; an expired lock is lost.
    pub fn refresh_lock(
        &mut self,
        resource: &str,
        session: &str,
        extend_by: Option<Span>,
    ) -> Result<RefreshOutcome, WorkerError> {
        let ttl = extend_by.unwrap_or(self.settings.default_lock_ttl);
        self.database.change(|transaction, now, events| {
            let expires_at = end_of(ttl, now)?;
            let Some(lock) = held(transaction, resource, now)? else { return Ok(RefreshOutcome::NotFound) };
            if lock.has_expired(now) {
                delete(transaction, resource)?;
                events.push(lock.expired());
                return Ok(RefreshOutcome::Expired { expired_at: lock.expires_at });
            }
            if lock.session_id != session {
                return Ok(RefreshOutcome::NotOwner { actual_owner: lock.session_id });
            }
            prolong(transaction, resource, expires_at)?;
            let (resource, session_id) = (lock.resource, lock.session_id);
            events.push(Event::LockRefreshed { resource, session_id, expires_at });
            Ok(RefreshOutcome::Refreshed { expires_at })
        })
    }

    pub fn release_lock(&mut self, resource: &str, session: &str) -> Result<ReleaseOutcome, WorkerError> {
        self.database.change(|transaction, now, events| {
            let Some(lock) = held(transaction, resource, now)? else { return Ok(ReleaseOutcome::NotFound) };
            if lock.has_expired(now) {
                delete(transaction, resource)?;
                events.push(lock.expired());
                return Ok(ReleaseOutcome::WasExpired { expired_at: lock.expires_at });
            }
            if lock.session_id != session {
                return Ok(ReleaseOutcome::NotOwner { actual_owner: lock.session_id });
            }
            delete(transaction, resource)?;
            let held_for_ms = millis(now).saturating_sub(lock.acquired_at);
            events.push(Event::LockReleased { resource: lock.resource, session_id: lock.session_id });
            Ok(ReleaseOutcome::Released { held_for_ms })
        })
    }

    /// The lock on a resource, expired or not; changes nothing.
    pub fn lock(&self, resource: &str) -> Result<Option<HeldLock>, WorkerError> {
        self.database.look(|connection, now| Ok(held(connection, resource, now)?))
    }
}

fn held(connection: &Connection, resource: &str, now: Moment) -> rusqlite::Result<Option<HeldLock>> {
    let sql = "SELECT resource, session_id, acquired_at, expires_at FROM locks WHERE resource = ?1";
    connection.prepare_cached(sql)?.query_row([resource], |row| read(row, now)).optional()
}

/// Columns: resource, session_id, acquired_at, expires_at.
pub(super) fn read(row: &rusqlite::Row<'_>, now: Moment) -> rusqlite::Result<HeldLock> {
    let expires_at: i64 = row.get(3)?;
    Ok(HeldLock {
        resource: row.get(0)?,
        session_id: row.get(1)?,
        acquired_at: row.get(2)?,
        expires_at,
        remaining_ms: expires_at.saturating_sub(millis(now)).max(0),
    })
}

fn insert(
    connection: &Connection,
    resource: &str,
    session: &str,
    expires_at: i64,
    now: Moment,
) -> rusqlite::Result<usize> {
    let sql = "INSERT INTO locks (resource, session_id, acquired_at, expires_at) VALUES (?1, ?2, ?3, ?4)";
    connection.prepare_cached(sql)?.execute((resource, session, millis(now), expires_at))
}

fn prolong(connection: &Connection, resource: &str, expires_at: i64) -> rusqlite::Result<usize> {
    let sql = "UPDATE locks SET expires_at = ?2, refresh_count = refresh_count + 1 WHERE resource = ?1";
    connection.prepare_cached(sql)?.execute((resource, expires_at))
}

fn delete(connection: &Connection, resource: &str) -> rusqlite::Result<usize> {
    connection.prepare_cached("DELETE FROM locks WHERE resource = ?1")?.execute([resource])
}
