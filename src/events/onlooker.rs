//! Who remembers the last look at a source, and compares it with the next.

use super::event::{Event, millis};
use super::look::Look;
use super::reveal::{Again, Sight, reveal};
use crate::domain::time::Moment;
use crate::domain::visible::safe;

/// The last look at one source.
#[derive(Debug, Clone)]
pub struct Onlooker {
    source: String,
    before: Option<Look>,
    is_blind: bool,
}

impl Onlooker {
    /// Nothing was seen yet: the first look is no news.
    pub fn new(source: &str) -> Onlooker {
        Onlooker { source: source.into(), before: None, is_blind: false }
    }

    /// What the next look reveals, in the order in which it is told. `again` reads a claim that is no
    /// longer among the rows by its key.
    pub fn see(&mut self, look: Look, at: Moment, again: &mut dyn FnMut(&Sight<'_>) -> Again) -> Vec<Event> {
        let mut events = Vec::new();
        if std::mem::take(&mut self.is_blind) {
            events.push(Event::SourceBack { source: self.source.clone(), timestamp: millis(at) });
        }
        if let Some(before) = &self.before {
            events.extend(reveal(&self.source, before, &look, again));
        }
        self.before = Some(look);
        events.sort_by(|one, other| (one.what(), one.address()).cmp(&(other.what(), other.address())));
        events
    }

    /// Claims that were taken by whoever asks: that they are gone is no news.
    pub fn took(&mut self, addresses: &[String]) {
        for board in self.before.iter_mut().flat_map(|look| look.boards.values_mut()) {
            board.claims.retain(|address, _| !addresses.contains(address));
        }
    }

    /// A look that failed; told once, however often it fails. What was seen before is kept.
    pub fn fail(&mut self, why: &str, at: Moment) -> Option<Event> {
        let is_news = !std::mem::replace(&mut self.is_blind, true);
        let source = self.source.clone();
        is_news.then(|| Event::SourceLost { why: safe(why), source, timestamp: millis(at) })
    }
}
