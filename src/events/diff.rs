//! The difference between two polls, as events.

use super::event::{ClaimContext, Event, Origin, millis};
use super::observed_source::{Coverage, ObservedBoard, ObservedSource};
use super::session_activity::SessionActivity;
use crate::domain::change::ClaimChange;
use crate::domain::claim::{Claim, Registry};
use crate::domain::evidence::why;
use crate::domain::snapshot::Judged;
use crate::domain::time::{Moment, Reading};
use crate::domain::verdict::{Reason, Set, judge};
use crate::domain::visible::visible;

/// A claim as one poll showed it.
#[derive(Debug, Clone, Copy)]
pub struct ObservedClaim<'a> {
    pub profile: &'a str,
    pub board: &'a str,
    pub address: &'a str,
    pub judged: &'a Judged,
}

/// The result of reading a claim again by its key.
#[derive(Debug, Clone)]
pub enum Reread {
    Is(Box<Judged>),
    Gone,
    /// Nobody holds it any more; its row names its state.
    Released {
        state: String,
        error: Option<String>,
    },
    /// It could not be read.
    Unknown,
}

/// The events between two polls of one source.
pub(super) fn diff(
    source: &str,
    before: &ObservedSource,
    after: &ObservedSource,
    again: &mut dyn FnMut(&ObservedClaim<'_>) -> Reread,
) -> Vec<Event> {
    let mut events = Vec::new();
    let mut sessions = SessionActivity::default();
    for (id, is) in &after.boards {
        let (profile, name) = (id.profile(), id.board());
        // A board that is new has no earlier state to compare with.
        let Some(was) = before.boards.get(id) else { continue };
        let comparison = BoardComparison { source, profile, name, was, is };
        let found = comparison.events(again);
        sessions.add(&comparison, &found);
        events.extend(found);
    }
    events.extend(sessions.into_events(source));
    events
}

/// One board in two polls.
pub(super) struct BoardComparison<'a> {
    source: &'a str,
    pub(super) profile: &'a str,
    name: &'a str,
    pub(super) was: &'a ObservedBoard,
    pub(super) is: &'a ObservedBoard,
}

