//! The event of a claim that a sweep took.

use super::reason::SweepReason;
use crate::domain::claim::Registry;
use crate::domain::time::{Moment, Reading};
use crate::events::{ClaimContext, Event, millis};
use crate::store::Seen;

/// The event of a claim that a sweep took.
pub(super) fn taken(seen: &Seen, ground: SweepReason, about: ClaimContext) -> Event {
    let claim = &seen.judged.claim;
    let (task_id, session_id) = (claim.key.text(), claim.holder.clone());
    let age = |at: Moment| seen.now.since(at).as_millis();
    match ground {
        SweepReason::Expired(_) => Event::Expired {
            task_id,
            session_id,
            expired_at: seen.judged.verdict.deadline.map(millis),
            age_ms: claim.claimed_at.at().map(age),
            about,
        },
        SweepReason::Orphaned(reason) => Event::Orphaned {
            task_id,
            session_id,
            reason: reason.as_str(),
            stale_for_ms: match &claim.registry {
                Registry::Listed(session) => Reading::at(&session.beat_at).map(age),
                Registry::None | Registry::Unregistered | Registry::Missing => None,
            },
            about,
        },
    }
}
