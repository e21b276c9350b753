//! `queue_events`: the events of an entry, written in the transaction that caused them.

use rusqlite::{Connection, Transaction, params};
use serde_json::Value as Json;

use crate::worker::WorkerError;

/// The event names of the running code that are written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueueEventKind {
    Created,
    Claimed,
    Transitioned,
    Failed,
    Retried,
    Cancelled,
    Merged,
}

impl QueueEventKind {
    fn as_str(self) -> &'static str {
        match self {
            QueueEventKind::Created => "created",
            QueueEventKind::Claimed => "claimed",
            QueueEventKind::Transitioned => "transitioned",
            QueueEventKind::Failed => "failed",
            QueueEventKind::Retried => "retried",
            QueueEventKind::Cancelled => "cancelled",
            QueueEventKind::Merged => "merged",
        }
    }
}

/// One event of an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueEvent {
    pub event_type: String,
    pub details: Json,
    pub created_at: i64,
}

pub(super) fn note(
    transaction: &Transaction<'_>,
    now: i64,
    entry: i64,
    kind: QueueEventKind,
    details: &Json,
) -> Result<(), WorkerError> {
    let sql = "INSERT INTO queue_events (queue_id, event_type, details_json, created_at)
               VALUES (?1, ?2, ?3, ?4)";
    transaction.prepare_cached(sql)?.execute(params![entry, kind.as_str(), details.to_string(), now])?;
    Ok(())
}

pub(super) fn of(connection: &Connection, entry: i64) -> Result<Vec<QueueEvent>, WorkerError> {
    let sql = "SELECT event_type, details_json, created_at FROM queue_events WHERE queue_id = ?1 ORDER BY id";
    let mut statement = connection.prepare_cached(sql)?;
    let events = statement.query_map([entry], |row| {
        let details: Option<String> = row.get(1)?;
        Ok(QueueEvent {
            event_type: row.get(0)?,
            details: details.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Json::Null),
            created_at: row.get(2)?,
        })
    })?;
    Ok(events.collect::<rusqlite::Result<_>>()?)
}
