//! Causes in several sources: what all of them have in common, and what happened in one of them alone.

use std::collections::BTreeSet;

use super::{Cause, Facts, find};

/// The causes in all these sources, the one that explains most first. A source in which much is silent by chance, such
/// as a test system, does not hide a dead host of another.
pub fn find_in_all(merged: &Facts, sources: &[&Facts]) -> Vec<Cause> {
    let mut causes = find(merged);
    if sources.len() < 2 {
        return causes;
    }
    let explained: BTreeSet<usize> = causes.iter().flat_map(|cause| &cause.claims).copied().collect();
    let mut first = 0;
    for facts in sources {
        for cause in find(facts) {
            let claims: Vec<usize> = cause.claims.iter().map(|claim| claim + first).collect();
            if !claims.iter().any(|claim| explained.contains(claim)) {
                causes.push(Cause { claims, ..cause });
            }
        }
        first += facts.claims.len();
    }
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.count));
    causes
}
