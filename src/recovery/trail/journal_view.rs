//! Finds acts in the journal: open ones, and those with an id.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;

use super::TrailAccess;
use super::batch::IntendedBatches;
use super::chain_line::ChainLine;
use super::error::TrailError;
use super::index::JournalIndex;
use super::journal::Journal;
use super::open_set::OpenSet;
use super::outline::{Outline, base};
use super::record::{JournalEntry, RecordStage};
use super::segment::{LinePlace, Segments};
use super::time_search::{place_before, time_of};
use crate::domain::audit::Period;
use crate::domain::time::Span;

/// The journal at one moment, and its index.
#[derive(Debug)]
pub(super) struct JournalView {
    pub(super) segments: Segments,
    index: Option<JournalIndex>,
    /// The index does not cover the journal from here on.
    from: LinePlace,
}

impl JournalView {
    /// Opens a view of a journal. A writer brings the index up to date if it lags too far behind.
    pub(super) fn of(journal: &Journal, access: TrailAccess) -> Result<JournalView, TrailError> {
        let view = JournalView::now(journal)?;
        if access == TrailAccess::Read || view.segments.bytes_after(view.from) <= journal.lag {
            return Ok(view);
        }
        drop(view);
        // If the index cannot be written, or another process is writing it, the journal itself is read.
        let _ = JournalIndex::write(journal.folder())?.map(|mut index| index.advance(journal));
        JournalView::now(journal)
    }

    fn now(journal: &Journal) -> Result<JournalView, TrailError> {
        let index = JournalIndex::read(journal.folder())?.and_then(JournalIndex::hold);
        let segments = journal.segments()?;
        let from = index.as_ref().and_then(|index| index.fits(&segments));
        let index = index.filter(|_| from.is_some());
        Ok(JournalView { segments, index, from: from.unwrap_or_default() })
    }

    /// The intents whose outcome is unknown, in the order of the journal.
    pub(super) fn open_acts(&self) -> io::Result<Vec<JournalEntry>> {
        let (mut open, mut from) = (OpenSet::default(), LinePlace::default());
        if let Some(covered) = self.index.as_ref().and_then(|index| index.open_set().ok()) {
            (open, from) = (covered, self.from);
        }
        self.segments.each_line(from, |place, line| {
            if let Some(outline) = line.strip_suffix(b"\n").and_then(Outline::read) {
                open.apply(&outline, place);
            }
            ControlFlow::Continue(())
        })?;
        let mut entries = Vec::new();
        for (_, name, place) in open.iter() {
            let places = match open.partly.contains(name) || self.is_of_many(place)? {
                true => self.places(name)?,
                false => vec![place],
            };
            entries.extend(open_among(&self.segments, &places)?);
        }
        Ok(entries)
    }

    fn is_of_many(&self, place: LinePlace) -> io::Result<bool> {
        Ok(self
            .segments
            .line_at(place)?
            .and_then(|line| ChainLine::read(&line))
            .is_some_and(|link| link.is_batch()))
    }

    /// Where the lines of an act, a transaction or a bulk are.
    pub(super) fn places(&self, id: &str) -> io::Result<Vec<LinePlace>> {
        let wanted = base(id);
        let is_wanted =
            |line: &[u8]| Outline::read(line).is_some_and(|outline| outline.keys().any(|key| key == wanted));
        let (mut places, mut from) = (Vec::new(), LinePlace::default());
        if let Some(known) = self.index.as_ref().and_then(|index| index.places(id).ok()) {
            // Ignore an index that points elsewhere.
            let mut believed = true;
            for place in &known {
                believed &= self.segments.line_at(*place)?.is_some_and(|line| is_wanted(&line));
            }
            if believed {
                (places, from) = (known, self.from);
            }
        }
        self.segments.each_line(from, |place, line| {
            if line.strip_suffix(b"\n").is_some_and(&is_wanted) {
                places.push(place);
            }
            ControlFlow::Continue(())
        })?;
        Ok(places)
    }

    /// The records of an act, a transaction or a bulk, in the order of the journal.
    pub(super) fn records_of(&self, id: &str) -> io::Result<Vec<JournalEntry>> {
        let mut entries = Vec::new();
        self.each_record_of(id, |entry| {
            entries.push(entry);
            ControlFlow::Continue(())
        })?;
        Ok(entries)
    }

