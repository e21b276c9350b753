//! Which of the claims the next transaction takes.

use std::collections::BTreeSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use super::super::actor::Actor;
use super::super::look;
use super::super::many;
use crate::store::StoreError;
use crate::store::seen::Seen;

/// The claims of one transaction.
pub(super) struct Leading<'a, 'b> {
    pub(super) all: &'a [&'b Seen],
    /// So many before them are known to be gone.
    pub(super) passed: usize,
}

impl Leading<'_, '_> {
    /// The number of a claim in the batch.
    pub(super) fn number(&self, at: usize) -> usize {
        self.passed + at + 1
    }
}

/// How many claims tell where to go on.
const SAMPLES: usize = 64;

impl Actor {
    /// As many of the claims as the next transaction takes. Several who work from the worst down would meet at
    /// every step: who has met others asks which of the next claims are left, and passes over those that are
    /// not. They come first then.
    pub(super) fn leading<'a, 'b>(&mut self, all: &'a mut [&'b Seen]) -> Result<Leading<'a, 'b>, StoreError> {
        let stride = self.stride;
        let passed = match all.first().copied() {
            Some(first) if stride.met_others => {
                let few_are_left = stride.contended && self.go_elsewhere(first, all)?;
                let next = if few_are_left { all.len() } else { all.len().min(2 * stride.claims) };
                self.pass_over(first, &mut all[..next])?
            }
            _ => 0,
        };
        let left = &all[passed..];
        Ok(Leading { all: &left[..left.len().min(stride.claims)], passed })
    }

    /// Puts claims first that nobody else is at work on for a good while, as a few tell; if there are hardly
    /// any, says so.
    fn go_elsewhere(&mut self, first: &Seen, all: &mut [&Seen]) -> Result<bool, StoreError> {
        let places: Vec<usize> = (0..SAMPLES).map(|sample| sample * all.len() / SAMPLES).collect();
        let sampled: Vec<&Seen> = places.iter().map(|place| all[*place]).collect();
        let left = self.unchanged(first, &sampled)?;
        if left.len() <= SAMPLES / 8 {
            return Ok(true);
        }
        let way = |sample: usize| (sample..SAMPLES).take_while(|sample| left.contains(sample)).count();
        let longest = left.iter().map(|sample| way(*sample)).max().unwrap_or_default();
        let good: Vec<usize> = left.iter().copied().filter(|sample| 2 * way(*sample) >= longest).collect();
        all.rotate_left(places[good[anywhere(good.len())]]);
        Ok(false)
    }

    /// Puts those first that are not as they were: how many.
    fn pass_over(&mut self, first: &Seen, all: &mut [&Seen]) -> Result<usize, StoreError> {
        let unchanged = self.unchanged(first, all)?;
        let mut sorted: Vec<(bool, &Seen)> =
            all.iter().enumerate().map(|(at, seen)| (unchanged.contains(&at), *seen)).collect();
        // Apart from that they stay in their order.
        sorted.sort_by_key(|(is_left, _)| *is_left);
        for (place, (_, seen)) in all.iter_mut().zip(sorted) {
            *place = seen;
        }
        Ok(all.len() - unchanged.len())
    }

    /// Which of the claims, all of one board, still have the row that was seen.
    pub(super) fn unchanged(&mut self, first: &Seen, all: &[&Seen]) -> Result<BTreeSet<usize>, StoreError> {
        let Actor { reader, link: Some(link), .. } = self else { return Ok(BTreeSet::new()) };
        let Some(watch) = look::at(&reader.watched, first.place) else { return Ok(BTreeSet::new()) };
        let found = many::unchanged(link, watch, all);
        found.map_err(|error| reader.options.sentence(&error, "looking for claims that are left"))
    }
}

/// A number below `limit` that two who work at the same time hardly have in common.
fn anywhere(limit: usize) -> usize {
    RandomState::new().hash_one(std::process::id()) as usize % limit.max(1)
}
