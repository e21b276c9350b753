//! A session: the holder of claims, and its heartbeat.

use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::Serialize;

use super::{Coordination, millis, resume};
use crate::domain::time::Moment;
use crate::worker::error::WorkerError;
use crate::worker::events::Event;

/// The description of a session for its registration.
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    pub session_id: String,
    pub project_path: String,
    /// Free text; not limited to the types of claims.
    pub agent_type: Option<String>,
    pub metadata: Option<serde_json::Value>,
    /// The PID of the worker, if it is not this process.
    pub pid: Option<i64>,
}

impl Registration {
    /// A session of this process.
    pub fn new(session_id: impl Into<String>, project_path: impl Into<String>) -> Registration {
        Registration {
            session_id: session_id.into(),
            project_path: project_path.into(),
            agent_type: None,
            metadata: None,
            pid: Some(i64::from(std::process::id())),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisteredSession {
    pub session_id: String,
    /// When the session was first registered.
    pub started_at: i64,
    /// How many claims the session still holds from before.
    pub claims_kept: u64,
}

/// What `deregisterSession` returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deregistered {
    pub session_id: String,
    /// False if there was no such session.
    pub deregistered: bool,
    pub locks_released: u64,
    pub claims_released: u64,
}

/// What `releaseSessionClaims` returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionClaims {
    pub count: u64,
    pub session_id: String,
    pub reason: String,
    pub claims: Vec<ReleasedClaim>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleasedClaim {
    pub task_id: String,
    pub claimed_at: i64,
    pub expires_at: i64,
    pub held_for_ms: i64,
}

impl Coordination {
    /// Registers a session, or updates its registration. Its claims and `started_at` stay; the original replaces the
    /// row, and the claims are deleted with it.
    pub fn register(&mut self, registration: &Registration) -> Result<RegisteredSession, WorkerError> {
        self.database.change(|transaction, now, events| registered(transaction, registration, now, events))
    }

    /// Sends a heartbeat of the session; `false` if it is not registered (any more).
    pub fn heartbeat(&mut self, session: &str) -> Result<bool, WorkerError> {
        self.database.change(|transaction, now, events| {
            let sql = "UPDATE sessions SET last_heartbeat = ?2 WHERE id = ?1";
            let known = transaction.prepare_cached(sql)?.execute((session, millis(now)))? > 0;
            if known {
                events.push(Event::SessionHeartbeat { session_id: session.into(), timestamp: millis(now) });
            }
            Ok(known)
        })
    }

    /// Removes a session with its locks and claims.
    pub fn deregister(&mut self, session: &str) -> Result<Deregistered, WorkerError> {
        self.database.change(|transaction, now, events| {
            resume::forget_session(transaction, session)?;
            remove(transaction, session, now, events)
        })
    }

    /// Releases all claims of a session, which stays; the specification's default reason is
    /// `session_ended`.
    pub fn release_session_claims(
        &mut self,
        session: &str,
        reason: Option<&str>,
    ) -> Result<SessionClaims, WorkerError> {
        let reason = reason.unwrap_or("session_ended");
        self.database.change(|transaction, now, events| {
            resume::forget_session(transaction, session)?;
            release(transaction, session, reason, now, events)
        })
    }
}

/// Registers a session, or updates its registration.
pub(super) fn registered(
    transaction: &Transaction<'_>,
    registration: &Registration,
    now: Moment,
    events: &mut Vec<Event>,
) -> Result<RegisteredSession, WorkerError> {
    let started_at = upsert(transaction, registration, now)?;
    let session_id = registration.session_id.clone();
    let sql = "SELECT count(*) FROM task_claims WHERE session_id = ?1";
    let claims: i64 = transaction.prepare_cached(sql)?.query_row([&session_id], |row| row.get(0))?;
    events.push(Event::SessionRegistered {
        session_id: session_id.clone(),
        pid: registration.pid,
        timestamp: millis(now),
    });
    Ok(RegisteredSession { session_id, started_at, claims_kept: claims.unsigned_abs() })
}

pub(super) fn is_registered(connection: &Connection, session: &str) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?;
    Ok(statement.query_row([session], |_| Ok(())).optional()?.is_some())
}

/// Writes the row and returns when the session was first registered.
fn upsert(transaction: &Transaction<'_>, session: &Registration, now: Moment) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO sessions (id, project_path, agent_type, started_at, last_heartbeat, metadata, pid)
               VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6)
               ON CONFLICT (id) DO UPDATE SET project_path = excluded.project_path,
                 agent_type = excluded.agent_type, last_heartbeat = excluded.last_heartbeat,
                 metadata = excluded.metadata, pid = excluded.pid
               RETURNING started_at";
    let metadata = session.metadata.as_ref().map_or_else(|| "{}".into(), ToString::to_string);
    transaction.prepare_cached(sql)?.query_row(
        (&session.session_id, &session.project_path, &session.agent_type, millis(now), metadata, session.pid),
        |row| row.get(0),
    )
}

/// Locks first, then claims, then the session, as the specification requires. Deleted by the foreign key, the claims
/// would cause no events.
pub(super) fn remove(
    transaction: &Transaction<'_>,
    session: &str,
    now: Moment,
    events: &mut Vec<Event>,
) -> Result<Deregistered, WorkerError> {
    let sql = "DELETE FROM locks WHERE session_id = ?1";
    let locks_released = transaction.prepare_cached(sql)?.execute([session])? as u64;
    let claims_released = release(transaction, session, "session_deregistered", now, events)?.count;
    let sql = "DELETE FROM sessions WHERE id = ?1";
    let deregistered = transaction.prepare_cached(sql)?.execute([session])? > 0;
    let session_id = session.to_owned();
    events.push(Event::SessionDeregistered {
        session_id: session_id.clone(),
        locks_released,
        claims_released,
    });
    Ok(Deregistered { session_id, deregistered, locks_released, claims_released })
}

fn release(
    transaction: &Transaction<'_>,
    session: &str,
    reason: &str,
    now: Moment,
    events: &mut Vec<Event>,
) -> Result<SessionClaims, WorkerError> {
    let claims = delete_claims(transaction, session, now)?;
    for claim in &claims {
        events.push(Event::ClaimReleased {
            task_id: claim.task_id.clone(),
            session_id: session.into(),
            reason: reason.into(),
            held_for_ms: claim.held_for_ms,
        });
    }
    let (session_id, reason) = (session.to_owned(), reason.to_owned());
    let count = claims.len() as u64;
    if count > 0 {
        events.push(Event::ClaimsSessionCleanup {
            session_id: session_id.clone(),
            reason: reason.clone(),
            count,
        });
    }
    Ok(SessionClaims { count, session_id, reason, claims })
}

fn delete_claims(
    transaction: &Transaction<'_>,
    session: &str,
    now: Moment,
) -> rusqlite::Result<Vec<ReleasedClaim>> {
    let sql = "SELECT task_id, claimed_at, expires_at FROM task_claims WHERE session_id = ?1
               ORDER BY claimed_at, task_id";
    let mut statement = transaction.prepare_cached(sql)?;
    let claims = statement.query_map([session], |row| {
        let claimed_at: i64 = row.get(1)?;
        Ok(ReleasedClaim {
            task_id: row.get(0)?,
            claimed_at,
            expires_at: row.get(2)?,
            held_for_ms: millis(now).saturating_sub(claimed_at),
        })
    })?;
    let claims = claims.collect::<rusqlite::Result<_>>()?;
    transaction.prepare_cached("DELETE FROM task_claims WHERE session_id = ?1")?.execute([session])?;
    Ok(claims)
}
