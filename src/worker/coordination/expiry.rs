//! Expired claims.

use rusqlite::Transaction;
use serde::Serialize;

use super::claim::{COLUMNS, HeldClaim, read};
use super::{Coordination, millis};
use crate::domain::time::Moment;
use crate::worker::error::WorkerError;
use crate::worker::events::Event;

/// What `cleanupExpiredClaims` returns.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ExpiredClaims {
    pub count: u64,
    pub claims: Vec<ExpiredClaim>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpiredClaim {
    pub task_id: String,
    pub session_id: String,
    pub claimed_at: i64,
    pub expires_at: i64,
}

impl Coordination {
    /// Removes claims whose `expires_at` lies before now, the oldest first.
    pub fn cleanup_expired_claims(&mut self) -> Result<ExpiredClaims, WorkerError> {
        self.database.change(|transaction, now, events| {
            let expired = delete_expired(transaction, now)?;
            let count = expired.len() as u64;
            events.extend(expired.iter().map(|claim| event(claim, now)));
            if count > 0 {
                events.push(Event::ClaimsCleanup { kind: "expired".into(), count, timestamp: millis(now) });
            }
            let claims = expired.into_iter().map(|claim| ExpiredClaim {
                task_id: claim.task_id,
                session_id: claim.session_id,
                claimed_at: claim.claimed_at,
                expires_at: claim.expires_at,
            });
            Ok(ExpiredClaims { count, claims: claims.collect() })
        })
    }
}

fn delete_expired(transaction: &Transaction<'_>, now: Moment) -> rusqlite::Result<Vec<HeldClaim>> {
    let sql = format!("SELECT {COLUMNS} FROM task_claims WHERE expires_at < ?1 ORDER BY expires_at, task_id");
    let mut statement = transaction.prepare_cached(&sql)?;
    let expired: Vec<HeldClaim> =
        statement.query_map([millis(now)], |row| read(row, now))?.collect::<rusqlite::Result<_>>()?;
    transaction.prepare_cached("DELETE FROM task_claims WHERE expires_at < ?1")?.execute([millis(now)])?;
    Ok(expired)
}

/// `claim:expired`, whoever noticed it.
pub(super) fn event(claim: &HeldClaim, now: Moment) -> Event {
    Event::ClaimExpired {
        task_id: claim.task_id.clone(),
        session_id: claim.session_id.clone(),
        expired_at: claim.expires_at,
        age_ms: millis(now).saturating_sub(claim.claimed_at),
    }
}
