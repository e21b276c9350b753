//! Which of the claims the next transaction takes.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use super::super::actor::{Actor, Turn};
use super::super::look;
use super::super::many::{held, name};
use crate::store::StoreError;
use crate::store::seen::Seen;

/// What the next transaction is for.
pub(super) enum Lead<'a, 'b> {
    Take(Leading<'a, 'b>),
    /// Nothing: the claims from this place on are a better choice.
    GoTo(usize),
}

/// The claims of one transaction.
pub(super) struct Leading<'a, 'b> {
    pub(super) all: &'a [&'b Seen],
    /// Of each whether it is left to be taken, as far as that was asked.
    pub(super) left: Vec<bool>,
}

/// How many claims tell where to go on.
const SAMPLES: usize = 64;

impl Actor {
    /// As many of the claims as the next transaction takes. Several who work from the worst down would meet at
    /// every step: where somebody else was quicker, a few of the others tell where to go on.
    pub(super) fn leading<'a, 'b>(
        &mut self,
        turn: &Turn,
        all: &'a [&'b Seen],
    ) -> Result<Lead<'a, 'b>, StoreError> {
        let next = &all[..all.len().min(self.stride.claims)];
        let unasked = Lead::Take(Leading { all: next, left: vec![true; next.len()] });
        let Actor { reader, link: Some(link), stride } = self else { return Ok(unasked) };
        let Some(watch) = next.first().and_then(|first| look::at(&reader.watched, first.place)) else {
            return Ok(unasked);
        };
        if !std::mem::take(&mut stride.contended) {
            return Ok(unasked);
        }
        let mut ask = |some: &[&Seen]| {
            let found = held(link, watch, turn, some);
            found.map_err(|error| reader.options.sentence(&error, "looking for claims that are left"))
        };
        if all.len() > stride.claims {
            let places: Vec<usize> = (0..SAMPLES).map(|sample| sample * all.len() / SAMPLES).collect();
            let sampled: Vec<&Seen> = places.iter().map(|place| all[*place]).collect();
            let found = ask(&sampled)?;
            let left = places.into_iter().filter(|place| found.contains(&name(all[*place])));
            let left: Vec<usize> = left.collect();
            if left.len() > SAMPLES / 8 {
                return Ok(Lead::GoTo(left[anywhere(left.len())]));
            }
        }
        // Few are left: then it pays to know which.
        let found = ask(all)?;
        let mut left = Vec::new();
        let mut count = 0;
        for seen in all {
            if count == stride.claims {
                break;
            }
            let is_left = found.contains(&name(seen));
            count += usize::from(is_left);
            left.push(is_left);
        }
        Ok(Lead::Take(Leading { all: &all[..left.len()], left }))
    }
}

/// A number below `limit` that two who work at the same time hardly have in common.
fn anywhere(limit: usize) -> usize {
    RandomState::new().hash_one(std::process::id()) as usize % limit.max(1)
}
