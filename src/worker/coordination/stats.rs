//! Counts, as `getStats()` returns them.

use rusqlite::{Connection, Params};
use serde::Serialize;

use super::{Coordination, millis};
use crate::worker::error::WorkerError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Stats {
    pub sessions: SessionStats,
    pub locks: LockStats,
    pub changes: ChangeStats,
    pub claims: ClaimStats,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SessionStats {
    pub total: u64,
    pub active: u64,
    pub stale: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LockStats {
    /// Including expired ones.
    pub total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ChangeStats {
    pub total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ClaimStats {
    pub total: u64,
    /// Claims with time left: in its last millisecond a claim is neither active nor expired.
    pub active: u64,
    /// Active claims within the warning threshold.
    pub expiring: u64,
}

impl Coordination {
    /// Counts everything at one instant. A missing table counts as empty.
    pub fn stats(&self) -> Result<Stats, WorkerError> {
        let settings = self.settings;
        self.database.look(|connection, now| {
            let fresh = millis(now.minus(settings.stale_session_threshold));
            let soon = millis(now.plus(settings.warning_threshold));
            let [sessions, active] = counts(
                connection,
                "sessions",
                "count(*), count(*) FILTER (WHERE last_heartbeat >= ?1)",
                [fresh],
            )?;
            let [locks] = counts(connection, "locks", "count(*)", [])?;
            let [changes] = counts(connection, "change_journal", "count(*)", [])?;
            let claims = "count(*), count(*) FILTER (WHERE expires_at > ?1),
                          count(*) FILTER (WHERE expires_at > ?1 AND expires_at <= ?2)";
            let [total, live, expiring] = counts(connection, "task_claims", claims, [millis(now), soon])?;
            Ok(Stats {
                sessions: SessionStats { total: sessions, active, stale: sessions.saturating_sub(active) },
                locks: LockStats { total: locks },
                changes: ChangeStats { total: changes },
                claims: ClaimStats { total, active: live, expiring },
            })
        })
    }
}

/// The values of the expressions `what` in one table; zeros if there is no such table.
fn counts<const N: usize>(
    connection: &Connection,
    table: &'static str,
    what: &'static str,
    values: impl Params,
) -> rusqlite::Result<[u64; N]> {
    let mut counts = [0; N];
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?1";
    let there: i64 = connection.prepare_cached(sql)?.query_row([table], |row| row.get(0))?;
    if there == 0 {
        return Ok(counts);
    }
    let sql = format!("SELECT {what} FROM {table}");
    connection.prepare_cached(&sql)?.query_row(values, |row| {
        for (index, count) in counts.iter_mut().enumerate() {
            *count = row.get::<_, i64>(index)?.unsigned_abs();
        }
        Ok(())
    })?;
    Ok(counts)
}
