//! Claims that hang although their holders give signs of life.

use std::collections::{BTreeMap, BTreeSet};

use super::chance::binomial_at_least;
use super::facts::{ClaimFact, Facts};
use super::{Cause, Dimension, Trouble};

/// The share of a group's due claims that has to hang for the group to be the cause.
fn purity_wanted(by: Dimension) -> f64 {
    match by {
        Dimension::Everything | Dimension::Source | Dimension::Version => 0.80,
        Dimension::Host => 0.85,
        Dimension::Kind => 0.70,
    }
}

/// The claims of one group that have had the time to hang.
#[derive(Debug, Default)]
struct HangingGroup {
    bad: Vec<usize>,
    /// The others.
    good: Vec<usize>,
}

/// The groups whose hanging chance does not explain.
pub(super) fn candidates(facts: &Facts, left: &BTreeSet<usize>) -> Vec<Cause> {
    let silent = facts.silent_holders();
    let dimensions = [Dimension::Source, Dimension::Version, Dimension::Kind, Dimension::Host];
    dimensions.into_iter().flat_map(|by| by_dimension(facts, &silent, by, left)).collect()
}

fn by_dimension(facts: &Facts, silent: &[bool], by: Dimension, left: &BTreeSet<usize>) -> Vec<Cause> {
    let groups = groups(facts, silent, by, left);
    if groups.len() < 2 {
        return Vec::new();
    }
    let counts: BTreeMap<&str, (u64, u64)> =
        groups.iter().map(|(name, group)| (*name, counted(facts, group))).collect();
    let total = counts.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let is_cause = |(name, group): &(&&str, &HangingGroup)| {
        let (bad, due) = counts[**name];
        let (bad_elsewhere, due_elsewhere) = (total.0 - bad, total.1 - due);
        let usual = if due_elsewhere == 0 { 0.0 } else { bad_elsewhere as f64 / due_elsewhere as f64 };
        let purity = bad as f64 / due.max(1) as f64;
        purity >= purity_wanted(by)
            && due_elsewhere > 0
            && purity >= 3.0 * usual
            && binomial_at_least(bad, due, usual.max(0.001)) * (groups.len() as f64) < 0.001
            && is_spread(facts, group, by)
    };
    groups.iter().filter(is_cause).map(|(name, group)| cause(facts, name, group, by)).collect()
}

fn groups<'a>(
    facts: &'a Facts,
    silent: &[bool],
    by: Dimension,
    left: &BTreeSet<usize>,
) -> BTreeMap<&'a str, HangingGroup> {
    let mut groups: BTreeMap<&str, HangingGroup> = BTreeMap::new();
    for (at, claim) in facts.claims.iter().enumerate().filter(|(_, claim)| !silent[claim.holder]) {
        let Some(name) = facts.group_of_claim(claim, by) else { continue };
        if claim.in_trouble() && left.contains(&at) {
            groups.entry(name).or_default().bad.push(at);
        } else if claim.is_due && !claim.in_trouble() {
            groups.entry(name).or_default().good.push(at);
        }
    }
    groups
}

/// How many hang of how many that are due. A claim that was taken before the first that hangs is from
/// before the cause.
fn counted(facts: &Facts, group: &HangingGroup) -> (u64, u64) {
    let first = group.bad.iter().filter_map(|at| facts.claims[*at].claimed_at).min();
    let is_after = |at: &&usize| match (first, facts.claims[**at].claimed_at) {
        (Some(first), Some(taken)) => taken >= first,
        _ => true,
    };
    let bad = facts.count(&group.bad);
    (bad, bad + facts.count(group.good.iter().filter(is_after)))
}

/// Whether more than one holder or host is concerned: one alone is a fact, not a cause.
fn is_spread(facts: &Facts, group: &HangingGroup, by: Dimension) -> bool {
    let holders: BTreeSet<usize> = group.bad.iter().map(|at| facts.claims[*at].holder).collect();
    let hosts: BTreeSet<Option<&String>> =
        holders.iter().map(|holder| facts.holders[*holder].host.as_ref()).collect();
    match by {
        Dimension::Host => holders.len() >= 2,
        _ => holders.len() >= 3 && (hosts.len() >= 2 || hosts.contains(&None)),
    }
}

fn cause(facts: &Facts, name: &str, group: &HangingGroup, by: Dimension) -> Cause {
    let holders: BTreeSet<usize> = group.bad.iter().map(|at| facts.claims[*at].holder).collect();
    let of_group = |claim: &&ClaimFact| facts.group_of_claim(claim, by) == Some(name);
    let members = facts.claims.iter().filter(of_group);
    let all: BTreeSet<usize> = members.clone().map(|claim| claim.holder).collect();
    Cause {
        of: members.map(|claim| claim.count).sum(),
        holders: holders.len(),
        of_holders: all.len(),
        since: group.bad.iter().filter_map(|at| facts.claims[*at].since).min(),
        claims: group.bad.clone(),
        ..Cause::new(by, name, Trouble::Hanging)
    }
}
