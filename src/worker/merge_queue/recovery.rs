//! Recovery: expired locks, and entries that crashed agents left claimed.

use rusqlite::{Connection, Transaction, params};
use serde::Serialize;
use serde_json::json;

use super::journal::{self, QueueEventKind};
use super::lock;
use crate::worker::{Event, WorkerError};

/// The result of a recovery, or its preview.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct RecoveryStats {
    pub locks_cleaned: usize,
    pub entries_reclaimed: usize,
    pub recovery_timestamp: i64,
}

impl RecoveryStats {
    pub fn is_empty(&self) -> bool {
        self.locks_cleaned == 0 && self.entries_reclaimed == 0
    }
}

/// After how many seconds a claimed entry is stale.
#[derive(Debug, Clone, Copy)]
pub(super) struct Threshold(pub i64);

/// A claimed entry whose agent is gone.
struct StaleEntry {
    id: i64,
    agent: Option<String>,
    started_at: i64,
}

pub(super) fn recover(
    transaction: &Transaction<'_>,
    now: i64,
    events: &mut Vec<Event>,
    threshold: Threshold,
) -> Result<RecoveryStats, WorkerError> {
    let locks_cleaned = lock::remove_expired(transaction, now, events)?;
    let stale = stale(transaction, now, threshold)?;
    for entry in &stale {
        put_back(transaction, now, entry)?;
        events.push(Event::ClaimExpired {
            task_id: entry.id.to_string(),
            session_id: entry.agent.clone().unwrap_or_default(),
            expired_at: entry.started_at.saturating_add(threshold.0).saturating_mul(1_000),
            age_ms: now.saturating_sub(entry.started_at).saturating_mul(1_000),
        });
    }
    Ok(RecoveryStats { locks_cleaned, entries_reclaimed: stale.len(), recovery_timestamp: now })
}

pub(super) fn stats(
    connection: &Connection,
    now: i64,
    threshold: Threshold,
) -> Result<RecoveryStats, WorkerError> {
    let over = lock::read(connection)?.is_some_and(|lock| !lock.is_live(now));
    let entries_reclaimed = stale(connection, now, threshold)?.len();
    Ok(RecoveryStats { locks_cleaned: usize::from(over), entries_reclaimed, recovery_timestamp: now })
}

/// Only `claimed` entries; later states have no deadline. A live lock is the sign of life of its agent.
fn stale(connection: &Connection, now: i64, threshold: Threshold) -> Result<Vec<StaleEntry>, WorkerError> {
    let sql = "SELECT id, agent_id, started_at FROM merge_queue AS e
               WHERE status = 'claimed' AND started_at < ?1 AND NOT EXISTS
                 (SELECT 1 FROM queue_processing_lock AS l WHERE l.agent_id = e.agent_id AND l.expires_at >= ?2)
               ORDER BY id";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![now.saturating_sub(threshold.0), now], |row| {
        Ok(StaleEntry { id: row.get(0)?, agent: row.get(1)?, started_at: row.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The attempts stay: a crash of the agent is not a failure of the workspace.
fn put_back(transaction: &Transaction<'_>, now: i64, entry: &StaleEntry) -> Result<(), WorkerError> {
    let sql = "UPDATE merge_queue SET status = 'pending', started_at = NULL, agent_id = NULL,
                 state_changed_at = ?2 WHERE id = ?1";
    transaction.prepare_cached(sql)?.execute(params![entry.id, now])?;
    let details = json!({"from": "claimed", "to": "pending", "agent": entry.agent, "reason": "stale",
                         "started_at": entry.started_at});
    journal::note(transaction, now, entry.id, QueueEventKind::Transitioned, &details)
}
