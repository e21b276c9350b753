//! Events, named and shaped as in coordination.

use serde::Serialize;
use std::sync::Mutex;

/// Receives every event after the transaction that caused it was committed.
pub trait EventSink: Send + Sync {
    fn receive(&self, event: &Event);
}

/// A sink that ignores all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn receive(&self, _: &Event) {}
}

/// Passes on only events that sum up: a cleanup of a thousand claims is one event.
#[derive(Debug, Clone, Copy, Default)]
pub struct SummaryEvents<S>(pub S);

impl<S: EventSink> EventSink for SummaryEvents<S> {
    fn receive(&self, event: &Event) {
        if event.is_summary() {
            self.0.receive(event);
        }
    }
}

impl<S: EventSink + ?Sized> EventSink for std::sync::Arc<S> {
    fn receive(&self, event: &Event) {
        (**self).receive(event);
    }
}

/// Keeps every event in order, for tests and for later use.
impl EventSink for Mutex<Vec<Event>> {
    fn receive(&self, event: &Event) {
        if let Ok(mut events) = self.lock() {
            events.push(event.clone());
        }
    }
}

/// An event. Times are milliseconds since 1970, durations milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all_fields = "camelCase")]
pub enum Event {
    #[serde(rename = "session:registered")]
    SessionRegistered { session_id: String, pid: Option<i64>, timestamp: i64 },
    #[serde(rename = "session:heartbeat")]
    SessionHeartbeat { session_id: String, timestamp: i64 },
    #[serde(rename = "session:deregistered")]
    SessionDeregistered { session_id: String, locks_released: u64, claims_released: u64 },
    #[serde(rename = "sessions:cleanup")]
    SessionsCleanup { count: u64, timestamp: i64 },
    #[serde(rename = "lock:acquired")]
    LockAcquired { resource: String, session_id: String, expires_at: i64 },
    #[serde(rename = "lock:extended")]
    LockExtended { resource: String, session_id: String, expires_at: i64 },
    #[serde(rename = "lock:refreshed")]
    LockRefreshed { resource: String, session_id: String, expires_at: i64 },
    #[serde(rename = "lock:released")]
    LockReleased { resource: String, session_id: String },
    #[serde(rename = "lock:expired")]
    LockExpired { resource: String, session_id: String, expired_at: i64 },
    #[serde(rename = "locks:cleanup")]
    LocksCleanup { count: u64, timestamp: i64 },
    #[serde(rename = "claim:acquired")]
    ClaimAcquired { task_id: String, session_id: String, expires_at: Option<i64> },
    #[serde(rename = "claim:extended")]
    ClaimExtended { task_id: String, session_id: String, expires_at: Option<i64> },
    #[serde(rename = "claim:refreshed")]
    ClaimRefreshed { task_id: String, session_id: String, expires_at: Option<i64> },
    /// A session that returned after a crash has the task again.
    #[serde(rename = "claim:resumed")]
    ClaimResumed { task_id: String, session_id: String, expires_at: i64 },
    #[serde(rename = "claim:released")]
    ClaimReleased { task_id: String, session_id: String, reason: String, held_for_ms: i64 },
    /// `session_id` is the former holder, `age_ms` the time since the claim was made.
    #[serde(rename = "claim:expired")]
    ClaimExpired { task_id: String, session_id: String, expired_at: i64, age_ms: i64 },
    #[serde(rename = "claim:orphaned")]
    ClaimOrphaned { task_id: String, session_id: String, reason: String, stale_for_ms: Option<i64> },
    #[serde(rename = "claims:cleanup")]
    ClaimsCleanup {
        /// `expired` or `orphaned`.
        #[serde(rename = "type")]
        kind: String,
        count: u64,
        timestamp: i64,
    },
    #[serde(rename = "claims:session_cleanup")]
    ClaimsSessionCleanup { session_id: String, reason: String, count: u64 },
    #[serde(rename = "journal:pruned")]
    JournalPruned { count: u64, timestamp: i64 },
}

impl Event {
    /// Whether it sums up, instead of being about a single claim, lock or heartbeat.
    pub fn is_summary(&self) -> bool {
        match self {
            Event::SessionDeregistered { .. }
            | Event::SessionsCleanup { .. }
            | Event::LocksCleanup { .. }
            | Event::ClaimsCleanup { .. }
            | Event::ClaimsSessionCleanup { .. }
            | Event::JournalPruned { .. } => true,
            Event::SessionRegistered { .. }
            | Event::SessionHeartbeat { .. }
            | Event::LockAcquired { .. }
            | Event::LockExtended { .. }
            | Event::LockRefreshed { .. }
            | Event::LockReleased { .. }
            | Event::LockExpired { .. }
            | Event::ClaimAcquired { .. }
            | Event::ClaimExtended { .. }
            | Event::ClaimRefreshed { .. }
            | Event::ClaimResumed { .. }
            | Event::ClaimReleased { .. }
            | Event::ClaimExpired { .. }
            | Event::ClaimOrphaned { .. } => false,
        }
    }
}
