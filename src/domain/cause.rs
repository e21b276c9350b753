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
mod hanging;
mod hosts;
mod sentence;
mod silence;

pub use facts::{ClaimFact, Facts, HolderFact};
pub use hosts::hosts_of_names;

use std::collections::BTreeSet;

use super::time::{Moment, Span};

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
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    pub by: Dimension,
    /// The hosts, kinds, versions or sources; several if they fell silent together.
    pub names: Vec<String>,
    pub trouble: Trouble,
    /// The claims it explains, as numbers of [`Facts::claims`].
    pub claims: Vec<usize>,
    /// So many claims of the group there are in all.
    pub of: usize,
    /// The silent holders, or those of the hanging claims.
    pub holders: usize,
    /// When it began.
    pub since: Option<Moment>,
    /// Within which time it hit them; nothing, if one by one.
    pub spread: Option<Span>,
}

/// Fewer claims in trouble, or a smaller share of them, are no cause.
const FEWEST: usize = 5;
const SMALLEST_SHARE: f64 = 0.05;

/// The causes that explain the facts, the one that explains most first.
pub fn find(facts: &Facts) -> Vec<Cause> {
    let troubled = facts.troubled();
    let mut left: BTreeSet<usize> = troubled.iter().copied().collect();
    let mut causes: Vec<Cause> = Vec::new();
    loop {
        let mut candidates = silence::candidates(facts, &left);
        candidates.extend(hanging::candidates(facts, &left));
        candidates.retain(|cause| explains_enough(cause, &left, troubled.len()));
        // Of two that explain the same the coarser one is the cause of the other.
        candidates.sort_by(|a, b| gain(b, &left).cmp(&gain(a, &left)).then(a.by.cmp(&b.by)));
        let Some(best) = candidates.into_iter().next() else { break };
        for claim in &best.claims {
            left.remove(claim);
        }
        causes.push(best);
    }
    merged(causes)
}

fn gain(cause: &Cause, left: &BTreeSet<usize>) -> usize {
    cause.claims.iter().filter(|claim| left.contains(claim)).count()
}

fn explains_enough(cause: &Cause, left: &BTreeSet<usize>, troubled: usize) -> bool {
    let gain = gain(cause, left);
    gain >= FEWEST && gain as f64 >= SMALLEST_SHARE * troubled as f64
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
                known.since = known.since.min(cause.since);
                known.spread = known.spread.max(cause.spread);
            }
            None => all.push(cause),
        }
    }
    all.sort_by_key(|cause| std::cmp::Reverse(cause.claims.len()));
    all
}
