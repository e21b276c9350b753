//! What comes of a bulk act: one tally for its preview, its result, its JSON and its exit code.
//!
//! A preview and a result are the same type, filled by the same outcomes: the preview with those that the
//! rules foretell, the result with those that the acts came to.

use std::borrow::Cow;

use super::recovery::{Needs, Outcome, PermissionCause, Refusal};

/// Different reasons are kept up to this many; a database can refuse every row with a sentence of its own.
const MOST_REASONS: usize = 12;
/// Stands for all reasons that there is no room for.
const OTHER_REASONS: &str = "other reasons";

/// What came, or would come, of the claims of a bulk act.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BulkTally {
    /// The claims that the act was asked for.
    pub wanted: usize,
    pub applied: usize,
    pub refused: usize,
    pub moved: usize,
    pub unknown: usize,
    /// Why some were not done, in the order in which it first happened.
    pub reasons: Vec<NotDone>,
    /// Why the act ended before all were tried.
    pub stopped: Option<String>,
}

/// Claims that were not done, all for the same reason.
#[derive(Debug, Clone, PartialEq)]
pub struct NotDone {
    /// What they have in common.
    pub why: Cow<'static, str>,
    pub count: usize,
    /// The first of them, and what came of it.
    pub example: String,
    pub outcome: Outcome,
}

impl BulkTally {
    pub fn of(wanted: usize) -> BulkTally {
        BulkTally { wanted, ..BulkTally::default() }
    }

    /// Counts what came of one claim; `id` names it.
    pub fn add(&mut self, outcome: &Outcome, id: impl FnOnce() -> String) {
        let (count, why) = match outcome {
            Outcome::Applied => {
                self.applied += 1;
                return;
            }
            Outcome::Refused(refusal) => (&mut self.refused, refusal.in_common()),
            Outcome::Moved(_) => (&mut self.moved, "changed meanwhile".into()),
            Outcome::Unknown(unknown) => (&mut self.unknown, unknown.to_string().into()),
        };
        *count += 1;
        let is_full = self.reasons.len() >= MOST_REASONS;
        let is_it = |one: &NotDone, why: &str| one.outcome.as_str() == outcome.as_str() && one.why == why;
        let is_known = self.reasons.iter().any(|one| is_it(one, &why));
        let why = if is_known || !is_full { why } else { OTHER_REASONS.into() };
        match self.reasons.iter_mut().find(|one| is_it(one, &why)) {
            Some(one) => one.count += 1,
            None => self.reasons.push(NotDone { why, count: 1, example: id(), outcome: outcome.clone() }),
        }
    }

    /// So many that need their holder's name will be done after all: it was given.
    pub fn include_named(&mut self, count: usize) {
        self.applied += count;
        self.refused -= count.min(self.refused);
        let (mut left, needs_name) = (count, |one: &NotDone| needs_name(&one.outcome));
        for one in self.reasons.iter_mut().filter(|one| needs_name(one)) {
            let now = left.min(one.count);
            one.count -= now;
            left -= now;
        }
        self.reasons.retain(|one| one.count > 0);
    }

    /// A tally to count the results in, after this preview: what it foretold to be skipped is not tried.
    pub fn without_applied(&self) -> BulkTally {
        BulkTally { applied: 0, ..self.clone() }
    }

    /// How many came to something.
    pub fn tried(&self) -> usize {
        self.applied + self.refused + self.moved + self.unknown
    }

    /// How many were left when the act stopped.
    pub fn not_tried(&self) -> usize {
        self.wanted.saturating_sub(self.tried())
    }

    /// What was not done, as counts: "2 refused, 1 moved, 40 not tried"; empty if all was done.
    pub fn not_done(&self) -> String {
        let counts = [
            (self.refused, "refused"),
            (self.moved, "moved"),
            (self.unknown, "with unknown outcome"),
            (self.not_tried(), "not tried"),
        ];
        let some = counts.iter().filter(|(count, _)| *count > 0);
        some.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
    }
}

/// Whether all that an act lacks is the name of the holder, which may be alive.
pub fn needs_name(outcome: &Outcome) -> bool {
    let Outcome::Refused(Refusal::NotPermitted { cause, needs }) = outcome else { return false };
    *cause == PermissionCause::HolderMayLive && matches!(needs, Needs::Holder { .. })
}

/// What a preview foresees of one claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreseen {
    Done,
    /// It is done only if its holder is named.
    NeedsName,
    Skipped,
}

impl Foreseen {
    pub const ALL: [Foreseen; 3] = [Foreseen::Done, Foreseen::NeedsName, Foreseen::Skipped];

    pub fn of(outcome: &Outcome) -> Foreseen {
        match outcome {
            Outcome::Applied => Foreseen::Done,
            outcome if needs_name(outcome) => Foreseen::NeedsName,
            _ => Foreseen::Skipped,
        }
    }
}

impl NotDone {
    /// Why the first of them was not done, and which options would allow it.
    pub fn said(&self) -> String {
        self.outcome.why().unwrap_or_default()
    }

    /// Whether what they have in common is all there is to say of the first.
    pub fn is_all_said(&self) -> bool {
        self.outcome.cause().is_none_or(|cause| cause == self.why)
    }

    /// The first of them, and why exactly it was not done, without the options that would allow it.
    pub fn in_full(&self) -> String {
        format!("{}: {}", self.example, self.outcome.cause().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::change::ClaimChange;
    use crate::domain::recovery::{Clue, Moved, Unknown};
    use crate::domain::time::Span;

    fn tally(outcomes: &[Outcome]) -> BulkTally {
        let mut tally = BulkTally::of(outcomes.len() + 1);
        for (at, outcome) in outcomes.iter().enumerate() {
            tally.add(outcome, || format!("task-{at}"));
        }
        tally
    }

    #[test]
    fn every_outcome_is_counted_once_and_the_rest_was_not_tried() {
        let renewed = ClaimChange::Renewed { by: Some("w7".into()), ago: Some(Span::seconds(2)) };
        let tally = tally(&[
            Outcome::Applied,
            Outcome::Refused(Refusal::Database("the disk is full".into())),
            Outcome::Moved(Moved::Claim(renewed)),
            Outcome::Moved(Moved::Claim(ClaimChange::TakenBy(Some("w8".into())))),
            Outcome::Unknown(Unknown { error: "the answer was lost".into(), clue: Clue::NotSought }),
            Outcome::Refused(Refusal::Database("the disk is full".into())),
        ]);
        assert_eq!((tally.applied, tally.refused, tally.moved, tally.unknown), (1, 2, 2, 1));
        assert_eq!((tally.tried(), tally.not_tried()), (6, 1));
        assert_eq!(tally.not_done(), "2 refused, 2 moved, 1 with unknown outcome, 1 not tried");
        let reasons: Vec<(usize, &str)> = tally.reasons.iter().map(|one| (one.count, &*one.why)).collect();
        let expected = [(2, "the disk is full"), (2, "changed meanwhile"), (1, "the answer was lost")];
        assert_eq!(reasons, expected);
        assert_eq!(tally.reasons[1].in_full(), "task-2: renewed 2s ago by w7");
    }

    #[test]
    fn a_thousand_different_reasons_take_no_room() {
        let outcomes: Vec<Outcome> =
            (0..1_000).map(|at| Outcome::Refused(Refusal::Row(format!("refused for reason {at}")))).collect();
        let tally = tally(&outcomes);
        assert_eq!((tally.refused, tally.reasons.len()), (1_000, MOST_REASONS + 1));
        assert_eq!(tally.reasons.iter().map(|one| one.count).sum::<usize>(), 1_000);
    }
}
