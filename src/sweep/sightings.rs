//! Has a claim's row stood still while we watched?
//!
//! The times in a row were written by other clocks. That a row has not changed for as long as its
//! holder may take between two renewals is seen by our own clock alone, one that only runs forward.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::domain::time::Span;

/// A claim that a sweep would take, as one look shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub address: String,
    /// Stands for the state of its row, and of its session's where that counts.
    pub mark: String,
    /// How long it must have stood still.
    pub patience: Span,
    pub needs: Needs,
}

/// How often a claim must be seen before it is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Once: the database stamped its times, and nothing speaks against them.
    OneLook,
    /// Twice, and unchanged for as long as its holder may take.
    TwoLooks,
}

/// What earlier looks showed. Times are those of the machine since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sightings(BTreeMap<String, Sighting>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Sighting {
    mark: String,
    since_us: i64,
    /// One look would have been enough.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    trusted: bool,
}

/// One look, which takes in one claim after the other. What it does not show is forgotten.
#[derive(Debug)]
pub struct Look<'a> {
    sightings: &'a mut Sightings,
    before: BTreeMap<String, Sighting>,
    at: Span,
    most: usize,
}

impl Sightings {
    /// Begins a look at this time that remembers so many claims at most.
    pub fn look(&mut self, at: Span, most: usize) -> Look<'_> {
        let before = std::mem::take(&mut self.0);
        Look { sightings: self, before, at, most }
    }

    /// Takes in what is shown at this time, and says of each whether it may be taken.
    pub fn observe(&mut self, at: Span, shown: &[Shown]) -> Vec<bool> {
        let mut look = self.look(at, usize::MAX);
        shown.iter().map(|one| look.sees(one)).collect()
    }

    /// Forgets everything: what is watched is watched anew.
    pub fn restart(&mut self) {
        self.0.clear();
    }
}

impl Look<'_> {
    /// Whether this claim may be taken. One that has changed starts anew.
    pub fn sees(&mut self, one: &Shown) -> bool {
        let known = self.before.remove(&one.address).filter(|sighting| sighting.mark == one.mark);
        let was_trusted = known.as_ref().map(|sighting| sighting.trusted);
        let trusted = match one.needs {
            Needs::OneLook => was_trusted.unwrap_or(true),
            Needs::TwoLooks => false,
        };
        let stood = known.as_ref().map(|sighting| self.at.as_micros() - sighting.since_us);
        if !self.is_full() {
            let since_us = known.map_or(self.at.as_micros(), |sighting| sighting.since_us);
            let sighting = Sighting { mark: one.mark.clone(), since_us, trusted };
            self.sightings.0.insert(one.address.clone(), sighting);
        }
        trusted || stood.is_some_and(|stood| stood >= one.patience.as_micros())
    }

    /// Whether no more claims are remembered.
    pub fn is_full(&self) -> bool {
        self.sightings.0.len() >= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(mark: &str) -> Vec<Shown> {
        let (address, patience, needs) = ("p/b/1".into(), Span::seconds(30), Needs::TwoLooks);
        vec![Shown { address, mark: mark.into(), patience, needs }]
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
    fn one_sighting_is_never_enough_and_absence_forgets() {
        let mut sightings = Sightings::default();
        let proven = vec![Shown { patience: Span::ZERO, ..shown("a").remove(0) }];
        assert_eq!(sightings.observe(Span::seconds(5), &proven), [false]);
        assert_eq!(sightings.observe(Span::seconds(6), &proven), [true]);
        assert!(sightings.observe(Span::seconds(7), &[]).is_empty());
        assert_eq!(sightings.observe(Span::seconds(8), &proven), [false]);
    }

    #[test]
    fn what_the_database_stamped_needs_one_look_unless_it_was_doubted_before() {
        let one = |needs| vec![Shown { needs, ..shown("a").remove(0) }];
        let mut sightings = Sightings::default();
        assert_eq!(sightings.observe(Span::seconds(0), &one(Needs::OneLook)), [true]);
        assert_eq!(sightings.observe(Span::seconds(1), &one(Needs::OneLook)), [true], "left by a brake");
        sightings.restart();
        for (second, needs, taken) in [
            (0, Needs::TwoLooks, false),
            (1, Needs::OneLook, false),
            (29, Needs::OneLook, false),
            (30, Needs::OneLook, true),
        ] {
            assert_eq!(sightings.observe(Span::seconds(second), &one(needs)), [taken], "{second}");
        }
    }

    #[test]
    fn only_so_many_are_remembered() {
        let mut sightings = Sightings::default();
        let mut look = sightings.look(Span::ZERO, 2);
        for number in 0..5 {
            look.sees(&Shown { address: number.to_string(), ..shown("a").remove(0) });
        }
        assert!(look.is_full());
        assert_eq!(sightings.0.len(), 2);
    }
}
