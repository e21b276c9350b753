//! What happened to a claim between two looks at it.

use std::fmt;

use super::claim::Claim;
use super::time::{Moment, Span};
use super::visible::visible;

/// What became of a claim that was seen before. It reads as a sentence: "renewed 1.2s ago by w7".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimChange {
    TakenBy(Option<String>),
    ClaimedAgain {
        by: Option<String>,
    },
    Renewed {
        by: Option<String>,
        ago: Option<Span>,
    },
    /// Its kind, or the state that is its kind.
    Kind,
    /// Only columns that are not mapped, or nothing at all.
    Other,
}

impl ClaimChange {
    /// What became of `was`, which is now `is`.
    pub fn between(was: &Claim, is: &Claim, now: Moment) -> ClaimChange {
        if was.holder != is.holder {
            ClaimChange::TakenBy(is.holder.clone())
        } else if was.claimed_at != is.claimed_at {
            ClaimChange::ClaimedAgain { by: is.holder.clone() }
        } else if was.beat_at != is.beat_at || was.lease != is.lease {
            ClaimChange::renewed(is, now)
        } else if was.kind != is.kind {
            ClaimChange::Kind
        } else {
            ClaimChange::Other
        }
    }

    /// The holder has shown a sign of life.
    pub fn renewed(is: &Claim, now: Moment) -> ClaimChange {
        let ago = is.beat_at.at().map(|beat| now.since(beat).max(Span::ZERO));
        ClaimChange::Renewed { by: is.holder.clone(), ago }
    }
}

impl fmt::Display for ClaimChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |by: &Option<String>| by.as_deref().map_or_else(|| "nobody".into(), visible);
        match self {
            ClaimChange::TakenBy(by) => write!(f, "taken by {}", name(by)),
            ClaimChange::ClaimedAgain { by } => write!(f, "claimed again by {}", name(by)),
            ClaimChange::Renewed { by, ago: Some(ago) } => write!(f, "renewed {ago} ago by {}", name(by)),
            ClaimChange::Renewed { by, ago: None } => write!(f, "renewed by {}", name(by)),
            ClaimChange::Kind => f.write_str("its state changed"),
            ClaimChange::Other => f.write_str("its row changed"),
        }
    }
}
