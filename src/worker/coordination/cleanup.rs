//! The cleanup that a timer runs: everything that has expired, in the order of the specification.

use rusqlite::Transaction;
use serde::Serialize;

use super::expiry::ExpiredClaims;
use super::lock::{HeldLock, read};
use super::orphan::{OrphanedClaims, ProcessCheck};
use super::session::remove;
use super::{Coordination, millis, resume};
use crate::domain::time::Moment;
use crate::worker::error::WorkerError;
use crate::worker::events::Event;

/// The result of one cleanup run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cleanup {
    pub expired_locks: LocksCleanup,
    pub stale_sessions: SessionsCleanup,
    pub pruned_changes: PrunedChanges,
    pub expired_claims: ExpiredClaims,
    pub orphaned_claims: OrphanedClaims,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct LocksCleanup {
    pub count: u64,
    pub locks: Vec<HeldLock>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SessionsCleanup {
    pub count: u64,
    pub sessions: Vec<StaleSession>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StaleSession {
    pub session_id: String,
    pub stale_for_ms: i64,
    pub locks_released: u64,
    pub claims_released: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PrunedChanges {
    pub count: u64,
}

impl Coordination {
    /// One run of the specification's timer, to be called every few minutes.
    ///
    /// It runs five short transactions instead of a long one, so that other sessions can claim in between. Steps
    /// before a failure stay done.
    pub fn cleanup(&mut self) -> Result<Cleanup, WorkerError> {
        Ok(Cleanup {
            expired_locks: self.cleanup_expired_locks()?,
            stale_sessions: self.cleanup_stale_sessions()?,
            pruned_changes: self.prune_old_changes()?,
            expired_claims: self.cleanup_expired_claims()?,
            orphaned_claims: self.cleanup_orphaned_claims(ProcessCheck::Trust)?,
        })
    }

    /// Removes locks whose `expires_at` lies before now.
    pub fn cleanup_expired_locks(&mut self) -> Result<LocksCleanup, WorkerError> {
        self.database.change(|transaction, now, events| {
            let locks = delete_expired_locks(transaction, now)?;
            let count = locks.len() as u64;
            events.extend(locks.iter().map(HeldLock::expired));
            if count > 0 {
                events.push(Event::LocksCleanup { count, timestamp: millis(now) });
            }
            Ok(LocksCleanup { count, locks })
        })
    }

    /// Deregisters the sessions that have been silent for longer than the threshold.
    pub fn cleanup_stale_sessions(&mut self) -> Result<SessionsCleanup, WorkerError> {
        let threshold = self.settings.stale_session_threshold;
        self.database.change(|transaction, now, events| {
            let mut sessions = Vec::new();
            for (session, last_heartbeat) in silent_since(transaction, now.minus(threshold))? {
                let removed = remove(transaction, &session, now, events)?;
                sessions.push(StaleSession {
                    session_id: session,
                    stale_for_ms: millis(now).saturating_sub(last_heartbeat),
                    locks_released: removed.locks_released,
                    claims_released: removed.claims_released,
                });
            }
            let count = sessions.len() as u64;
            if count > 0 {
                events.push(Event::SessionsCleanup { count, timestamp: millis(now) });
            }
            Ok(SessionsCleanup { count, sessions })
        })
    }

    /// Deletes changes that were applied long ago. Changes that were not applied stay, however old. Interrupted tasks
    /// to which nobody has returned for as long are forgotten.
    pub fn prune_old_changes(&mut self) -> Result<PrunedChanges, WorkerError> {
        let retention = self.settings.journal_retention;
        self.database.change(|transaction, now, events| {
            let sql = "DELETE FROM change_journal WHERE applied = 1 AND created_at < ?1";
            let count = transaction.prepare_cached(sql)?.execute([millis(now.minus(retention))])? as u64;
            resume::forget_before(transaction, now.minus(retention))?;
            if count > 0 {
                events.push(Event::JournalPruned { count, timestamp: millis(now) });
            }
            Ok(PrunedChanges { count })
        })
    }
}

fn delete_expired_locks(transaction: &Transaction<'_>, now: Moment) -> rusqlite::Result<Vec<HeldLock>> {
    let sql = "SELECT resource, session_id, acquired_at, expires_at FROM locks WHERE expires_at < ?1
               ORDER BY expires_at, resource";
    let mut statement = transaction.prepare_cached(sql)?;
    let locks = statement.query_map([millis(now)], |row| read(row, now))?.collect::<rusqlite::Result<_>>()?;
    transaction.prepare_cached("DELETE FROM locks WHERE expires_at < ?1")?.execute([millis(now)])?;
    Ok(locks)
}

fn silent_since(transaction: &Transaction<'_>, then: Moment) -> rusqlite::Result<Vec<(String, i64)>> {
    let sql = "SELECT id, last_heartbeat FROM sessions WHERE last_heartbeat < ?1 ORDER BY last_heartbeat, id";
    let mut statement = transaction.prepare_cached(sql)?;
    statement.query_map([millis(then)], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}
