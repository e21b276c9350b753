//! Replaces many events of one kind by one event that counts them.

use std::collections::BTreeMap;

use super::event::{ClaimContext, Event, SourceContext};
use super::event_kind::EventKind;

/// A kind with more events than this in one pass is reported as one batch.
pub const BOUND: usize = 50;

/// How many claims a batch lists by address.
const NAMED: usize = 10;

/// The events of one pass on one source. Each kind with more than [`BOUND`] events becomes one batch event, at the
/// position of its first event. Events that are not about a single claim stay as they are.
pub fn batched(events: Vec<Event>) -> Vec<Event> {
    let mut kinds: BTreeMap<EventKind, Vec<usize>> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        if event.about().is_some() {
            kinds.entry(event.kind()).or_default().push(at);
        }
    }
    kinds.retain(|_, places| places.len() > BOUND);
    if kinds.is_empty() {
        return events;
    }
    let batches: BTreeMap<EventKind, Event> =
        kinds.iter().filter_map(|(what, places)| Some((*what, batch(*what, places, &events)?))).collect();
    let mut told = Vec::new();
    for (at, event) in events.into_iter().enumerate() {
        match kinds.get(&event.kind()).filter(|_| event.about().is_some()) {
            None => told.push(event),
            Some(places) if places.first() == Some(&at) => told.extend(batches.get(&event.kind()).cloned()),
            Some(_) => {}
        }
    }
    told
}

fn batch(what: EventKind, places: &[usize], events: &[Event]) -> Option<Event> {
    let ClaimContext { source, profile, timestamp, by, .. } = events.get(*places.first()?)?.about()?;
    let of = SourceContext { source: source.clone(), profile: profile.clone(), timestamp: *timestamp };
    let first = places.iter().take(NAMED).map(|at| events[*at].address().to_owned()).collect();
    Some(Event::Batch { what, count: places.len(), first, by: *by, of })
}
