//! The counts of coordination's `getStats()`, under its names.

use serde_json::{Value as Json, json};

use crate::domain::claim::Role;
use crate::domain::snapshot::{BoardSnapshot, Snapshot};
use crate::domain::verdict::Reason;

/// Claims, locks and sessions of one source. A lock counts even if it has expired, as it does there.
pub(super) fn stats_json(snapshot: &Snapshot) -> Json {
    let is_lock = |board: &&BoardSnapshot| board.nature.role == Role::Lock;
    let (locks, claims): (Vec<_>, Vec<_>) = snapshot.boards.iter().partition(is_lock);
    let sum = |boards: &[&BoardSnapshot], of: fn(&BoardSnapshot) -> u64| -> u64 {
        boards.iter().map(|board| of(board)).sum()
    };
    json!({
        "claims": {
            "total": sum(&claims, |board| board.counts.total),
            "active": sum(&claims, active),
            "expiring": sum(&claims, |board| board.counts.expiring),
        },
        "locks": {"total": sum(&locks, |board| board.counts.total)},
        "sessions": snapshot.sessions().map(|sessions| json!({
            "total": sessions.total, "active": sessions.alive, "stale": sessions.stale,
        })),
    })
}

/// Claims whose time is not over.
fn active(board: &BoardSnapshot) -> u64 {
    let over = [Reason::LeaseExpired, Reason::TtlExceeded].map(|reason| board.reasons.get(&reason).copied());
    board.counts.total.saturating_sub(over.into_iter().flatten().sum())
}
