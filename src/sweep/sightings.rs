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
}

/// What earlier looks showed. Times are those of the machine since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sightings(BTreeMap<String, Sighting>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Sighting {
    mark: String,
    since_us: i64,
}

impl Sightings {
    /// Takes in what is shown at this time, and says of each whether it has stood still long enough.
    /// What is shown no longer is forgotten; what has changed starts anew.
    pub fn observe(&mut self, at: Span, shown: &[Shown]) -> Vec<bool> {
        let mut before = std::mem::take(&mut self.0);
        let mut ripe = Vec::with_capacity(shown.len());
        for one in shown {
            let known = before.remove(&one.address).filter(|sighting| sighting.mark == one.mark);
            let stood = known.as_ref().map(|sighting| at.as_micros() - sighting.since_us);
            ripe.push(stood.is_some_and(|stood| stood >= one.patience.as_micros()));
            let fresh = || Sighting { mark: one.mark.clone(), since_us: at.as_micros() };
            self.0.insert(one.address.clone(), known.unwrap_or_else(fresh));
        }
        ripe
    }

    /// Forgets everything: what is watched is watched anew.
    pub fn restart(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(mark: &str) -> Vec<Shown> {
        vec![Shown { address: "p/b/1".into(), mark: mark.into(), patience: Span::seconds(30) }]
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
}
