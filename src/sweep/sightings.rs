//! Whether a claim's row stayed unchanged while we watched.
//!
//! Other clocks wrote the times in a row. That the row did not change for as long as its holder may take between two
//! renewals is measured by our own monotonic clock alone.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::domain::time::Span;

/// A claim that a sweep could take, as one run shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedCandidate {
    pub address: String,
    /// Identifies the state of its row, and of its session's row where that matters.
    pub mark: String,
    /// How long it must have stayed unchanged.
    pub unchanged_for: Span,
    pub needs: RequiredSightings,
}

/// How often a claim must be seen before it is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredSightings {
    /// Once: the database wrote its timestamps, and nothing contradicts them.
    OneLook,
    /// Twice, and unchanged for as long as its holder may take to renew it.
    TwoLooks,
}

/// What earlier runs showed. Times are times since boot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sightings(BTreeMap<String, ClaimSighting>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ClaimSighting {
    mark: String,
    since_us: i64,
    /// A single sighting would have been enough.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    trusted: bool,
}

/// One run, which examines one claim after the other. Claims that it does not show are forgotten.
#[derive(Debug)]
pub struct SightingPass<'a> {
    sightings: &'a mut Sightings,
    before: BTreeMap<String, ClaimSighting>,
    /// When the run began: no row was read before.
    at: Span,
    /// When the last rows had been read: none of them was read later.
    read_at: Span,
    most: usize,
}

impl Sightings {
    /// Begins a run at this time that remembers at most this many claims.
    pub fn look(&mut self, at: Span, most: usize) -> SightingPass<'_> {
        let before = std::mem::take(&mut self.0);
        SightingPass { sightings: self, before, at, read_at: at, most }
    }

    /// Examines all claims of a run at this time. Returns for each whether it may be taken.
    pub fn observe(&mut self, at: Span, shown: &[ObservedCandidate]) -> Vec<bool> {
        let mut look = self.look(at, usize::MAX);
        shown.iter().map(|one| look.may_take(one)).collect()
    }

    /// Forgets everything: all claims are watched again from the start.
    pub fn restart(&mut self) {
        self.0.clear();
    }
}

impl SightingPass<'_> {
    /// The rows that are examined next had been read by this time.
    pub fn rows_read_at(&mut self, at: Span) {
        self.read_at = at;
    }

    /// Whether this claim may be taken. A claim that has changed is watched from the start.
    pub fn may_take(&mut self, one: &ObservedCandidate) -> bool {
        let known = self.before.remove(&one.address).filter(|sighting| sighting.mark == one.mark);
        let was_trusted = known.as_ref().map(|sighting| sighting.trusted);
        let trusted = match one.needs {
            RequiredSightings::OneLook => was_trusted.unwrap_or(true),
            RequiredSightings::TwoLooks => false,
        };
        let stood = known.as_ref().map(|sighting| self.at.as_micros() - sighting.since_us);
        if !self.is_full() {
            // Dated when it had been read: a run may begin long before it reads a row.
            let since_us = known.map_or(self.read_at.as_micros(), |sighting| sighting.since_us);
            let sighting = ClaimSighting { mark: one.mark.clone(), since_us, trusted };
            self.sightings.0.insert(one.address.clone(), sighting);
        }
        trusted || stood.is_some_and(|stood| stood >= one.unchanged_for.as_micros())
    }

    /// Whether no further claim can be remembered.
    pub fn is_full(&self) -> bool {
        self.sightings.0.len() >= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(mark: &str) -> Vec<ObservedCandidate> {
        let (address, unchanged_for, needs) =
            ("p/b/1".into(), Span::seconds(30), RequiredSightings::TwoLooks);
        vec![ObservedCandidate { address, mark: mark.into(), unchanged_for, needs }]
    }

    #[test]
    fn a_row_is_ripe_once_it_has_stood_still_and_a_renewed_one_starts_anew() {
        let mut sightings = Sightings::default();
        let mut look = |second, mark| sightings.observe(Span::seconds(second), &shown(mark))[0];
        assert!(!look(0, "a"));
        assert!(!look(29, "a"));
        assert!(look(30, "a"));
        assert!(!look(40, "b"));
        assert!(!look(69, "b"));
        assert!(look(70, "b"));
    }

    #[test]
    fn a_row_that_is_read_late_in_a_run_has_not_stood_still_since_its_beginning() {
        let mut sightings = Sightings::default();
        let mut look = |began, read| {
            let mut look = sightings.look(Span::seconds(began), usize::MAX);
            look.rows_read_at(Span::seconds(read));
            look.may_take(&shown("a")[0])
        };
        assert!(!look(0, 29));
        assert!(!look(30, 59), "it was seen a second ago");
        assert!(look(59, 60));
    }

    #[test]
    fn one_sighting_is_never_enough_and_absence_forgets() {
        let mut sightings = Sightings::default();
        let proven = vec![ObservedCandidate { unchanged_for: Span::ZERO, ..shown("a").remove(0) }];
        assert_eq!(sightings.observe(Span::seconds(5), &proven), [false]);
        assert_eq!(sightings.observe(Span::seconds(6), &proven), [true]);
        assert!(sightings.observe(Span::seconds(7), &[]).is_empty());
        assert_eq!(sightings.observe(Span::seconds(8), &proven), [false]);
    }

    #[test]
    fn what_the_database_stamped_needs_one_look_unless_it_was_doubted_before() {
        let one = |needs| vec![ObservedCandidate { needs, ..shown("a").remove(0) }];
        let mut sightings = Sightings::default();
        assert_eq!(sightings.observe(Span::seconds(0), &one(RequiredSightings::OneLook)), [true]);
        assert_eq!(
            sightings.observe(Span::seconds(1), &one(RequiredSightings::OneLook)),
            [true],
            "left by a brake"
        );
        sightings.restart();
        for (second, needs, taken) in [
            (0, RequiredSightings::TwoLooks, false),
            (1, RequiredSightings::OneLook, false),
            (29, RequiredSightings::OneLook, false),
            (30, RequiredSightings::OneLook, true),
        ] {
            assert_eq!(sightings.observe(Span::seconds(second), &one(needs)), [taken], "{second}");
        }
    }

    #[test]
    fn only_so_many_are_remembered() {
        let mut sightings = Sightings::default();
        let mut look = sightings.look(Span::ZERO, 2);
        for number in 0..5 {
            look.may_take(&ObservedCandidate { address: number.to_string(), ..shown("a").remove(0) });
        }
        assert!(look.is_full());
        assert_eq!(sightings.0.len(), 2);
    }
}
