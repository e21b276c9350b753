//! Remembers the last poll of a source and compares it with the next.

use std::collections::BTreeSet;

use super::diff::{ObservedClaim, Reread, diff};
use super::event::{Event, millis};
use super::observed_source::ObservedSource;
use crate::domain::board_id::BoardId;
use crate::domain::seen_boards::{GONE, gone};
use crate::domain::time::{Moment, Span};
use crate::domain::visible::safe;

/// The last poll of one source.
#[derive(Debug, Clone)]
pub struct ChangeDetector {
    source: String,
    before: Option<ObservedSource>,
    is_blind: bool,
    /// Boards that existed before and are missing now.
    missing: BTreeSet<BoardId>,
    /// When another database replaced the one that was watched.
    replaced_at: Option<Moment>,
}

/// How long the warning about a replaced database is shown; the event log keeps it.
const REPLACED: Span = Span::minutes(10);
const ANOTHER: &str = "this is a different database than before: it was replaced or restored from a backup; \
     acts on the previous one cannot be undone here";

impl ChangeDetector {
    /// A detector without a past: the first poll causes no events.
    pub fn new(source: &str) -> ChangeDetector {
        ChangeDetector {
            source: source.into(),
            before: None,
            is_blind: false,
            missing: BTreeSet::new(),
            replaced_at: None,
        }
    }

    /// The events between the last poll and this one, in the order in which they are reported. `again` reads a claim
    /// by its key when the claim is no longer among the polled rows. If `again` fails, this poll counts as not seen.
    pub fn observe<E>(
        &mut self,
        mut look: ObservedSource,
        at: Moment,
        again: &mut dyn FnMut(&ObservedClaim<'_>) -> Result<Reread, E>,
    ) -> Result<Vec<Event>, E> {
        let mut events = Vec::new();
        let is_another = self.before.as_ref().is_some_and(|before| before.database != look.database);
        // Claims of a different database say nothing about what happened to the claims of this one.
        let before = self.before.as_ref().filter(|_| !is_another);
        if let Some(before) = before {
            let mut lost = None;
            events.extend(diff(&self.source, before, &look, &mut |observed| match &lost {
                None => again(observed).unwrap_or_else(|error| {
                    lost = Some(error);
                    Reread::Unknown
                }),
                Some(_) => Reread::Unknown,
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
        events.sort_by(|one, other| (one.kind(), one.address()).cmp(&(other.kind(), other.address())));
        Ok(events)
    }

    /// A missing board may come back: its last observation is kept until then.
    fn boards_that_came_or_went(&mut self, look: &mut ObservedSource, at: Moment) -> Vec<Event> {
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

    /// Warnings about a replaced database (for a while) and about missing boards (while they are missing).
    pub fn warnings(&self, now: Moment) -> Vec<String> {
        let replaced = self.replaced_at.filter(|at| now.since(*at) < REPLACED).map(|_| ANOTHER.to_owned());
        replaced.into_iter().chain(self.missing.iter().map(gone)).collect()
    }

    /// The profiles of the boards that were observed last.
    pub fn profiles(&self) -> BTreeSet<&str> {
        let boards = self.before.iter().flat_map(|look| look.boards.keys());
        boards.map(BoardId::profile).collect()
    }

    /// Forgets claims that the caller itself took, so that their disappearance is not reported.
    pub fn took(&mut self, addresses: &[String]) {
        for board in self.before.iter_mut().flat_map(|look| look.boards.values_mut()) {
            board.claims.retain(|address, _| !addresses.contains(address));
        }
    }

    /// Records a failed poll. The first failure in a row returns an event; `why` does not contain the source's name.
    /// The last observation is kept.
    pub fn fail(&mut self, why: &str, at: Moment) -> Option<Event> {
        let is_news = !std::mem::replace(&mut self.is_blind, true);
        let source = self.source.clone();
        is_news.then(|| Event::SourceLost { why: safe(why), source, timestamp: millis(at) })
    }
}
