//! Claims the next entry together with the lock.

use rusqlite::{OptionalExtension, Transaction, params};
use serde_json::json;

use super::entry::{self, QueueEntry};
use super::journal::{self, QueueEventKind};
use super::lock::{self, ProcessingLock};
use super::recovery::RecoveryStats;
use crate::worker::{Event, WorkerError};

/// The result of asking for the next entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextEntry {
    pub claimed: Claimed,
    /// What the recovery before the claim did, or why it failed.
    pub recovery: Result<RecoveryStats, String>,
}

impl NextEntry {
    /// The entry, if there is one.
    pub fn entry(self) -> Option<QueueEntry> {
        match self.claimed {
            Claimed::Entry(entry) => Some(*entry),
            Claimed::Nothing | Claimed::Locked(_) => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// The agent holds the entry and the lock.
    Entry(Box<QueueEntry>),
    /// No entry is pending; the lock was released.
    Nothing,
    /// The lock is held, perhaps by this agent itself.
    Locked(ProcessingLock),
}

pub(super) fn next(
    transaction: &Transaction<'_>,
    now: i64,
    events: &mut Vec<Event>,
    agent: &str,
    timeout: i64,
) -> Result<Claimed, WorkerError> {
    if !lock::acquire(transaction, now, events, agent, timeout)? {
        let Some(lock) = lock::read(transaction)? else { return Ok(Claimed::Nothing) };
        return Ok(Claimed::Locked(lock));
    }
    let sql = "SELECT id FROM merge_queue WHERE status = 'pending' AND stack_merge_state <> 'blocked'
               ORDER BY priority, added_at, id LIMIT 1";
    let id: Option<i64> = transaction.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?;
    let Some(id) = id else {
        lock::release(transaction, events, agent)?;
        return Ok(Claimed::Nothing);
    };
    let sql = "UPDATE merge_queue SET status = 'claimed', previous_state = 'pending', agent_id = ?2,
                 started_at = ?3, state_changed_at = ?3 WHERE id = ?1";
    transaction.prepare_cached(sql)?.execute(params![id, agent, now])?;
    let details = json!({"from": "pending", "to": "claimed", "agent": agent});
    journal::note(transaction, now, id, QueueEventKind::Claimed, &details)?;
    events.push(Event::ClaimAcquired {
        task_id: id.to_string(),
        session_id: agent.into(),
        expires_at: Some(now.saturating_add(timeout).saturating_mul(1_000)),
    });
    Ok(entry::read(transaction, id)?.map_or(Claimed::Nothing, |entry| Claimed::Entry(Box::new(entry))))
}
