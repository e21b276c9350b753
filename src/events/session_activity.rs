//! What the claims show about the sessions that hold them.

use std::collections::{BTreeMap, BTreeSet};

use super::diff::{BoardComparison, silent_for};
use super::event::{Event, SourceContext, millis};
use super::observed_source::Coverage;
use crate::domain::claim::Claim;
use crate::domain::snapshot::Judged;
use crate::domain::time::Moment;
use crate::domain::verdict::{Reason, Set};

/// What the claims of all boards show about their sessions.
#[derive(Default)]
pub(super) struct SessionActivity {
    /// By profile and holder: why it counts as lost, since when it is silent, how many claims it holds.
    lost: BTreeMap<(String, String), LostSession>,
    released: BTreeMap<(String, String), (usize, Moment)>,
    /// The sessions that were lost before, and those that still hold a claim.
    known: BTreeSet<(String, String)>,
    holding: BTreeSet<(String, String)>,
    /// Profiles of which a poll did not show every claim: their sessions may hold more.
    partly_seen: BTreeSet<String>,
}

struct LostSession {
    reason: Reason,
    stale_for_ms: Option<i64>,
    count: usize,
    is_news: bool,
    at: Moment,
}

impl SessionActivity {
    /// Adds one board and the events of its claims.
    pub(super) fn add(&mut self, board: &BoardComparison<'_>, events: &[Event]) {
        if (board.was.extent, board.is.extent) != (Coverage::Whole, Coverage::Whole) {
            self.partly_seen.insert(board.profile.into());
        }
        let name = |claim: &Claim| Some((board.profile.to_owned(), claim.holder.clone()?));
        let orphaned = |judged: &Judged| judged.verdict.reasons.iter().find(|one| one.set() == Set::Orphaned);
        for was in board.was.claims.values().filter(|one| orphaned(one).is_some()) {
            self.known.extend(name(&was.claim));
        }
        let news: BTreeSet<&str> = events
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
            let lost = self.lost.entry(name).or_insert(LostSession {
                reason,
                stale_for_ms,
                count: 0,
                is_news: false,
                at,
            });
            lost.count += 1;
            lost.is_news |= news.contains(address.as_str());
        }
        for event in events {
            if let Event::Released { session_id: Some(session), .. } = event {
                let name = (board.profile.to_owned(), session.clone());
                self.released.entry(name).or_insert((0, board.is.now)).0 += 1;
            }
        }
    }

    pub(super) fn into_events(self, source: &str) -> Vec<Event> {
        let of = |profile: String, at: Moment| SourceContext {
            source: source.into(),
            profile,
            timestamp: millis(at),
        };
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
            // A single finished claim is ordinary work and does not mean that the session ended.
            if count > 1 && !self.holding.contains(&name) && !self.partly_seen.contains(&name.0) {
                let reason = "finished_or_released";
                events.push(Event::SessionCleanup { session_id: name.1, reason, count, of: of(name.0, at) });
            }
        }
        events
    }
}
