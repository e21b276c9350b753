//! `queue_events`: what happened to an entry, written in the transaction that did it.

use rusqlite::{Connection, Transaction, params};
use serde_json::Value as Json;

use crate::worker::WorkerError;

/// The words that the running code knows, as far as they are written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Created,
    Claimed,
    Transitioned,
    Failed,
    Retried,
    Cancelled,
    Merged,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Kind::Created => "created",
            Kind::Claimed => "claimed",
            Kind::Transitioned => "transitioned",
            Kind::Failed => "failed",
            Kind::Retried => "retried",
            Kind::Cancelled => "cancelled",
            Kind::Merged => "merged",
        }
    }
}

/// One line of the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueEvent {
    pub event_type: String,
    pub details: Json,
    pub created_at: i64,
}

pub fn note(
    transaction: &Transaction<'_>,
    now: i64,
    entry: i64,
    kind: Kind,
    details: &Json,
) -> Result<(), WorkerError> {
    let sql = "INSERT INTO queue_events (queue_id, event_type, details_json, created_at)
               VALUES (?1, ?2, ?3, ?4)";
    transaction.prepare_cached(sql)?.execute(params![entry, kind.as_str(), details.to_string(), now])?;
    Ok(())
}

pub fn of(connection: &Connection, entry: i64) -> Result<Vec<QueueEvent>, WorkerError> {
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
