//! What happened to a claim between two looks at it.

use super::claim::Claim;
use super::time::{Moment, Span};
use super::visible::visible;

/// What became of a claim that was seen before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Nobody claims it any more.
    Finished,
    TakenBy(String),
    ClaimedAgain,
    Renewed,
    /// Its kind, or the state that is its kind.
    Kind,
    /// Only what is not mapped, or nothing at all.
    Other,
}

impl Change {
    /// What became of `was`, which is now `is`.
    pub fn between(was: &Claim, is: Option<&Claim>) -> Change {
        let Some(is) = is else { return Change::Finished };
        if was.holder != is.holder {
            return Change::TakenBy(is.holder.clone().unwrap_or_else(|| "nobody".into()));
        }
        if was.claimed_at != is.claimed_at {
            return Change::ClaimedAgain;
        }
        if was.beat_at != is.beat_at || was.lease != is.lease {
            return Change::Renewed;
        }
        if was.kind != is.kind { Change::Kind } else { Change::Other }
    }

    /// The sentence for it: "renewed 1.2 s ago by w7".
    pub fn sentence(&self, is: Option<&Claim>, now: Moment) -> String {
        let holder = is.and_then(|claim| claim.holder.as_deref()).map_or_else(|| "nobody".into(), visible);
        match self {
            Change::Finished => "it is claimed no longer: finished or released".into(),
            Change::TakenBy(by) => format!("taken by {}", visible(by)),
            Change::ClaimedAgain => format!("claimed again by {holder}"),
            Change::Renewed => match is.and_then(|claim| claim.beat_at.at()) {
                Some(beat) => format!("renewed {} ago by {holder}", now.since(beat).max(Span::ZERO)),
                None => format!("renewed by {holder}"),
            },
            Change::Kind => "its state changed".into(),
            Change::Other => "its row, or its session, changed".into(),
        }
    }
}
