//! What the claims of a cause touch: boards, sources, locks, hosts.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{ClaimFact, Facts};
use super::{Cause, Touched};
use crate::domain::verdict::Reason;

pub(super) fn by(facts: &Facts, cause: &Cause) -> Touched {
    let claims = || cause.claims.iter().map(|at| &facts.claims[*at]);
    let host = |claim: &ClaimFact| facts.holders[claim.holder].host.as_deref();
    let hosts: BTreeSet<&str> = claims().filter_map(host).collect();
    let of_group = |claim: &&ClaimFact| {
        facts.group_of_claim(claim, cause.by).is_some_and(|name| cause.names.iter().any(|one| one == name))
    };
    let all_hosts: BTreeSet<&str> = facts.claims.iter().filter(of_group).filter_map(host).collect();
    let mut reasons: BTreeMap<Reason, u64> = BTreeMap::new();
    for claim in claims() {
        if let Some(reason) = claim.trouble {
            *reasons.entry(reason).or_default() += claim.count;
        }
    }
    Touched {
        boards: claims().map(|claim| claim.board.clone()).collect(),
        sources: claims().map(|claim| facts.holders[claim.holder].source.clone()).collect(),
        locks: claims().filter_map(|claim| claim.lock.clone()).collect(),
        hosts: hosts.len(),
        all_hosts: hosts.len() > 1 && hosts.len() == all_hosts.len(),
        reason: reasons.into_iter().max_by_key(|(_, count)| *count).map(|(reason, _)| reason),
        are_sessions: claims().all(|claim| facts.holders[claim.holder].is_session),
    }
}
