//! What happens to claims if nobody does anything.

use std::fmt;

use super::claim::Claim;
use super::rules::DeadlineRule;
use super::snapshot::Nature;
use super::time::{Moment, Span};
use super::verdict::Verdict;

/// Claims, by what becomes of them if they are left alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftAlone {
    /// A worker may take them at once.
    pub takeable: usize,
    /// The system frees them, or a worker may take them, within this time.
    pub later: usize,
    pub within: Span,
    /// They stay until a sweep or somebody takes them.
    pub stay: usize,
}

impl LeftAlone {
    /// Counts one more claim.
    pub fn add(&mut self, claim: &Claim, verdict: &Verdict, nature: &Nature, now: Moment) {
        let healed = nature.self_heals_after.zip(claim.sign_of_life()).map(|(after, sign)| sign.plus(after));
        let is_lease = matches!(nature.rules.deadline, DeadlineRule::Lease | DeadlineRule::Timeout);
        match healed.or(verdict.deadline.filter(|_| is_lease)) {
            Some(at) if at <= now => self.takeable += 1,
            Some(at) => {
                self.later += 1;
                self.within = self.within.max(at.since(now));
            }
            None => self.stay += 1,
        }
    }
}

impl fmt::Display for LeftAlone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.takeable > 0 {
            parts.push(format!("workers may take {} at once", self.takeable));
        }
        if self.later > 0 {
            parts.push(format!("{} within {}", self.later, self.within));
        }
        if self.stay > 0 {
            parts.push(format!("{} stay until a sweep or somebody takes them", self.stay));
        }
        f.write_str(&parts.join(", "))
    }
}
