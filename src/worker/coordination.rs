//! Coordination: sessions that claim tasks and take locks, each with a lease.
//!
//! ```text
//! session   register, heartbeat, deregister       expiry    claims past their time
//! claim     who may take a task                   orphan    claims whose session is gone
//! keeping   refresh, release                      cleanup   all of it, for a timer
//! lock      the same for resources                stats     counts
//! resume    what a session gets back after a crash
//! ```
//!
//! Where the specification and the running system part, the specification's promise is kept:
//!
//! - Registering again keeps the session's claims. The original replaces the row, and since the
//!   claims hang on it they are deleted with it.
//! - An unknown session hears that it is unknown; the original says `RACE_CONDITION`.
//! - Looking changes nothing; the original deletes expired rows that it meets while reading.
//! - A threshold that is not set has its default; the original loses all others when one is set.
//!
//! What cannot be mended here: only [`Coordination::heartbeat`] keeps a *session* alive, refreshing
//! a claim does not. A worker that beats only for its claims loses them when its session is cleaned
//! up as stale. And since that happens after five minutes, a timer that does everything hardly ever
//! meets an orphan, which takes ten.
//!
//! The original's methods answer nothing once the database is closed. Here a closed one cannot be
//! asked: closing is dropping the [`Coordination`].

mod claim;
mod cleanup;
mod expiry;
mod keeping;
mod lock;
mod orphan;
mod resume;
mod session;
mod stats;

use serde::Serialize;

pub use claim::{AgentType, ClaimOptions, CoordinationClaim, HeldClaim, OwnClaim};
pub use cleanup::{Cleanup, LocksCleanup, PrunedChanges, SessionsCleanup, StaleSession};
pub use expiry::{ExpiredClaim, ExpiredClaims};
pub use lock::{HeldLock, LockOutcome};
pub use orphan::{OrphanReason, OrphanedClaim, OrphanedClaims, ProcessCheck};
pub use resume::{Resumed, ResumedClaim, ResumedFrom, TakenClaim};
pub use session::{Deregistered, RegisteredSession, Registration, ReleasedClaim, SessionClaims};
pub use stats::{ChangeStats, ClaimStats, LockStats, SessionStats, Stats};

use super::database::Database;
use super::error::WorkerError;
use crate::domain::time::{Moment, Span};
use crate::liveness::HoldersOn;

/// The options of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoordinationSettings {
    /// The default duration of a claim.
    pub default_ttl: Span,
    /// How long a session may be silent before its claims are orphaned.
    pub orphan_threshold: Span,
    /// How long a session may be silent before it is removed.
    pub stale_session_threshold: Span,
    /// A claim with less time left than this is expiring.
    pub warning_threshold: Span,
    /// The default duration of a lock.
    pub default_lock_ttl: Span,
    /// How long applied changes stay in the journal.
    pub journal_retention: Span,
    /// Where the sessions' processes run: their rows name no host. Unless it is this host, no process can be proven
    /// dead.
    pub holders_on: HoldersOn,
}

impl Default for CoordinationSettings {
    fn default() -> CoordinationSettings {
        CoordinationSettings {
            default_ttl: Span::minutes(30),
            orphan_threshold: Span::minutes(10),
            stale_session_threshold: Span::minutes(5),
            warning_threshold: Span::minutes(5),
            default_lock_ttl: Span::seconds(60),
            journal_retention: Span::minutes(7 * 24 * 60),
            holders_on: HoldersOn::ThisHost,
        }
    }
}

/// The worker's side of coordination on one connection.
#[derive(Debug)]
pub struct Coordination {
    database: Database,
    settings: CoordinationSettings,
}

impl Coordination {
    /// For a database with the tables of [`Database::create_tables`].
    pub fn new(database: Database) -> Coordination {
        Coordination::with_settings(database, CoordinationSettings::default())
    }

    pub fn with_settings(database: Database, settings: CoordinationSettings) -> Coordination {
        Coordination { database, settings }
    }

    pub fn settings(&self) -> &CoordinationSettings {
        &self.settings
    }
}

/// The result of refreshing a claim or lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum RefreshOutcome {
    Refreshed {
        expires_at: i64,
    },
    /// It had expired, whoever held it, and was deleted.
    Expired {
        expired_at: i64,
    },
    NotOwner {
        actual_owner: String,
    },
    NotFound,
}

/// The result of releasing a claim or lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ReleaseOutcome {
    Released {
        held_for_ms: i64,
    },
    /// It had expired, whoever held it, and was deleted.
    WasExpired {
        expired_at: i64,
    },
    NotOwner {
        actual_owner: String,
    },
    NotFound,
}

/// A time in the format of these tables.
fn millis(moment: Moment) -> i64 {
    moment.micros().div_euclid(1_000)
}

/// The end of something that lasts `ttl` from now.
fn end_of(ttl: Span, now: Moment) -> Result<i64, WorkerError> {
    // Less than one tick of the clock would expire immediately.
    if ttl.as_millis() < 1 {
        return Err(WorkerError::Invalid(format!("a claim or lock cannot last {ttl}; give it 1ms or more")));
    }
    Ok(millis(now.plus(ttl)))
}