impl BoardComparison<'_> {
    fn events(&self, again: &mut dyn FnMut(&ObservedClaim<'_>) -> Reread) -> Vec<Event> {
        let mut events = Vec::new();
        for (address, is) in &self.is.claims {
            match self.was.claims.get(address) {
                Some(was) => events.extend(self.stayed(address, was, is)),
                None => events.extend(self.came(address, is)),
            }
        }
        for (address, was) in &self.was.claims {
            if !self.is.claims.contains_key(address) {
                events.extend(self.went(address, was, again));
            }
        }
        events
    }

    /// The claim is among the rows and was not before.
    fn came(&self, address: &str, is: &Judged) -> Vec<Event> {
        let mut events = Vec::new();
        if (self.was.extent, self.is.extent) == (Coverage::Whole, Coverage::Whole) {
            let why = format!("by {}", holder(&is.claim));
            events.push(Event::Acquired {
                task_id: is.claim.key.text(),
                session_id: is.claim.holder.clone(),
                expires_at: is.verdict.deadline.map(millis),
                about: self.about(address, is, why),
            });
        }
        // A row that enters a full window may have been in trouble before. Report it only if time made it worse.
        let then = judge(&is.claim, &self.is.nature.rules, self.was.now).headline();
        if self.was.extent != Coverage::Worst || then > is.verdict.headline() {
            events.extend(self.entered(address, is));
        }
        events
    }

    /// The claim is among the rows of both polls.
    fn stayed(&self, address: &str, was: &Judged, is: &Judged) -> Option<Event> {
        let (then, now) = (was.verdict.headline(), is.verdict.headline());
        match ClaimChange::between(&was.claim, &is.claim, self.is.now) {
            // A claim that is in trouble again is reported as that.
            _ if now < then => self.entered(address, is),
            ClaimChange::TakenBy(_) | ClaimChange::ClaimedAgain { .. } => {
                Some(self.changed_hands(address, was, is))
            }
            // A new deadline is an event; a heartbeat under the same deadline is not.
            ClaimChange::Renewed { .. } if now != then || was.claim.lease != is.claim.lease => {
                Some(self.extended(address, is))
            }
            _ if now == then => None,
            ClaimChange::Kind | ClaimChange::Other if session_beat(was, is) => {
                Some(self.extended(address, is))
            }
            ClaimChange::Kind | ClaimChange::Other if now == Set::Healthy => Some(self.left(address, is)),
            // It is in a better set than before, but still in trouble.
            ClaimChange::Kind | ClaimChange::Other | ClaimChange::Renewed { .. } => None,
        }
    }

    /// The claim was among the rows and no longer is.
    fn went(
        &self,
        address: &str,
        was: &Judged,
        again: &mut dyn FnMut(&ObservedClaim<'_>) -> Reread,
    ) -> Option<Event> {
        let in_trouble = matches!(was.verdict.headline(), Set::Orphaned | Set::Stale);
        // A healthy claim that is gone was finished by its holder. One in trouble may have been recovered: read it again.
        if self.is.extent == Coverage::Whole && !in_trouble {
            return Some(self.released(address, was));
        }
        // The board has grown: its healthy claims are not read any more.
        if was.verdict.headline() == Set::Healthy {
            return None;
        }
        let observed = ObservedClaim { profile: self.profile, board: self.name, address, judged: was };
        match again(&observed) {
            Reread::Gone => Some(self.released(address, was)),
            Reread::Released { state, error } => Some(self.recovered(address, was, &state, error)),
            Reread::Unknown => Some(self.left(address, was)),
            Reread::Is(is) => match ClaimChange::between(&was.claim, &is.claim, self.is.now) {
                ClaimChange::TakenBy(_) | ClaimChange::ClaimedAgain { .. } => {
                    Some(self.changed_hands(address, was, &is))
                }
                ClaimChange::Renewed { .. } => Some(self.extended(address, &is)),
                ClaimChange::Kind | ClaimChange::Other if session_beat(was, &is) => {
                    Some(self.extended(address, &is))
                }
                // Unchanged: it only no longer fits into the rows that a poll fetches.
                _ if is.verdict.headline() != Set::Healthy => None,
                ClaimChange::Kind | ClaimChange::Other => Some(self.left(address, &is)),
            },
        }
    }

    fn about(&self, address: &str, judged: &Judged, why: String) -> ClaimContext {
        ClaimContext {
            source: self.source.into(),
            profile: self.profile.into(),
            board: self.name.into(),
            address: address.into(),
            why,
            by: Origin::Look,
            action_id: None,
            timestamp: millis(self.is.now),
            dry_run: false,
            shown: judged.claim.key.visible(),
        }
    }

    fn entered(&self, address: &str, is: &Judged) -> Option<Event> {
        let (claim, now) = (&is.claim, self.is.now);
        let about = self.about(address, is, why(claim, &is.verdict, &self.is.nature.rules, now));
        let (task_id, session_id) = (claim.key.text(), claim.holder.clone());
        let set = is.verdict.headline();
        let reason = is.verdict.reasons.iter().find(|reason| reason.set() == set).map_or("", Reason::as_str);
        let deadline = is.verdict.deadline.map(millis);
        Some(match set {
            Set::Healthy => return None,
            Set::Stale => {
                let age_ms = claim.claimed_at.at().map(|at| now.since(at).as_millis());
                Event::Expired { task_id, session_id, expired_at: deadline, age_ms, about }
            }
            Set::Orphaned => {
                Event::Orphaned { task_id, session_id, reason, stale_for_ms: silent_for(claim, now), about }
            }
            Set::Unknown => Event::Unclear { task_id, session_id, reason, about },
            Set::Expiring => Event::Expiring { task_id, session_id, expires_at: deadline, about },
        })
    }

    fn changed_hands(&self, address: &str, was: &Judged, is: &Judged) -> Event {
        let change = ClaimChange::between(&was.claim, &is.claim, self.is.now);
        let why = match &change {
            ClaimChange::TakenBy(_) => format!("{} → {}", holder(&was.claim), holder(&is.claim)),
            other => other.to_string(),
        };
        if was.claim.holder == is.claim.holder {
            return Event::Retried {
                task_id: is.claim.key.text(),
                session_id: is.claim.holder.clone(),
                about: self.about(address, is, why),
            };
        }
        Event::ChangedHands {
            task_id: is.claim.key.text(),
            session_id: is.claim.holder.clone(),
            from_session_id: was.claim.holder.clone(),
            about: self.about(address, is, why),
        }
    }

    fn extended(&self, address: &str, is: &Judged) -> Event {
        Event::Extended {
            task_id: is.claim.key.text(),
            session_id: is.claim.holder.clone(),
            expires_at: is.verdict.deadline.map(millis),
            about: self.about(address, is, ClaimChange::renewed(&is.claim, self.is.now).to_string()),
        }
    }

    fn released(&self, address: &str, was: &Judged) -> Event {
        let why = format!("{} no longer has it: finished or released", holder(&was.claim));
        Event::Released {
            task_id: was.claim.key.text(),
            session_id: was.claim.holder.clone(),
            reason: "finished_or_released",
            held_for_ms: was.claim.claimed_at.at().map(|at| self.is.now.since(at).as_millis()),
            about: self.about(address, was, why),
        }
    }

    /// Released, with the state that its row names.
    fn recovered(&self, address: &str, was: &Judged, state: &str, error: Option<String>) -> Event {
        let (reason, what) = match state {
            "queued" => ("requeued", "it is back in the queue".to_owned()),
            "dead" => ("dead", "it is dead".to_owned()),
            other => ("requeued", format!("it is {}", visible(other))),
        };
        // An error that was there before does not explain the release.
        let news = error.filter(|error| was.claim.error.as_ref() != Some(error));
        let news = news.map_or_else(String::new, |error| format!(": {}", visible(&error)));
        let why = format!("{} no longer has it: {what}{news}", holder(&was.claim));
        match self.released(address, was) {
            Event::Released { task_id, session_id, held_for_ms, about, .. } => Event::Released {
                task_id,
                session_id,
                reason,
                held_for_ms,
                about: ClaimContext { why, ..about },
            },
            other => other,
        }
    }

    fn left(&self, address: &str, judged: &Judged) -> Event {
        let why = "it is in no set any more; the reason is unknown".into();
        Event::Left {
            task_id: judged.claim.key.text(),
            session_id: judged.claim.holder.clone(),
            about: self.about(address, judged, why),
        }
    }
}

fn holder(claim: &Claim) -> String {
    claim.holder.as_deref().map_or_else(|| "–".into(), visible)
}

/// How long the claim's session has been silent.
pub(super) fn silent_for(claim: &Claim, now: Moment) -> Option<i64> {
    session_beat_of(claim).map(|at| now.since(at).as_millis())
}

fn session_beat_of(claim: &Claim) -> Option<Moment> {
    match &claim.registry {
        Registry::Listed(session) => Reading::at(&session.beat_at),
        Registry::None | Registry::Unregistered | Registry::Missing => None,
    }
}

/// Whether the session sent a heartbeat between the two polls.
fn session_beat(was: &Judged, is: &Judged) -> bool {
    session_beat_of(&is.claim) > session_beat_of(&was.claim)
}
