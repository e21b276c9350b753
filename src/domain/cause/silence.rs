//! Holders that fell silent together.

use std::collections::{BTreeMap, BTreeSet};

use super::chance::{binomial_at_least, poisson_at_least};
use super::facts::Facts;
use super::{Cause, Dimension, Trouble};
use crate::domain::time::{Moment, Span};

/// The share of a group that has to be silent for the group to be the cause.
fn purity_wanted(by: Dimension) -> f64 {
    match by {
        Dimension::Everything | Dimension::Source | Dimension::Version => 0.90,
        Dimension::Host => 0.85,
        Dimension::Kind => 0.70,
    }
}

/// This share of the silent ones within one window makes it one moment.
const CLUSTERED: f64 = 0.60;

/// Silent holders of one group.
#[derive(Debug)]
struct SilentGroup {
    name: String,
    members: Vec<usize>,
    silent: Vec<usize>,
    onset: Onset,
    /// So many of the group were running when it happened.
    running: usize,
    /// So many of those fell silent then.
    hit: usize,
}

/// When a group fell silent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Onset {
    pub(super) from: Option<Moment>,
    pub(super) to: Option<Moment>,
    pub(super) is_clustered: bool,
}

impl SilentGroup {
    fn purity(&self) -> f64 {
        if self.running == 0 { 0.0 } else { self.hit as f64 / self.running as f64 }
    }

    fn is_whole(&self, by: Dimension) -> bool {
        self.hit >= 2 && self.purity() >= purity_wanted(by)
    }
}

/// The groups of holders whose silence chance does not explain, with the claims of theirs that are `left`.
pub(super) fn candidates(facts: &Facts, left: &BTreeSet<usize>) -> Vec<Cause> {
    let silent = facts.silent_holders();
    let window = facts.usual_beat().times(2).plus(Span::seconds(10));
    if let Some(cause) = everything(facts, &silent, window, left) {
        return vec![cause];
    }
    let explained: BTreeSet<usize> = still_to_explain(facts, &silent, left);
    let mut causes = Vec::new();
    for by in [Dimension::Source, Dimension::Version, Dimension::Host, Dimension::Kind] {
        let groups = groups(facts, &silent, by, window);
        if groups.len() >= 2 {
            let named = named(&groups, by);
            let open = named.into_iter().filter(|group| group.silent.iter().any(|at| explained.contains(at)));
            causes.extend(open.map(|group| cause(facts, group, by, left)));
        }
    }
    causes
}

/// The silent holders of claims that no cause explains yet.
fn still_to_explain(facts: &Facts, silent: &[bool], left: &BTreeSet<usize>) -> BTreeSet<usize> {
    left.iter().map(|claim| facts.claims[*claim].holder).filter(|holder| silent[*holder]).collect()
}

fn everything(facts: &Facts, silent: &[bool], window: Span, left: &BTreeSet<usize>) -> Option<Cause> {
    let all: Vec<usize> = (0..silent.len()).filter(|at| silent[*at]).collect();
    if silent.len() < 3 || (all.len() as f64) < 0.9 * silent.len() as f64 {
        return None;
    }
    let onset = onset(facts, &all, window);
    let members = (0..silent.len()).collect();
    let group = SilentGroup {
        name: String::new(),
        hit: all.len(),
        running: silent.len(),
        members,
        silent: all,
        onset,
    };
    onset.is_clustered.then(|| cause(facts, &group, Dimension::Everything, left))
}

fn groups(facts: &Facts, silent: &[bool], by: Dimension, window: Span) -> Vec<SilentGroup> {
    let names: Vec<Option<&str>> = match by {
        Dimension::Kind => facts.bound_kinds(),
        _ => (0..facts.holders.len()).map(|at| facts.group_of_holder(at, by)).collect(),
    };
    let mut members: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, name) in names.into_iter().enumerate() {
        if let Some(name) = name {
            members.entry(name).or_default().push(at);
        }
    }
    members.into_iter().map(|(name, members)| group(facts, silent, name, &members, window)).collect()
}

