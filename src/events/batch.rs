//! Replaces many events of one kind by one event that counts them.

use std::collections::BTreeMap;
use std::time::Instant;

use super::event::{ClaimContext, Event, SourceContext};
use super::event_kind::EventKind;
use crate::domain::time::Span;

/// A kind with more events than this is reported as one batch, unless the user sets another number.
pub const BOUND: usize = 50;

/// How many claims a batch lists by address.
const NAMED: usize = 10;

/// How events are combined before they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batching {
    /// A kind with more events than this becomes one batch event.
    pub above: usize,
    /// How long events are collected; zero writes those of each poll or run at its end.
    pub every: Span,
    pub single: SingleEvents,
}

/// Whether events about single claims are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SingleEvents {
    Written,
    /// Only their numbers are, as batch events.
    Counted,
}

impl Default for Batching {
    fn default() -> Batching {
        Batching { above: BOUND, every: Span::ZERO, single: SingleEvents::Written }
    }
}

impl Batching {
    fn most(&self) -> usize {
        match self.single {
            SingleEvents::Written => self.above,
            SingleEvents::Counted => 0,
        }
    }
}

/// Events that wait to be written together.
#[derive(Debug, Default)]
pub struct EventCollector {
    batching: Batching,
    waiting: Vec<Event>,
    since: Option<Instant>,
}

impl EventCollector {
    pub fn new(batching: Batching) -> EventCollector {
        EventCollector { batching, ..EventCollector::default() }
    }

    /// Adds events; returns those that are due now.
    pub fn add(&mut self, events: Vec<Event>, now: Instant) -> Vec<Event> {
        if events.is_empty() && self.waiting.is_empty() {
            return Vec::new();
        }
        self.waiting.extend(events);
        let since = *self.since.get_or_insert(now);
        if now.saturating_duration_since(since) < self.batching.every.duration() {
            return Vec::new();
        }
        self.rest()
    }

    /// All events that still wait.
    pub fn rest(&mut self) -> Vec<Event> {
        self.since = None;
        batched(std::mem::take(&mut self.waiting), &self.batching)
    }
}

/// What is combined into one batch: events of one kind on one source.
type BatchKey = (EventKind, String);

/// Each kind with more events on a source than the limit becomes one batch event, at the position of its first event.
/// Events that are not about a single claim stay as they are.
pub fn batched(events: Vec<Event>, batching: &Batching) -> Vec<Event> {
    let key = |event: &Event| -> Option<BatchKey> { Some((event.kind(), event.about()?.source.clone())) };
    let mut kinds: BTreeMap<BatchKey, Vec<usize>> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        if let Some(key) = key(event) {
            kinds.entry(key).or_default().push(at);
        }
    }
    kinds.retain(|_, places| places.len() > batching.most());
    if kinds.is_empty() {
        return events;
    }
    let batches: BTreeMap<BatchKey, Event> = kinds
        .iter()
        .filter_map(|(key, places)| Some((key.clone(), batch(key.0, places, &events)?)))
        .collect();
    let mut told = Vec::new();
    for (at, event) in events.into_iter().enumerate() {
        let batch = key(&event).and_then(|key| Some((kinds.get(&key)?, batches.get(&key)?)));
        match batch {
            None => told.push(event),
            Some((places, batch)) if places.first() == Some(&at) => told.push(batch.clone()),
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
