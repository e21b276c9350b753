//! What a cause is looked for in: holders with their signs of life, and their claims.

use std::collections::BTreeSet;

use super::Dimension;
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::{Reason, Set};

/// One holder.
#[derive(Debug, Clone, PartialEq)]
pub struct HolderFact {
    pub source: String,
    pub name: String,
    pub host: Option<String>,
    pub version: Option<String>,
    /// The clock of its source when it was read.
    pub seen_at: Moment,
    /// Its last sign of life: the registry's, or else the latest of its claims.
    pub last_sign: Option<Moment>,
    pub started_at: Option<Moment>,
    /// The rules of its board call it gone.
    pub given_up: bool,
    /// The system registers it: it is a session.
    pub is_session: bool,
}

/// One claim, or several that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimFact {
    /// The number of its holder in [`Facts::holders`].
    pub holder: usize,
    pub board: String,
    pub kind: Option<String>,
    /// Its id, if it is a lock: locks are few, and people know them by name.
    pub lock: Option<String>,
    /// The worst reason for which it is stale or orphaned; nothing, if it is neither.
    pub trouble: Option<Reason>,
    /// Since when it is, as far as its deadline tells.
    pub since: Option<Moment>,
    pub claimed_at: Option<Moment>,
    /// It has been held for longer than claims of its kind may take, renewed or not: it has had the time to
    /// get into trouble.
    pub is_due: bool,
    /// What a reclaim would need.
    pub prospect: Prospect,
    /// So many claims it stands for: more than one where not all of a large board were read.
    pub count: u64,
}

/// What a reclaim of a claim in trouble would need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Prospect {
    /// Nothing more than a key.
    Free,
    /// Its holder's name: it may be alive.
    NeedsName,
    /// Its holder's process is alive.
    Alive,
    /// It is not allowed at all.
    Refused,
}

/// Everything that is known of some sources.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    pub holders: Vec<HolderFact>,
    pub claims: Vec<ClaimFact>,
}

impl ClaimFact {
    pub fn in_trouble(&self) -> bool {
        self.trouble.is_some()
    }

    /// The worst set that it is in, if it is in trouble.
    pub fn set(&self) -> Option<Set> {
        self.trouble.map(Reason::set)
    }
}

impl Facts {
    /// The facts of several sources together.
    pub fn merged<'a>(all: impl IntoIterator<Item = &'a Facts>) -> Facts {
        let mut merged = Facts::default();
        for facts in all {
            let first = merged.holders.len();
            merged.holders.extend_from_slice(&facts.holders);
            let claims = facts.claims.iter().cloned();
            merged.claims.extend(claims.map(|claim| ClaimFact { holder: claim.holder + first, ..claim }));
        }
        merged
    }

    /// The usual time between two signs of life: the ages of the living are spread evenly over it, so nearly
    /// the longest of them is it. It is no more than three times the median: a tenth of the fleet may have fallen
    /// silent and not be given up yet.
    pub(super) fn usual_beat(&self) -> Span {
        let living = self.holders.iter().filter(|holder| !holder.given_up);
        let mut ages: Vec<Span> = living.filter_map(HolderFact::age).collect();
        ages.sort();
        let at = (ages.len() * 95 / 100).min(ages.len().saturating_sub(1));
        let (Some(nearly_longest), Some(median)) = (ages.get(at), ages.get(ages.len() / 2)) else {
            return Span::seconds(10);
        };
        let usual = (*nearly_longest).min(median.times(3).max(Span::seconds(5)));
        usual.max(Span::ZERO)
    }

    /// Which holders have missed three signs of life, whether or not they are given up already.
    pub fn silent_holders(&self) -> Vec<bool> {
        let limit = self.usual_beat().times(3).plus(Span::seconds(5));
        let is_late = |holder: &HolderFact| holder.age().is_some_and(|age| age > limit);
        self.holders.iter().map(|holder| holder.given_up || is_late(holder)).collect()
    }

    /// The claims in trouble.
    pub(super) fn troubled(&self) -> Vec<usize> {
        (0..self.claims.len()).filter(|at| self.claims[*at].in_trouble()).collect()
    }

    /// How many claims these stand for.
    pub(super) fn count<'a>(&self, claims: impl IntoIterator<Item = &'a usize>) -> u64 {
        claims.into_iter().map(|at| self.claims[*at].count).sum()
    }

    /// The group of a holder, where a dimension is one of holders.
    pub(super) fn group_of_holder(&self, holder: usize, by: Dimension) -> Option<&str> {
        let fact = &self.holders[holder];
        match by {
            Dimension::Everything => Some(""),
            Dimension::Source => Some(&fact.source),
            Dimension::Version => fact.version.as_deref(),
            Dimension::Host => fact.host.as_deref(),
            Dimension::Kind => None,
        }
    }

    /// The group of a claim.
    pub(super) fn group_of_claim<'a>(&'a self, claim: &'a ClaimFact, by: Dimension) -> Option<&'a str> {
        match by {
            Dimension::Kind => claim.kind.as_deref(),
            other => self.group_of_holder(claim.holder, other),
        }
    }

    /// The one kind that each holder works on. Nothing, unless holders are bound to kinds: a holder whose few
    /// claims happen to be of one kind says nothing.
    pub(super) fn bound_kinds(&self) -> Vec<Option<&str>> {
        let mut kinds: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); self.holders.len()];
        for claim in &self.claims {
            if let (Some(kinds), Some(kind)) = (kinds.get_mut(claim.holder), claim.kind.as_deref()) {
                kinds.insert(kind);
            }
        }
        let busy = kinds.iter().filter(|kinds| !kinds.is_empty()).count();
        let bound = kinds.iter().filter(|kinds| kinds.len() == 1).count();
        if (bound as f64) < 0.8 * busy as f64 {
            return vec![None; self.holders.len()];
        }
        kinds.into_iter().map(|kinds| kinds.into_iter().next()).collect()
    }
}

impl HolderFact {
    /// For how long it has given no sign of life.
    fn age(&self) -> Option<Span> {
        self.last_sign.map(|sign| self.seen_at.since(sign))
    }
}
