//! Why claims are in trouble together: a host that died, a version that hangs, a database that stopped.
//!
//! A cause is named only if it explains the data: nearly all of a group is in trouble, the rest is not,
//! and chance would hardly do the same. Two kinds of trouble are told apart. A *silent* holder has
//! stopped giving signs of life; that is judged by holders, because one dead host ends all of its
//! holders at one moment. A claim *hangs* if it is in trouble although its holder gives signs of life;
//! that is judged by claims. Single holders are facts, never a cause.
//!
//! Knows nothing of databases and screens: facts go in, causes come out, worst first.

mod chance;
mod facts;
mod gathering;
mod groups;
mod hanging;
mod hosts;
mod sentence;
mod silence;
mod sources;
mod touched;
mod written;

pub use facts::{ClaimFact, Facts, HolderFact, Prospect};
pub use gathering::{ClaimsOf, Gathering};
pub use groups::{GroupBy, Prospects, TroubleGroup, groups};
pub use hosts::hosts_of_names;
pub use sources::find_in_all;

use std::collections::BTreeSet;

use super::time::{Moment, Span};
use super::verdict::Reason;

/// What the claims of a cause have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dimension {
    /// All sources.
    Everything,
    Source,
    Version,
    Host,
    Kind,
}

impl Dimension {
    pub fn as_str(self) -> &'static str {
        match self {
            Dimension::Everything => "everything",
            Dimension::Source => "source",
            Dimension::Version => "version",
            Dimension::Host => "host",
            Dimension::Kind => "kind",
        }
    }
}

/// How the claims of a cause got into trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Their holders fell silent.
    Silent,
    /// Their holders give signs of life, and do not finish.
    Hanging,
}

/// One cause and what it explains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    pub by: Dimension,
    /// The hosts, kinds, versions or sources; several if they fell silent together.
    pub names: Vec<String>,
    pub trouble: Trouble,
    /// The claims it explains, as numbers of [`Facts::claims`].
    pub claims: Vec<usize>,
    /// So many claims these stand for, and so many there are of the group in all.
    pub count: u64,
    pub of: u64,
    /// Not all claims were read: the counts are estimates.
    pub is_estimate: bool,
    /// The silent holders, or those of the hanging claims, and all holders of the group.
    pub holders: usize,
    pub of_holders: usize,
    /// When it began.
    pub since: Option<Moment>,
    /// Within which time it hit them; nothing, if one by one.
    pub spread: Option<Span>,
    pub touched: Touched,
}

impl Cause {
    fn new(by: Dimension, name: &str, trouble: Trouble) -> Cause {
        Cause {
            by,
            names: if name.is_empty() { Vec::new() } else { vec![name.to_owned()] },
            trouble,
            claims: Vec::new(),
            count: 0,
            of: 0,
            is_estimate: false,
            holders: 0,
            of_holders: 0,
            since: None,
            spread: None,
            touched: Touched::default(),
        }
    }
}

/// What the claims of a cause touch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Touched {
    pub boards: BTreeSet<String>,
    pub sources: BTreeSet<String>,
    /// The ids of the locks among them.
    pub locks: Vec<String>,
    /// The hosts of their holders, and whether those are all that hold claims of the group.
    pub hosts: usize,
    pub all_hosts: bool,
    /// The commonest reason, if any is known.
    pub reason: Option<Reason>,
    /// Their holders are sessions of a registry.
    pub are_sessions: bool,
}

/// Fewer claims in trouble, or a smaller share of them, are no cause.
const FEWEST: u64 = 5;
const SMALLEST_SHARE: f64 = 0.05;

/// The causes that explain the facts, the one that explains most first.
pub fn find(facts: &Facts) -> Vec<Cause> {
    let troubled = facts.troubled();
    let all = facts.count(&troubled);
    if all < FEWEST {
        return Vec::new();
    }
    let mut left: BTreeSet<usize> = troubled.iter().copied().collect();
    let mut causes: Vec<Cause> = Vec::new();
    loop {
        let mut candidates = silence::candidates(facts, &left);
        candidates.extend(hanging::candidates(facts, &left));
        candidates.retain(|cause| {
            let gain = gain(facts, cause, &left);
            gain >= FEWEST && gain as f64 >= SMALLEST_SHARE * all as f64
        });
        // Of two that explain the same the coarser one is the cause of the other.
        candidates.sort_by(|a, b| gain(facts, b, &left).cmp(&gain(facts, a, &left)).then(a.by.cmp(&b.by)));
        let Some(best) = candidates.into_iter().next() else { break };
        for claim in &best.claims {
            left.remove(claim);
        }
        causes.push(best);
    }
    let mut causes = merged(causes);
    for cause in &mut causes {
        cause.count = facts.count(&cause.claims);
        cause.is_estimate = cause.claims.iter().any(|at| facts.claims[*at].count > 1);
        cause.touched = touched::by(facts, cause);
    }
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.count));
    causes
}

fn gain(facts: &Facts, cause: &Cause, left: &BTreeSet<usize>) -> u64 {
    facts.count(cause.claims.iter().filter(|claim| left.contains(claim)))
}

/// Groups of one dimension that fell silent at one moment are one cause: "hosts a, b and c".
fn merged(causes: Vec<Cause>) -> Vec<Cause> {
    let mut all: Vec<Cause> = Vec::new();
    for cause in causes {
        let same = all.iter_mut().find(|known| {
            let together = match (known.since, cause.since, known.spread, cause.spread) {
                (Some(a), Some(b), Some(spread), Some(_)) => {
                    a.since(b).abs() <= spread.plus(Span::seconds(10))
                }
                _ => false,
            };
            known.by == cause.by && known.trouble == cause.trouble && together
        });
        match same {
            Some(known) => {
                known.names.extend(cause.names);
                known.claims.extend(cause.claims);
                known.of += cause.of;
                known.holders += cause.holders;
                known.of_holders += cause.of_holders;
                known.since = known.since.min(cause.since);
                known.spread = known.spread.max(cause.spread);
            }
            None => all.push(cause),
        }
    }
    all
}
