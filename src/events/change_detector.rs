//! Who remembers the last look at a source, and compares it with the next.

use std::collections::BTreeSet;

use super::event::{Event, millis};
use super::look::Look;
use super::reveal::{Again, ObservedClaim, reveal};
use crate::domain::board_id::BoardId;
use crate::domain::seen_boards::{GONE, gone};
use crate::domain::time::{Moment, Span};
use crate::domain::visible::safe;

/// The last look at one source.
#[derive(Debug, Clone)]
pub struct ChangeDetector {
    source: String,
    before: Option<Look>,
    is_blind: bool,
    /// Boards that were there before and are not now.
    missing: BTreeSet<BoardId>,
    /// When another database took the place of the one before.
    replaced_at: Option<Moment>,
}

/// That a database was replaced is shown for so long; the log keeps it.
const REPLACED: Span = Span::minutes(10);
const ANOTHER: &str = "this is another database than before: replaced, or restored from a backup; \
     what was done to the one before cannot be undone here";

impl ChangeDetector {
    /// Nothing was seen yet: the first look is no news.
    pub fn new(source: &str) -> ChangeDetector {
        ChangeDetector {
            source: source.into(),
            before: None,
            is_blind: false,
            missing: BTreeSet::new(),
            replaced_at: None,
        }
    }

    /// What the next look reveals, in the order in which it is told. `again` reads a claim that is no
    /// longer among the rows by its key; if it finds out that the source is lost, nothing was seen.
    pub fn see<E>(
        &mut self,
        mut look: Look,
        at: Moment,
        again: &mut dyn FnMut(&ObservedClaim<'_>) -> Result<Again, E>,
    ) -> Result<Vec<Event>, E> {
        let mut events = Vec::new();
        let is_another = self.before.as_ref().is_some_and(|before| before.database != look.database);
        // What another database holds says nothing of what became of the claims in this one.
        let before = self.before.as_ref().filter(|_| !is_another);
        if let Some(before) = before {
            let mut lost = None;
            events.extend(reveal(&self.source, before, &look, &mut |sight| match &lost {
                None => again(sight).unwrap_or_else(|error| {
                    lost = Some(error);
                    Again::Unknown
                }),
                Some(_) => Again::Unknown,
            }));
            if let Some(error) = lost {
                return Err(error);
            }
        }
        if std::mem::take(&mut self.is_blind) {
            events.push(Event::SourceBack { source: self.source.clone(), timestamp: millis(at) });
        }
        if is_another {
            self.missing.clear();
            self.replaced_at = Some(at);
            events.push(self.changed(ANOTHER, None, at));
        } else {
            events.extend(self.boards_that_came_or_went(&mut look, at));
        }
        self.before = Some(look);
        events.sort_by(|one, other| (one.what(), one.address()).cmp(&(other.what(), other.address())));
        Ok(events)
    }

    /// A board that is gone may come back: what was seen of it is kept until then.
    fn boards_that_came_or_went(&mut self, look: &mut Look, at: Moment) -> Vec<Event> {
        let mut events = Vec::new();
        let back: Vec<_> =
            self.missing.iter().filter(|name| look.boards.contains_key(*name)).cloned().collect();
        for name in back {
            self.missing.remove(&name);
            events.push(self.changed("back again", Some(&name), at));
        }
        let Some(before) = self.before.take() else { return events };
        for (name, board) in before.boards {
            if let std::collections::btree_map::Entry::Vacant(place) = look.boards.entry(name.clone()) {
                place.insert(board);
                if self.missing.insert(name.clone()) {
                    events.push(self.changed(GONE, Some(&name), at));
                }
            }
        }
        events
    }

    fn changed(&self, why: &str, board: Option<&BoardId>, at: Moment) -> Event {
        Event::SourceChanged {
            why: why.into(),
            source: self.source.clone(),
            profile: board.map(|board| board.profile().to_owned()),
            board: board.map(|board| board.board().to_owned()),
            timestamp: millis(at),
        }
    }

    /// How the source is no longer what it was, as long as that is so or news.
    pub fn warnings(&self, now: Moment) -> Vec<String> {
        let replaced = self.replaced_at.filter(|at| now.since(*at) < REPLACED).map(|_| ANOTHER.to_owned());
        replaced.into_iter().chain(self.missing.iter().map(gone)).collect()
    }

    /// The profiles of the boards that were seen last.
    pub fn profiles(&self) -> BTreeSet<&str> {
        let boards = self.before.iter().flat_map(|look| look.boards.keys());
        boards.map(BoardId::profile).collect()
    }

    /// Claims that were taken by whoever asks: that they are gone is no news.
    pub fn took(&mut self, addresses: &[String]) {
        for board in self.before.iter_mut().flat_map(|look| look.boards.values_mut()) {
            board.claims.retain(|address, _| !addresses.contains(address));
        }
    }

    /// A look that failed, and why, without the name of the source; told once, however often it fails. What was
    /// seen before is kept.
    pub fn fail(&mut self, why: &str, at: Moment) -> Option<Event> {
        let is_news = !std::mem::replace(&mut self.is_blind, true);
        let source = self.source.clone();
        is_news.then(|| Event::SourceLost { why: safe(why), source, timestamp: millis(at) })
    }
}
