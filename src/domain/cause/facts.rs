//! What a cause is looked for in: holders with their signs of life, and their claims.

use std::collections::BTreeSet;

use super::Dimension;
use crate::domain::time::{Moment, Span};

/// One holder.
#[derive(Debug, Clone, PartialEq)]
pub struct HolderFact {
    pub source: String,
    pub name: String,
    pub host: Option<String>,
    pub version: Option<String>,
    /// Its last sign of life: the registry's, or else the latest of its claims.
    pub last_sign: Option<Moment>,
    pub started_at: Option<Moment>,
    /// The rules of its board call it gone.
    pub given_up: bool,
}

/// One claim.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimFact {
    /// The number of its holder in [`Facts::holders`].
    pub holder: usize,
    pub board: String,
    pub kind: Option<String>,
    /// Stale or orphaned.
    pub in_trouble: bool,
    /// Since when it is, as far as its deadline tells.
    pub since: Option<Moment>,
    pub claimed_at: Option<Moment>,
    /// It has been held for longer than claims of its kind may take, renewed or not: it has had the time to
    /// get into trouble.
    pub is_due: bool,
}

/// Everything that is known at one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    pub now: Moment,
    pub holders: Vec<HolderFact>,
    pub claims: Vec<ClaimFact>,
}

impl Facts {
    /// The usual time between two signs of life: the ages of the living are spread evenly over it, so nearly
    /// the longest of them is it.
    pub(super) fn usual_beat(&self) -> Span {
        let living = self.holders.iter().filter(|holder| !holder.given_up);
        let mut ages: Vec<Span> = living.filter_map(|holder| self.age(holder)).collect();
        ages.sort();
        let at = (ages.len() * 95 / 100).min(ages.len().saturating_sub(1));
        ages.get(at).copied().unwrap_or(Span::seconds(10)).max(Span::ZERO)
    }

    fn age(&self, holder: &HolderFact) -> Option<Span> {
        holder.last_sign.map(|sign| self.now.since(sign))
    }

    /// Which holders have missed three signs of life, whether or not they are given up already.
    pub(super) fn silent_holders(&self) -> Vec<bool> {
        let limit = self.usual_beat().times(3).plus(Span::seconds(5));
        let is_late = |holder: &HolderFact| self.age(holder).is_some_and(|age| age > limit);
        self.holders.iter().map(|holder| holder.given_up || is_late(holder)).collect()
    }

    /// The claims in trouble.
    pub(super) fn troubled(&self) -> Vec<usize> {
        (0..self.claims.len()).filter(|at| self.claims[*at].in_trouble).collect()
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
    pub(super) fn group_of_claim(&self, claim: &ClaimFact, by: Dimension) -> Option<String> {
        match by {
            Dimension::Kind => claim.kind.clone(),
            other => self.group_of_holder(claim.holder, other).map(str::to_owned),
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
