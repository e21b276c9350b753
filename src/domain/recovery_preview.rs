//! What the merge queue's own recovery would do now, and which of its entries claimtop holds back.

use serde::Serialize;

use super::snapshot::Judged;
use super::time::{Moment, Span};
use super::verdict::Set;

/// The system takes a claimed entry back after this long; its lock is looked at by no one.
const OWN_TIMEOUT: Span = Span::seconds(300);

/// The statistics of the system's own recovery under its names, and the entries behind them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RecoveryPreview {
    pub locks_cleaned: usize,
    /// Entries that claimtop would reclaim as well.
    pub entries_reclaimed: usize,
    /// In seconds since 1970.
    pub recovery_timestamp: i64,
    pub would_reclaim: Vec<PreviewedEntry>,
    /// The system's statement would take these too; claimtop and its worker library do not.
    pub held_back: Vec<PreviewedEntry>,
}

/// An entry that has been claimed for longer than the system allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PreviewedEntry {
    pub id: String,
    pub holder: Option<String>,
    pub started_at: Moment,
    pub why: String,
}

impl RecoveryPreview {
    pub fn at(now: Moment) -> RecoveryPreview {
        RecoveryPreview { recovery_timestamp: seconds(now), ..RecoveryPreview::default() }
    }

    /// Adds an entry if the system's own recovery would take it. Only `claimed` entries recover.
    pub fn add_entry(&mut self, judged: &Judged, why: &str, now: Moment) {
        let claim = &judged.claim;
        let Some(started_at) = claim.claimed_at.at() else { return };
        let is_over = seconds(started_at) < seconds(now) - OWN_TIMEOUT.as_millis() / 1_000;
        if claim.kind.as_deref() != Some("claimed") || !is_over {
            return;
        }
        let is_gone = judged.verdict.is_in(Set::Stale) || judged.verdict.is_in(Set::Orphaned);
        let why = match claim.beat_at.at() {
            Some(beat) if !is_gone => {
                format!(
                    "its agent holds the lock, last renewed {} ago; {why}",
                    now.since(beat).max(Span::ZERO)
                )
            }
            Some(_) | None => why.to_owned(),
        };
        let entry = PreviewedEntry { id: claim.key.text(), holder: claim.holder.clone(), started_at, why };
        if is_gone {
            self.would_reclaim.push(entry);
            self.entries_reclaimed += 1;
        } else {
            self.held_back.push(entry);
        }
    }

    /// Adds the lock if it has run out.
    pub fn add_lock(&mut self, judged: &Judged, now: Moment) {
        let deadline = judged.verdict.deadline;
        self.locks_cleaned += usize::from(deadline.is_some_and(|at| seconds(at) < seconds(now)));
    }
}

/// The system counts whole seconds.
fn seconds(at: Moment) -> i64 {
    at.micros().div_euclid(1_000_000)
}
