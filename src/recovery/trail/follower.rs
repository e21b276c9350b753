//! Reads a journal on from where it stopped: what other processes write counts, too.

use std::ops::ControlFlow;
use std::path::Path;

use super::batch::Intended;
use super::error::TrailError;
use super::journal::{Journal, Position};
use super::link::Link;
use super::record::Record;

/// Somebody who has read a journal up to a place.
#[derive(Debug)]
pub struct Follower {
    journal: Journal,
    read: Position,
    /// Batches whose outcome is not written yet; their rows are told by the intent alone.
    intended: Intended,
}

impl Follower {
    /// From the beginning of the journal in a folder, whether it is there yet or not.
    pub fn of(folder: &Path) -> Follower {
        Follower { journal: Journal::at(folder), read: Position::default(), intended: Intended::default() }
    }

    /// Hands out every record since the last time. A journal that is another one by now is read from
    /// its beginning.
    pub fn news(&mut self, mut take: impl FnMut(Record)) -> Result<(), TrailError> {
        let Follower { journal, read, intended } = self;
        let segments = journal.segments()?;
        let mut go = || {
            let from = read.found_in(&segments)?.unwrap_or_default();
            segments.each_line(from, |_, line| {
                let link = line.strip_suffix(b"\n").and_then(Link::read);
                let entries = link.into_iter().flat_map(|link| link.entries(intended));
                entries.for_each(|entry| take(entry.record));
                ControlFlow::Continue(())
            })?;
            Position::end_of(&segments)
        };
        *read = go().map_err(|error| journal.error(error))?;
        Ok(())
    }
}
