//! Trouble, group by group: how much of how much, since when, all at once or one by one, and what a reclaim would
//! come to.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{ClaimFact, Facts, Prospect};
use super::silence::onset;
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::{Reason, Set};
use crate::domain::visible::visible;

/// What claims are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum GroupBy {
    #[default]
    Host,
    Holder,
    Kind,
    Board,
    Source,
    Reason,
}

impl GroupBy {
    pub const ALL: [GroupBy; 6] =
        [GroupBy::Host, GroupBy::Holder, GroupBy::Kind, GroupBy::Board, GroupBy::Source, GroupBy::Reason];

    pub fn next(self) -> GroupBy {
        let at = GroupBy::ALL.iter().position(|by| *by == self).unwrap_or(0);
        GroupBy::ALL[(at + 1) % GroupBy::ALL.len()]
    }

    pub fn as_str(self) -> &'static str {
        match self {
            GroupBy::Host => "host",
            GroupBy::Holder => "holder",
            GroupBy::Kind => "kind",
            GroupBy::Board => "board",
            GroupBy::Source => "source",
            GroupBy::Reason => "reason",
        }
    }
}

/// Claims that have something in common, some of them in trouble.
#[derive(Debug, Clone, PartialEq)]
pub struct TroubleGroup {
    pub by: GroupBy,
    /// Nothing for claims that have none: of no host, of no kind.
    pub name: Option<String>,
    /// The reason that its claims are in trouble for, if that is what they are grouped by.
    pub reason: Option<Reason>,
    pub in_trouble: u64,
    pub of: u64,
    /// Not all claims were read: the counts are estimates.
    pub is_estimate: bool,
    /// The worst set that one of them is in.
    pub worst: Option<Set>,
    pub silent: usize,
    pub holders: usize,
    pub since: Option<Moment>,
    /// Within which time its holders fell silent; nothing, if one by one or if they have not.
    pub spread: Option<Span>,
    pub prospects: Prospects,
    /// The holders of its claims in trouble, as a command line takes them: a pattern if one fits them and nobody
    /// else, or every name.
    pub patterns: Vec<String>,
}

impl TroubleGroup {
    /// What it is called, as it may be shown.
    pub fn shown_name(&self) -> String {
        self.name.as_deref().map_or_else(|| format!("(no {})", self.by.as_str()), visible)
    }

    /// Whether the group was hit at one moment: "all within 6 s", "one by one".
    pub fn how(&self) -> String {
        match (self.spread, self.silent) {
            (Some(spread), silent) if silent == self.holders => format!("all within {}", roughly(spread)),
            (Some(spread), silent) => format!("{silent} within {}", roughly(spread)),
            (None, 0) => "holders alive".into(),
            (None, 1) => "one holder".into(),
            (None, _) => "one by one".into(),
        }
    }
}

fn roughly(span: Span) -> String {
    let seconds = (span.as_millis() + 999) / 1_000;
    if seconds < 120 { format!("{} s", seconds.max(1)) } else { span.to_string() }
}

/// How many claims in trouble a reclaim would free, and what the others need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prospects {
    pub free: u64,
    pub needs_name: u64,
    pub alive: u64,
    pub refused: u64,
}

impl Prospects {
    fn add(&mut self, prospect: Prospect, count: u64) {
        *match prospect {
            Prospect::Free => &mut self.free,
            Prospect::NeedsName => &mut self.needs_name,
            Prospect::Alive => &mut self.alive,
            Prospect::Refused => &mut self.refused,
        } += count;
    }

