//! The kinds of events.

use crate::domain::verdict::Set;

/// Events of one poll are reported in this order; those of one kind in the order of their addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    SourceLost,
    SourceBack,
    SourceChanged,
    CauseBegan,
    CauseEnded,
    SessionLost,
    /// It is in a worse set than before. The worst set comes first.
    Entered(Set),
    ChangedHands,
    /// The same holder claimed it again.
    Retried,
    Renewed,
    Finished,
    SessionCleanup,
    /// It is in no set any more, and the reason is unknown.
    Left,
    Acquired,
    /// An operator freed it from this dashboard.
    Recovered,
    Poison,
    Cleanup,
}

impl EventKind {
    /// The name in the field `event`.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::SourceLost => "source:lost",
            EventKind::SourceBack => "source:back",
            EventKind::SourceChanged => "source:changed",
            EventKind::CauseBegan => "cause:began",
            EventKind::CauseEnded => "cause:ended",
            EventKind::SessionLost => "session:lost",
            EventKind::Entered(Set::Orphaned) => "claim:orphaned",
            EventKind::Entered(Set::Stale) => "claim:expired",
            EventKind::Entered(Set::Unknown) => "claim:unclear",
            EventKind::Entered(Set::Expiring | Set::Healthy) => "claim:expiring",
            EventKind::ChangedHands => "claim:changed_hands",
            EventKind::Retried => "claim:retried",
            EventKind::Renewed => "claim:extended",
            EventKind::Finished => "claim:released",
            EventKind::SessionCleanup => "claims:session_cleanup",
            EventKind::Left => "claim:left",
            EventKind::Acquired => "claim:acquired",
            EventKind::Recovered => "claim:recovered",
            EventKind::Poison => "claim:poison",
            EventKind::Cleanup => "claims:cleanup",
        }
    }

    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            EventKind::SourceLost | EventKind::SourceBack => "link",
            EventKind::SourceChanged => "changed",
            EventKind::CauseBegan => "cause",
            EventKind::CauseEnded => "cause over",
            EventKind::SessionLost => "session lost",
            EventKind::Entered(Set::Orphaned) => "orphaned",
            EventKind::Entered(Set::Stale) => "expired",
            EventKind::Entered(Set::Unknown) => "unknown",
            EventKind::Entered(Set::Expiring) => "expiring",
            EventKind::Entered(Set::Healthy) => "healthy",
            EventKind::ChangedHands => "changed hands",
            EventKind::Retried => "retried",
            EventKind::Renewed => "renewed",
            EventKind::Finished => "finished",
            EventKind::SessionCleanup => "session over",
            EventKind::Left => "left",
            EventKind::Acquired => "acquired",
            EventKind::Recovered => "recovered",
            EventKind::Poison => "poison",
            EventKind::Cleanup => "cleanup",
        }
    }
}