    /// The same one by one, until the visitor has seen enough.
    pub(super) fn each_record_of(
        &self,
        id: &str,
        mut visit: impl FnMut(JournalEntry) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut intended = IntendedBatches::default();
        for place in self.places(id)? {
            let link = self.segments.line_at(place)?.and_then(|line| ChainLine::read(&line));
            let entries = link.into_iter().flat_map(|link| link.entries(&mut intended));
            let mut ours = entries.filter(|entry| entry.record.is_of_batch(id));
            if ours.try_for_each(&mut visit).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Visits the records of a period one by one.
pub(super) fn each_entry(
    segments: &Segments,
    period: &Period,
    visit: &mut dyn FnMut(JournalEntry) -> ControlFlow<()>,
) -> io::Result<()> {
    let read = period.widened(CLOCK_ERROR);
    let from = read.since.map_or_else(|| Ok(LinePlace::default()), |since| place_before(segments, since))?;
    let mut intended = IntendedBatches::default();
    segments.each_line(from, |_, line| {
        let Some(link) = line.strip_suffix(b"\n").and_then(ChainLine::read) else {
            return ControlFlow::Continue(());
        };
        for entry in link.entries(&mut intended) {
            let at = entry.record.moment();
            if at.zip(read.until).is_some_and(|(at, until)| at > until) {
                return ControlFlow::Break(());
            }
            if at.is_none_or(|at| period.contains(at)) {
                visit(entry)?;
            }
        }
        ControlFlow::Continue(())
    })
}

/// The records at these places.
fn entries_at(segments: &Segments, places: &[LinePlace]) -> io::Result<Vec<JournalEntry>> {
    let (mut intended, mut entries) = (IntendedBatches::default(), Vec::new());
    for place in places {
        let link = segments.line_at(*place)?.and_then(|line| ChainLine::read(&line));
        entries.extend(link.into_iter().flat_map(|link| link.entries(&mut intended)));
    }
    Ok(entries)
}

/// The intents at these places that no later line among them settles.
pub(super) fn open_among(segments: &Segments, places: &[LinePlace]) -> io::Result<Vec<JournalEntry>> {
    let (mut open, mut number) = (HashMap::new(), 0_usize);
    for entry in entries_at(segments, places)? {
        number += 1;
        if entry.record.settles() {
            open.remove(&entry.record.action_id);
        } else if entry.record.stage == RecordStage::Intent {
            open.insert(entry.record.action_id.clone(), (number, entry));
        }
    }
    let mut open: Vec<(usize, JournalEntry)> = open.into_values().collect();
    open.sort_unstable_by_key(|(number, _)| *number);
    Ok(open.into_iter().map(|(_, entry)| entry).collect())
}

/// How far back the intent of a batch is searched: it is right before the outcome, unless others wrote in between.
const NEAR: usize = 1_000;

/// How wrong clocks may be: the searched period is this much longer at both ends.
const CLOCK_ERROR: Span = Span::minutes(60);

/// Visits the records of a period one by one, the newest first.
pub(super) fn each_entry_back(
    segments: &Segments,
    period: &Period,
    mut visit: impl FnMut(JournalEntry) -> ControlFlow<()>,
) -> io::Result<()> {
    let read = period.widened(CLOCK_ERROR);
    let mut visit = |entry: JournalEntry| {
        let at = entry.record.moment();
        if at.zip(read.since).is_some_and(|(at, since)| at < since) {
            return ControlFlow::Break(());
        }
        if at.is_none_or(|at| period.contains(at)) { visit(entry) } else { ControlFlow::Continue(()) }
    };
    let mut problem = Ok(());
    segments.each_line_back(end_of(segments, &read)?, |place, line| {
        let Some(link) = line.strip_suffix(b"\n").and_then(ChainLine::read) else {
            return ControlFlow::Continue(());
        };
        // The outcome of a batch does not repeat its rows.
        let mut intended = IntendedBatches::default();
        if let Some(id) = link.outcome_of_batch().map(str::to_owned)
            && let Err(error) = read_intent(segments, place, &id, &mut intended)
        {
            problem = Err(error);
            return ControlFlow::Break(());
        }
        link.entries(&mut intended).into_iter().rev().try_for_each(&mut visit)
    })?;
    problem
}

/// A place after which no line of a period stands: the end of the journal, unless that is far away.
fn end_of(segments: &Segments, period: &Period) -> io::Result<LinePlace> {
    let Some(until) = period.until else { return Ok(segments.end()) };
    let mut end = segments.end();
    segments.each_line(place_before(segments, until)?, |place, line| {
        if time_of(line).is_some_and(|time| time > until) {
            end = place;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(end)
}

/// Reads the intent of a batch before a place.
fn read_intent(
    segments: &Segments,
    to: LinePlace,
    id: &str,
    intended: &mut IntendedBatches,
) -> io::Result<()> {
    let mut looked_at = 0;
    segments.each_line_back(to, |_, line| {
        looked_at += 1;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if Outline::read(line).is_some_and(|outline| outline.keys().any(|key| key == id))
            && let Some(link) = ChainLine::read(line).filter(ChainLine::is_batch)
        {
            link.entries(intended);
            return ControlFlow::Break(());
        }
        if looked_at < NEAR { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
}
