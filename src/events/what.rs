//! The kinds of events.

use crate::domain::verdict::Set;

/// In this order the events of one pass are told; those of one kind by the address of their claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    SourceLost,
    SourceBack,
    SourceChanged,
    SessionLost,
    /// It is in a worse set than before; the worst set first.
    Entered(Set),
    ChangedHands,
    Renewed,
    Finished,
    SessionCleanup,
    /// It is in none of the sets any more, and nothing tells why.
    Left,
    Acquired,
    /// An act of the operator at this screen.
    Recovered,
    Poison,
    Cleanup,
}

impl What {
    /// The name in the field `event`.
    pub fn name(self) -> &'static str {
        match self {
            What::SourceLost => "source:lost",
            What::SourceBack => "source:back",
            What::SourceChanged => "source:changed",
            What::SessionLost => "session:lost",
            What::Entered(Set::Orphaned) => "claim:orphaned",
            What::Entered(Set::Stale) => "claim:expired",
            What::Entered(Set::Unknown) => "claim:unclear",
            What::Entered(Set::Expiring | Set::Healthy) => "claim:expiring",
            What::ChangedHands => "claim:changed_hands",
            What::Renewed => "claim:extended",
            What::Finished => "claim:released",
            What::SessionCleanup => "claims:session_cleanup",
            What::Left => "claim:left",
            What::Acquired => "claim:acquired",
            What::Recovered => "claim:recovered",
            What::Poison => "claim:poison",
            What::Cleanup => "claims:cleanup",
        }
    }

    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            What::SourceLost | What::SourceBack => "link",
            What::SourceChanged => "changed",
            What::SessionLost => "session lost",
            What::Entered(Set::Orphaned) => "orphaned",
            What::Entered(Set::Stale) => "expired",
            What::Entered(Set::Unknown) => "unknown",
            What::Entered(Set::Expiring) => "expiring",
            What::Entered(Set::Healthy) => "healthy",
            What::ChangedHands => "changed hands",
            What::Renewed => "renewed",
            What::Finished => "finished",
            What::SessionCleanup => "session over",
            What::Left => "left",
            What::Acquired => "acquired",
            What::Recovered => "recovered",
            What::Poison => "poison",
            What::Cleanup => "cleanup",
        }
    }
}
