//! Finding acts in the journal: those that are open, and those of a name.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;

use super::Access;
use super::batch::Intended;
use super::error::TrailError;
use super::index::Index;
use super::journal::Journal;
use super::link::Link;
use super::open_set::OpenSet;
use super::outline::{Outline, base};
use super::record::{Entry, Stage};
use super::segment::{Place, Segments};

/// The journal at one moment, and the index of its past.
#[derive(Debug)]
pub(super) struct View {
    pub(super) segments: Segments,
    index: Option<Index>,
    /// From here on the index does not tell.
    from: Place,
}

impl View {
    /// Looks at a journal. Whoever may write to it brings the index up to date if it lags too far behind.
    pub(super) fn of(journal: &Journal, access: Access) -> Result<View, TrailError> {
        let view = View::now(journal)?;
        if access == Access::Read || view.segments.bytes_after(view.from) <= journal.lag {
            return Ok(view);
        }
        drop(view);
        // If it cannot be written, or somebody else is writing it, the journal itself is read.
        let _ = Index::write(journal.folder())?.map(|mut index| index.advance(journal));
        View::now(journal)
    }

    fn now(journal: &Journal) -> Result<View, TrailError> {
        let index = Index::read(journal.folder())?.and_then(Index::hold);
        let segments = journal.segments()?;
        let from = index.as_ref().and_then(|index| index.fits(&segments));
        let index = index.filter(|_| from.is_some());
        Ok(View { segments, index, from: from.unwrap_or_default() })
    }

    /// The intents whose outcome is not known, in the order of the journal.
    pub(super) fn open_acts(&self) -> io::Result<Vec<Entry>> {
        let (mut open, mut from) = (OpenSet::default(), Place::default());
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

    fn is_of_many(&self, place: Place) -> io::Result<bool> {
        Ok(self
            .segments
            .line_at(place)?
            .and_then(|line| Link::read(&line))
            .is_some_and(|link| link.is_batch()))
    }

    /// Where the lines of an act, a transaction or a bulk stand.
    pub(super) fn places(&self, id: &str) -> io::Result<Vec<Place>> {
        let wanted = base(id);
        let is_wanted =
            |line: &[u8]| Outline::read(line).is_some_and(|outline| outline.keys().any(|key| key == wanted));
        let (mut places, mut from) = (Vec::new(), Place::default());
        if let Some(known) = self.index.as_ref().and_then(|index| index.places(id).ok()) {
            // An index that points elsewhere tells nothing.
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
    pub(super) fn records_of(&self, id: &str) -> io::Result<Vec<Entry>> {
        let mut entries = entries_at(&self.segments, &self.places(id)?)?;
        entries.retain(|entry| entry.record.is_of_batch(id));
        Ok(entries)
    }
}

/// The records at these places.
fn entries_at(segments: &Segments, places: &[Place]) -> io::Result<Vec<Entry>> {
    let (mut intended, mut entries) = (Intended::default(), Vec::new());
    for place in places {
        let link = segments.line_at(*place)?.and_then(|line| Link::read(&line));
        entries.extend(link.into_iter().flat_map(|link| link.entries(&mut intended)));
    }
    Ok(entries)
}

/// The intents among the lines at these places that no later one of them settles.
pub(super) fn open_among(segments: &Segments, places: &[Place]) -> io::Result<Vec<Entry>> {
    let (mut open, mut number) = (HashMap::new(), 0_usize);
    for entry in entries_at(segments, places)? {
        number += 1;
        if entry.record.settles() {
            open.remove(&entry.record.action_id);
        } else if entry.record.stage == Stage::Intent {
            open.insert(entry.record.action_id.clone(), (number, entry));
        }
    }
    let mut open: Vec<(usize, Entry)> = open.into_values().collect();
    open.sort_unstable_by_key(|(number, _)| *number);
    Ok(open.into_iter().map(|(_, entry)| entry).collect())
}

/// How far back the intent of a batch is looked for: it stands right before the outcome, unless others wrote.
const NEAR: usize = 1_000;

/// One record after the other, the newest first.
pub(super) fn each_entry_back(
    segments: &Segments,
    mut visit: impl FnMut(Entry) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut problem = Ok(());
    segments.each_line_back(segments.end(), |place, line| {
        let Some(link) = line.strip_suffix(b"\n").and_then(Link::read) else {
            return ControlFlow::Continue(());
        };
        // The outcome of a batch does not repeat its rows.
        let mut intended = Intended::default();
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

/// Reads the intent of a batch that stands before a place.
fn read_intent(segments: &Segments, to: Place, id: &str, intended: &mut Intended) -> io::Result<()> {
    let mut looked_at = 0;
    segments.each_line_back(to, |_, line| {
        looked_at += 1;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if Outline::read(line).is_some_and(|outline| outline.keys().any(|key| key == id))
            && let Some(link) = Link::read(line).filter(Link::is_batch)
        {
            link.entries(intended);
            return ControlFlow::Break(());
        }
        if looked_at < NEAR { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
}
