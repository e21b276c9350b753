//! What the claims reveal of those who hold them.

use std::collections::{BTreeMap, BTreeSet};

use super::event::{Event, OfSource, millis};
use super::look::Extent;
use super::reveal::{BoardComparison, silent_for};
use crate::domain::claim::Claim;
use crate::domain::snapshot::Judged;
use crate::domain::time::Moment;
use crate::domain::verdict::{Reason, Set};

/// What the claims of all boards say of those who hold them.
#[derive(Default)]
pub(super) struct Sessions {
    /// By profile and holder: why it counts as lost, since when it is silent, how many it holds.
    lost: BTreeMap<(String, String), Lost>,
    released: BTreeMap<(String, String), (usize, Moment)>,
    /// Who was lost before, and who still holds something.
    known: BTreeSet<(String, String)>,
    holding: BTreeSet<(String, String)>,
    /// Profiles of which not every claim was seen: nobody knows what else their sessions hold.
    partly_seen: BTreeSet<String>,
}

struct Lost {
    reason: Reason,
    stale_for_ms: Option<i64>,
    count: usize,
    is_news: bool,
    at: Moment,
}

impl Sessions {
    /// Takes in one board, and what was told of its claims.
    pub(super) fn take(&mut self, board: &BoardComparison<'_>, told: &[Event]) {
        if (board.was.extent, board.is.extent) != (Extent::Whole, Extent::Whole) {
            self.partly_seen.insert(board.profile.into());
        }
        let name = |claim: &Claim| Some((board.profile.to_owned(), claim.holder.clone()?));
        let orphaned = |judged: &Judged| judged.verdict.reasons.iter().find(|one| one.set() == Set::Orphaned);
        for was in board.was.claims.values().filter(|one| orphaned(one).is_some()) {
            self.known.extend(name(&was.claim));
        }
        let news: BTreeSet<&str> = told
            .iter()
            .filter(|event| matches!(event, Event::Orphaned { .. }))
            .map(|event| event.address())
            .collect();
        for (address, is) in &board.is.claims {
            let Some(name) = name(&is.claim) else { continue };
            self.holding.insert(name.clone());
            let Some(reason) = orphaned(is) else { continue };
            let at = board.is.now;
            let stale_for_ms = silent_for(&is.claim, at);
            let lost =
                self.lost.entry(name).or_insert(Lost { reason, stale_for_ms, count: 0, is_news: false, at });
            lost.count += 1;
            lost.is_news |= news.contains(address.as_str());
        }
        for event in told {
            if let Event::Released { session_id: Some(session), .. } = event {
                let name = (board.profile.to_owned(), session.clone());
                self.released.entry(name).or_insert((0, board.is.now)).0 += 1;
            }
        }
    }

    pub(super) fn tell(self, source: &str) -> Vec<Event> {
        let of =
            |profile: String, at: Moment| OfSource { source: source.into(), profile, timestamp: millis(at) };
        let mut events = Vec::new();
        for (name, lost) in self.lost {
            if lost.is_news && !self.known.contains(&name) {
                events.push(Event::SessionLost {
                    session_id: name.1,
                    reason: lost.reason.as_str(),
                    stale_for_ms: lost.stale_for_ms,
                    count: lost.count,
                    of: of(name.0, lost.at),
                });
            }
        }
        for (name, (count, at)) in self.released {
            // One claim that is done is the usual end of work, not that of a session.
            if count > 1 && !self.holding.contains(&name) && !self.partly_seen.contains(&name.0) {
                let reason = "finished_or_released";
                events.push(Event::SessionCleanup { session_id: name.1, reason, count, of: of(name.0, at) });
            }
        }
        events
    }
}
