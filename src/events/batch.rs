//! Above a bound, one event stands for all of its kind.

use std::collections::BTreeMap;

use super::event::{About, Event, OfSource};
use super::what::What;

/// So many events of one kind in one pass are told one by one.
pub const BOUND: usize = 50;

/// How many of the claims a batch names.
const NAMED: usize = 10;

/// The events of one pass on one source, where each kind with more than [`BOUND`] of them is told in
/// one event, in the place of its first. Events that are not of a single claim stay as they are.
pub fn batched(events: Vec<Event>) -> Vec<Event> {
    let mut kinds: BTreeMap<What, Vec<usize>> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        if event.about().is_some() {
            kinds.entry(event.what()).or_default().push(at);
        }
    }
    kinds.retain(|_, places| places.len() > BOUND);
    if kinds.is_empty() {
        return events;
    }
    let batches: BTreeMap<What, Event> =
        kinds.iter().filter_map(|(what, places)| Some((*what, batch(*what, places, &events)?))).collect();
    let mut told = Vec::new();
    for (at, event) in events.into_iter().enumerate() {
        match kinds.get(&event.what()).filter(|_| event.about().is_some()) {
            None => told.push(event),
            Some(places) if places.first() == Some(&at) => told.extend(batches.get(&event.what()).cloned()),
            Some(_) => {}
        }
    }
    told
}

fn batch(what: What, places: &[usize], events: &[Event]) -> Option<Event> {
    let About { source, profile, timestamp, by, .. } = events.get(*places.first()?)?.about()?;
    let of = OfSource { source: source.clone(), profile: profile.clone(), timestamp: *timestamp };
    let first = places.iter().take(NAMED).map(|at| events[*at].address().to_owned()).collect();
    Some(Event::Batch { what, count: places.len(), first, by: *by, of })
}
