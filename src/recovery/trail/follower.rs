//! Follows a journal: new records, including those of other processes.

use std::ops::ControlFlow;
use std::path::Path;

use super::batch::IntendedBatches;
use super::chain_line::ChainLine;
use super::error::TrailError;
use super::journal::{Journal, Position};
use super::record::Record;

/// A reader that continues where it stopped.
#[derive(Debug)]
pub struct JournalFollower {
    journal: Journal,
    read: Position,
    /// Batches without an outcome yet; only the intent contains their rows.
    intended: IntendedBatches,
}

impl JournalFollower {
    /// From the beginning of the journal in a folder, which need not exist yet.
    pub fn of(folder: &Path) -> JournalFollower {
        JournalFollower {
            journal: Journal::at(folder),
            read: Position::default(),
            intended: IntendedBatches::default(),
        }
    }

    /// Visits every record since the last call. If the journal was replaced, it is read from its beginning.
    pub fn news(&mut self, mut take: impl FnMut(Record)) -> Result<(), TrailError> {
        let JournalFollower { journal, read, intended } = self;
        let segments = journal.segments()?;
        let mut go = || {
            let from = read.found_in(&segments)?.unwrap_or_default();
            segments.each_line(from, |_, line| {
                let link = line.strip_suffix(b"\n").and_then(ChainLine::read);
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
