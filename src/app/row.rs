//! A claim as a row of the screen.

use std::sync::Arc;

use crate::domain::board_id::BoardId;
use crate::domain::claim::{Claim, Lease, Process};
use crate::domain::evidence::{Conclusion, conclude, why};
use crate::domain::recovery::Action;
use crate::domain::rules::DeadlineRule;
use crate::domain::snapshot::{Judged, Nature};
use crate::domain::time::{Moment, Span};
use crate::domain::value::percent;
use crate::domain::verdict::{Set, judge};
use crate::domain::visible::visible;

/// The identity of a claim, independent of the order of rows.
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
    pub board_id: BoardId,
    /// The profile is generic: other systems may have tables of these names.
    pub generic: bool,
    pub nature: Arc<Nature>,
    pub judged: Judged,
}

/// How much of a claim's time is left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fuse {
    /// The share of its time that is left, and how long that is.
    Burning { share: f64, left: Span },
    /// The deadline passed this long ago; the share is the overrun relative to its allowance.
    Over { share: f64, by: Span },
    /// No limit is known.
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
            board_id: BoardId::new(profile, board),
            generic,
            nature: Arc::clone(nature),
            judged,
        }
    }

    pub fn claim(&self) -> &Claim {
        &self.judged.claim
    }

    /// What an action on it risks where late workers are not fenced.
    pub fn risk(&self, action: Action) -> Option<&'static str> {
        self.nature.fencing.risk(self.claim().worker.process).filter(|_| action.frees())
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
        self.claim().held_since().map(|since| now.since(since))
    }

    pub fn headline(&self) -> Set {
        self.judged.verdict.headline()
    }

    /// Judges it again: time passes between polls, and a process may have been checked.
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

    /// How much time an extension gives unless another length is asked for.
    pub fn usual_extension(&self) -> Span {
        let limits = self.nature.rules.for_kind(self.claim().kind.as_deref());
        limits.ttl.unwrap_or(limits.lease)
    }

    /// How long it may take from its last sign of life to its deadline.
    fn allowance(&self, deadline: Moment) -> Span {
        let rules = &self.nature.rules;
        let limits = rules.for_kind(self.claim().kind.as_deref());
        match (&self.claim().lease, rules.deadline) {
            (Lease::Timeout(timeout), _) => timeout.span().unwrap_or(limits.lease),
            (_, DeadlineRule::Ttl) => limits.ttl.unwrap_or(limits.lease),
            (_, DeadlineRule::Holder) => limits.orphan_after,
            // A renewed lease began long ago, so use the usual length.
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
