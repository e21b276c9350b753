//! A claim as a row of the screen.

use std::sync::Arc;

use crate::domain::claim::{Claim, Lease, Process};
use crate::domain::evidence::{Conclusion, conclude, why};
use crate::domain::rules::DeadlineRule;
use crate::domain::snapshot::{Judged, Nature};
use crate::domain::time::{Moment, Span};
use crate::domain::value::percent;
use crate::domain::verdict::{Set, judge};
use crate::domain::visible::visible;

/// Which claim, in whichever order the rows come.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId {
    pub source: usize,
    /// `profile/board/id`, its parts percent-encoded.
    pub address: String,
}

#[derive(Debug, Clone)]
pub struct Row {
    pub id: RowId,
    pub profile: String,
    pub board: String,
    /// The profile's tables could be anybody's.
    pub generic: bool,
    pub nature: Arc<Nature>,
    pub judged: Judged,
}

/// How much of a claim's time is left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fuse {
    /// The share of its time that is left, and how long that is.
    Burning { share: f64, left: Span },
    /// It burnt down this long ago; the share says how much of its time it has taken on top.
    Over { share: f64, by: Span },
    /// Nothing says how long it may take.
    Unknown,
}

impl Row {
    pub fn new(
        source: usize,
        profile: &str,
        board: &str,
        generic: bool,
        nature: &Arc<Nature>,
        judged: Judged,
    ) -> Row {
        let address = format!("{}/{}/{}", percent(profile), percent(board), judged.claim.key.address());
        Row {
            id: RowId { source, address },
            profile: profile.into(),
            board: board.into(),
            generic,
            nature: Arc::clone(nature),
            judged,
        }
    }

    pub fn claim(&self) -> &Claim {
        &self.judged.claim
    }

    /// Its id as it may be shown.
    pub fn shown(&self) -> String {
        self.claim().key.visible()
    }

    pub fn holder(&self) -> String {
        self.claim().holder.as_deref().map_or_else(|| "–".into(), visible)
    }

    pub fn kind(&self) -> String {
        self.claim().kind.as_deref().map_or_else(|| "–".into(), visible)
    }

    /// Since when it is held.
    pub fn age(&self, now: Moment) -> Option<Span> {
        self.claim().claimed_at.at().or_else(|| self.claim().sign_of_life()).map(|at| now.since(at))
    }

    pub fn headline(&self) -> Set {
        self.judged.verdict.headline()
    }

    /// Judged again: the clock goes on between polls, and a process may have been checked.
    pub fn judge(&mut self, now: Moment) {
        self.judged.verdict = judge(&self.judged.claim, &self.nature.rules, now);
    }

    pub fn conclusion(&self, now: Moment) -> Conclusion {
        conclude(self.claim(), &self.judged.verdict, &self.nature.rules, now)
    }

    pub fn why(&self, now: Moment) -> String {
        why(self.claim(), &self.judged.verdict, &self.nature.rules, now)
    }

    pub fn process(&self) -> Process {
        self.claim().worker.process
    }

    pub fn fuse(&self, now: Moment) -> Fuse {
        let Some(deadline) = self.judged.verdict.deadline else { return Fuse::Unknown };
        let whole = self.allowance(deadline).as_micros().max(1) as f64;
        let left = deadline.since(now);
        if left.as_micros() >= 0 {
            Fuse::Burning { share: (left.as_micros() as f64 / whole).min(1.0), left }
        } else {
            Fuse::Over { share: (left.abs().as_micros() as f64 / whole).min(1.0), by: left.abs() }
        }
    }

    /// How long it may take from its last sign of life to its deadline.
    fn allowance(&self, deadline: Moment) -> Span {
        let rules = &self.nature.rules;
        let limits = rules.for_kind(self.claim().kind.as_deref());
        match (&self.claim().lease, rules.deadline) {
            (Lease::Timeout(timeout), _) => timeout.span().unwrap_or(limits.lease),
            (_, DeadlineRule::Ttl) => limits.ttl.unwrap_or(limits.lease),
            (_, DeadlineRule::Holder) => limits.orphan_after,
            // A lease that is renewed again and again began long ago: the usual length says more.
            _ => match self.claim().claimed_at.at().map(|at| deadline.since(at)) {
                Some(span) if span.is_positive() => span.min(limits.lease),
                _ => limits.lease,
            },
        }
    }
}

/// Worst first, then whose deadline passed longest ago, then by address: the same order every time.
pub fn worst_first(one: &Row, other: &Row) -> std::cmp::Ordering {
    let rank = |row: &Row| (row.headline(), row.judged.verdict.deadline.map_or(i64::MAX, Moment::micros));
    rank(one).cmp(&rank(other)).then_with(|| one.id.cmp(&other.id))
}