    /// "reclaim 52, 13 need the name, 1 alive".
    pub fn sentence(&self) -> String {
        let mut parts = vec![format!("reclaim {}", self.free)];
        for (count, what) in
            [(self.needs_name, "need the name"), (self.alive, "alive"), (self.refused, "refused")]
        {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        parts.join(", ")
    }
}

/// The groups in trouble of one source, the largest trouble first.
pub fn groups(facts: &Facts, by: GroupBy) -> Vec<TroubleGroup> {
    let mut members: BTreeMap<Option<&str>, Vec<&ClaimFact>> = BTreeMap::new();
    for claim in &facts.claims {
        members.entry(name_of(facts, claim, by)).or_default().push(claim);
    }
    let silent = facts.silent_holders();
    let mut groups: Vec<TroubleGroup> = members
        .into_iter()
        .filter(|(_, claims)| claims.iter().any(|claim| claim.in_trouble()))
        .map(|(name, claims)| group(facts, &silent, by, name, &claims))
        .collect();
    groups.sort_by(|one, other| other.in_trouble.cmp(&one.in_trouble).then(one.name.cmp(&other.name)));
    groups
}

fn name_of<'a>(facts: &'a Facts, claim: &'a ClaimFact, by: GroupBy) -> Option<&'a str> {
    let holder = &facts.holders[claim.holder];
    match by {
        GroupBy::Host => holder.host.as_deref(),
        GroupBy::Holder => Some(holder.name.as_str()).filter(|name| !name.is_empty()),
        GroupBy::Kind => claim.kind.as_deref(),
        GroupBy::Board => Some(&claim.board),
        GroupBy::Source => Some(&holder.source),
        GroupBy::Reason => claim.trouble.map(Reason::as_str),
    }
}

fn group(
    facts: &Facts,
    silent: &[bool],
    by: GroupBy,
    name: Option<&str>,
    claims: &[&ClaimFact],
) -> TroubleGroup {
    let troubled: Vec<&&ClaimFact> = claims.iter().filter(|claim| claim.in_trouble()).collect();
    let all_holders = holders_of(facts, by, name, claims);
    let silent_ones: Vec<usize> = all_holders.iter().copied().filter(|at| silent[*at]).collect();
    let moment = onset(facts, &silent_ones, facts.usual_beat().times(2).plus(Span::seconds(10)));
    let is_at_once = moment.is_clustered && silent_ones.len() > 1;
    let spread = moment.from.zip(moment.to).filter(|_| is_at_once).map(|(from, to)| to.since(from));
    let first = troubled.iter().filter_map(|claim| claim.since).min();
    // A group that is one silent holder dates from the last sign of that holder, as groups of several do.
    let fell_silent = is_at_once || (silent_ones.len() == 1 && all_holders.len() == 1);
    let mut prospects = Prospects::default();
    for claim in &troubled {
        prospects.add(claim.prospect, claim.count);
    }
    let held_by: BTreeSet<usize> = troubled.iter().map(|claim| claim.holder).collect();
    TroubleGroup {
        by,
        name: name.map(str::to_owned),
        reason: troubled.first().and_then(|claim| claim.trouble).filter(|_| by == GroupBy::Reason),
        in_trouble: troubled.iter().map(|claim| claim.count).sum(),
        of: claims.iter().map(|claim| claim.count).sum(),
        is_estimate: claims.iter().any(|claim| claim.count > 1),
        worst: troubled.iter().filter_map(|claim| claim.set()).min(),
        silent: silent_ones.len(),
        holders: all_holders.len(),
        since: moment.from.filter(|_| fell_silent).or(first),
        spread,
        prospects,
        patterns: patterns(facts, &held_by),
    }
}

/// The holders of a group: also those of a host that hold nothing, and silent ones at that.
fn holders_of(facts: &Facts, by: GroupBy, name: Option<&str>, claims: &[&ClaimFact]) -> BTreeSet<usize> {
    let of_host = |at: &usize| by == GroupBy::Host && facts.holders[*at].host.as_deref() == name;
    let idle = (0..facts.holders.len()).filter(of_host).filter(|_| name.is_some());
    claims.iter().map(|claim| claim.holder).chain(idle).collect()
}

/// What names these holders and nobody else.
fn patterns(facts: &Facts, held_by: &BTreeSet<usize>) -> Vec<String> {
    let names: BTreeSet<&str> = held_by.iter().map(|at| facts.holders[*at].name.as_str()).collect();
    let exact = || names.iter().map(|name| (*name).to_owned()).collect();
    let Some(shortest) = names.iter().map(|name| name.len()).min().filter(|_| names.len() > 1) else {
        return exact();
    };
    let (Some(first), Some(last)) = (names.first(), names.last()) else { return exact() };
    let common: String =
        first.chars().zip(last.chars()).take_while(|(one, other)| one == other).map(|(one, _)| one).collect();
    // What is cut within a number would fit other numbers too.
    let prefix = common.trim_end_matches(|letter: char| letter.is_ascii_alphanumeric());
    let fits = |at: usize| facts.holders[at].name.starts_with(prefix);
    let is_ours = (0..facts.holders.len())
        .filter(|at| fits(*at))
        .all(|at| names.contains(facts.holders[at].name.as_str()));
    if prefix.len() >= 3 && prefix.len() <= shortest && is_ours {
        vec![format!("{prefix}*")]
    } else {
        exact()
    }
}