fn group(facts: &Facts, silent: &[bool], name: &str, members: &[usize], window: Span) -> SilentGroup {
    let silent: Vec<usize> = members.iter().copied().filter(|at| silent[*at]).collect();
    let onset = onset(facts, &silent, window);
    let mut group = SilentGroup {
        name: name.to_owned(),
        hit: silent.len(),
        running: members.len(),
        members: members.to_vec(),
        silent,
        onset,
    };
    if let (true, Some(from), Some(to)) = (onset.is_clustered, onset.from, onset.to) {
        // Only who was running then could fall silent then: not who came later or had gone before.
        let ran = |at: &&usize| {
            let holder = &facts.holders[**at];
            holder.started_at.is_none_or(|start| start <= to)
                && holder.last_sign.is_none_or(|sign| sign >= from)
        };
        let then = |at: &&usize| facts.holders[**at].last_sign.is_some_and(|sign| sign >= from && sign <= to);
        group.running = members.iter().filter(ran).count();
        group.hit = group.silent.iter().filter(then).count();
    }
    group
}

/// The densest window of the last signs of life.
pub(super) fn onset(facts: &Facts, silent: &[usize], window: Span) -> Onset {
    let mut signs: Vec<Moment> = silent.iter().filter_map(|at| facts.holders[*at].last_sign).collect();
    signs.sort();
    let mut best = (0, None, None);
    let mut first = 0;
    for last in 0..signs.len() {
        while signs[last].since(signs[first]) > window {
            first += 1;
        }
        if last + 1 - first >= best.0 {
            best = (last + 1 - first, Some(signs[first]), Some(signs[last]));
        }
    }
    let (count, from, to) = best;
    Onset { from, to, is_clustered: count > 0 && count as f64 >= CLUSTERED * silent.len() as f64 }
}

/// The whole groups, if chance would hardly make as many.
fn named(groups: &[SilentGroup], by: Dimension) -> Vec<&SilentGroup> {
    let (whole, others): (Vec<&SilentGroup>, Vec<&SilentGroup>) =
        groups.iter().partition(|group| group.is_whole(by));
    let silent: usize = others.iter().map(|group| group.silent.len()).sum();
    let running: usize = others.iter().map(|group| group.running).sum();
    let usual = if running == 0 { 0.0 } else { silent as f64 / running as f64 };
    let wanted = |group: &SilentGroup| ((purity_wanted(by) * group.running as f64).ceil() as u64).max(2);
    let by_chance: f64 =
        groups.iter().map(|group| binomial_at_least(wanted(group), group.running as u64, usual)).sum();
    let is_rare = |group: &SilentGroup| {
        if group.onset.is_clustered {
            poisson_at_least(whole.len(), by_chance) < 0.05
        } else {
            let one = binomial_at_least(group.hit as u64, group.running as u64, usual);
            by != Dimension::Source && one * (groups.len() as f64) < 0.001
        }
    };
    whole.iter().copied().filter(|group| group.purity() >= 3.0 * usual && is_rare(group)).collect()
}

fn cause(facts: &Facts, group: &SilentGroup, by: Dimension, left: &BTreeSet<usize>) -> Cause {
    let silent: BTreeSet<usize> = group.silent.iter().copied().collect();
    let members: BTreeSet<usize> = group.members.iter().copied().collect();
    let is_silent = |at: &usize| silent.contains(&facts.claims[*at].holder);
    let of_group = facts.claims.iter().filter(|claim| members.contains(&claim.holder));
    let Onset { from, to, is_clustered } = group.onset;
    Cause {
        claims: left.iter().copied().filter(is_silent).collect(),
        of: of_group.map(|claim| claim.count).sum(),
        holders: silent.len(),
        of_holders: members.len(),
        since: from,
        spread: from.zip(to).filter(|_| is_clustered).map(|(from, to)| to.since(from)),
        ..Cause::new(by, &group.name, Trouble::Silent)
    }
}
