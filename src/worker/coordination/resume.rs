//! A session that returns after a crash gets its interrupted tasks back, unless somebody took them.
//!
//! Cleanup deletes claims, whoever runs it. Every claim is therefore also recorded in `resumable_claims` until its own
//! session ends it or another session claims the task. In a database without this table a session only gets back the
//! claims that nobody has cleaned up.

use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::Serialize;

use super::claim::{held, prolong};
use super::session::{RegisteredSession, Registration, registered};
use super::{Coordination, end_of, millis};
use crate::domain::time::Moment;
use crate::worker::error::WorkerError;
use crate::worker::events::Event;

/// The result of [`Coordination::resume`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resumed {
    pub session: RegisteredSession,
    /// The tasks that the session holds again, oldest first.
    pub claims: Vec<ResumedClaim>,
    /// Interrupted tasks that another session holds now.
    pub taken: Vec<TakenClaim>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResumedClaim {
    pub task_id: String,
    /// When the interrupted claim was made.
    pub claimed_at: i64,
    pub expires_at: i64,
    pub metadata: Option<serde_json::Value>,
    pub from: ResumedFrom,
}

/// What was left of an interrupted claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResumedFrom {
    /// The claim itself: it was extended.
    Claim,
    /// Only its record: somebody had cleaned the claim up.
    Record,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TakenClaim {
    pub task_id: String,
    /// The current holder.
    pub session_id: String,
}

impl Coordination {
    /// Registers a session that returns after a crash, and gives it back the tasks that it had not ended, each for the
    /// default time. A task that another session has claimed since stays with that session.
    pub fn resume(&mut self, registration: &Registration) -> Result<Resumed, WorkerError> {
        let ttl = self.settings.default_ttl;
        self.database.change(|transaction, now, events| {
            let expires_at = end_of(ttl, now)?;
            let session = registered(transaction, registration, now, events)?;
            let mut resumed = Resumed { session, claims: Vec::new(), taken: Vec::new() };
            for record in records(transaction, &registration.session_id)? {
                match held(transaction, &record.task_id, now)? {
                    Some(claim) if claim.session_id != registration.session_id => {
                        forget(transaction, &record.task_id, &registration.session_id)?;
                        let TaskRecord { task_id, .. } = record;
                        resumed.taken.push(TakenClaim { task_id, session_id: claim.session_id });
                        continue;
                    }
                    Some(claim) => {
                        prolong(transaction, &claim.task_id, expires_at, now)?;
                        resumed.claims.push(record.resumed(expires_at, ResumedFrom::Claim));
                    }
                    None => {
                        record.restore(transaction, &registration.session_id, now, expires_at)?;
                        resumed.claims.push(record.resumed(expires_at, ResumedFrom::Record));
                    }
                }
            }
            events.extend(resumed.claims.iter().map(|claim| Event::ClaimResumed {
                task_id: claim.task_id.clone(),
                session_id: registration.session_id.clone(),
                expires_at: claim.expires_at,
            }));
            Ok(resumed)
        })
    }
}

/// An interrupted claim.
struct TaskRecord {
    task_id: String,
    claimed_at: i64,
    agent_type: Option<String>,
    metadata: Option<String>,
}

impl TaskRecord {
    fn resumed(&self, expires_at: i64, from: ResumedFrom) -> ResumedClaim {
        let metadata = self.metadata.as_deref().and_then(|text| serde_json::from_str(text).ok());
        ResumedClaim {
            task_id: self.task_id.clone(),
            claimed_at: self.claimed_at,
            expires_at,
            metadata,
            from,
        }
    }

    fn restore(
        &self,
        transaction: &Transaction<'_>,
        session: &str,
        now: Moment,
        expires_at: i64,
    ) -> rusqlite::Result<usize> {
        let sql = "INSERT INTO task_claims
                     (task_id, session_id, claimed_at, expires_at, last_heartbeat, agent_type, metadata)
                   VALUES (?1, ?2, ?3, ?4, ?3, ?5, ?6)";
        let values = (&self.task_id, session, millis(now), expires_at, &self.agent_type, &self.metadata);
        transaction.prepare_cached(sql)?.execute(values)
    }
}

/// What a session has not ended: its records, and claims that were made without one.
fn records(transaction: &Transaction<'_>, session: &str) -> rusqlite::Result<Vec<TaskRecord>> {
    let columns = "task_id, claimed_at, agent_type, metadata";
    let claims = format!("SELECT {columns} FROM task_claims WHERE session_id = ?1");
    let sql = match has_records(transaction)? {
        true => format!(
            "SELECT {columns} FROM resumable_claims WHERE session_id = ?1 UNION ALL {claims}
             AND task_id NOT IN (SELECT task_id FROM resumable_claims WHERE session_id = ?1)
             ORDER BY claimed_at, task_id"
        ),
        false => format!("{claims} ORDER BY claimed_at, task_id"),
    };
    let mut statement = transaction.prepare_cached(&sql)?;
    let records = statement.query_map([session], |row| {
        Ok(TaskRecord {
            task_id: row.get(0)?,
            claimed_at: row.get(1)?,
            agent_type: row.get(2)?,
            metadata: row.get(3)?,
        })
    })?;
    records.collect()
}

/// Records the claim that a session has just made; an earlier record of the task is void.
pub(super) fn remember(connection: &Connection, task: &str) -> rusqlite::Result<()> {
    if has_records(connection)? {
        let sql = "INSERT OR REPLACE INTO resumable_claims (task_id, session_id, claimed_at, agent_type, metadata)
                   SELECT task_id, session_id, claimed_at, agent_type, metadata FROM task_claims WHERE task_id = ?1";
        connection.prepare_cached(sql)?.execute([task])?;
    }
    Ok(())
}

/// Forgets a task that its session has ended.
pub(super) fn forget(connection: &Connection, task: &str, session: &str) -> rusqlite::Result<()> {
    if has_records(connection)? {
        let sql = "DELETE FROM resumable_claims WHERE task_id = ?1 AND session_id = ?2";
        connection.prepare_cached(sql)?.execute([task, session])?;
    }
    Ok(())
}

/// Forgets all tasks of a session that has ended in order.
pub(super) fn forget_session(connection: &Connection, session: &str) -> rusqlite::Result<()> {
    if has_records(connection)? {
        connection
            .prepare_cached("DELETE FROM resumable_claims WHERE session_id = ?1")?
            .execute([session])?;
    }
    Ok(())
}

/// Forgets tasks whose session has not returned since `then`, and that nobody holds.
pub(super) fn forget_before(connection: &Connection, then: Moment) -> rusqlite::Result<()> {
    if has_records(connection)? {
        let sql = "DELETE FROM resumable_claims WHERE claimed_at < ?1
                     AND task_id NOT IN (SELECT task_id FROM task_claims)";
        connection.prepare_cached(sql)?.execute([millis(then)])?;
    }
    Ok(())
}

/// Tables that other programs have made may lack it.
fn has_records(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'resumable_claims'";
    Ok(connection.prepare_cached(sql)?.query_row([], |_| Ok(())).optional()?.is_some())
}
