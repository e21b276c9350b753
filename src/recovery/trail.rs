//! The audit trail: what was intended, by whom, on what evidence, and with which outcome.
//!
//! A journal of JSON lines, each chained to the one before by its hash. This module knows records and files; it knows
//! nothing about databases, and does not interpret acts. If an intent cannot be written, that is an error, and its act
//! must not begin.
//!
//! ```text
//! record         one act                           user_identity  who acts
//! batch          many acts in one line             canonical      one text for one value
//! chain_line     a line and its hash               segment        the files, read as one in either direction
//! journal        the files: locked, appended to    ownership      who may have written them
//! lock           the lock, with a timeout          torn_line      what a crash left
//! tail           the end of the journal            outline        what the index needs of a line
//! index          where acts are in the journal     journal_view   acts, found by index and journal
//! open_set       acts that may be open             activity_lock  whether somebody is acting
//! follower       new records                       finding        what can be wrong with the chain
//! verification   the chain, checked                anchor         how long the chain was
//! comparison     the index against the journal     time_search    where a time begins
//! ```

mod activity_lock;
mod anchor;
mod batch;
mod canonical;
mod chain_line;
mod comparison;
mod error;
mod finding;
mod follower;
mod index;
mod journal;
mod journal_view;
mod lock;
mod open_set;
mod outline;
mod ownership;
mod record;
mod segment;
mod tail;
mod time_search;
mod torn_line;
mod user_identity;
mod verification;

pub use anchor::{Anchor, BadAnchor};
pub use batch::{BatchRows, RecordedEvidence, RowToWrite};
pub use canonical::SortedKeys;
pub use error::TrailError;
pub use finding::{FindingInFile, JournalFinding};
pub use follower::JournalFollower;
pub use journal::{AppendedRange, Position};
pub use record::{JournalEntry, Record, RecordStage, new_action_id};
pub use user_identity::UserIdentity;
pub use verification::Verification;

use serde_json::Value;
use std::borrow::Cow;
use std::env;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use batch::{IntendedBatches, differences};
use chain_line::{ChainLine, LineBody};
use comparison::IndexComparison;
use index::JournalIndex;
use journal::{Journal, LockedFile, WaitFor};
use journal_view::JournalView;
use segment::{Segment, sealed_numbers};
use tail::Tail;

use crate::domain::audit::Period;

/// The audit journal in a folder.
#[derive(Debug)]
pub struct Trail {
    journal: Journal,
    access: TrailAccess,
    /// Where our own last append left the chain.
    last: Option<(Position, Anchor)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrailAccess {
    Append,
    Read,
}

impl Trail {
    /// The default folder of the journal; `None` if no home directory is known. Relative paths are ignored, as the XDG
    /// specification requires: they would mean a journal per working directory.
    pub fn default_folder() -> Option<PathBuf> {
        let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        absolute("XDG_STATE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
            .map(|state| state.join("claimtop/audit"))
    }

    /// Opens the journal for acts; creates the folder and the file if needed.
    pub fn open(folder: &Path) -> Result<Trail, TrailError> {
        let journal = Journal::at(folder);
        journal.create()?;
        Ok(Trail { journal, access: TrailAccess::Append, last: None })
    }

    /// Opens the journal for reading and creates nothing; a missing journal is an empty trail.
    pub fn read_only(folder: &Path) -> Result<Trail, TrailError> {
        let trail = Trail { journal: Journal::at(folder), access: TrailAccess::Read, last: None };
        trail.journal.segments()?;
        Ok(trail)
    }

    /// The same trail with another maximum file size.
    pub fn with_files_of(mut self, bytes: u64) -> Trail {
        self.journal.full = bytes;
        self
    }

    /// The same trail with another maximum lag of its index.
    pub fn with_lag_of(mut self, bytes: u64) -> Trail {
        self.journal.lag = bytes;
        self
    }

    /// The same trail with another timeout for the lock.
    pub fn with_lock_timeout(mut self, lock_timeout: Duration) -> Trail {
        self.journal.lock_timeout = lock_timeout;
        self
    }

    pub fn path(&self) -> &Path {
        self.journal.path()
    }

    /// Appends the records, all or none, and returns when they are on disk.
    ///
    /// Waits while another process appends. Bytes that a crash left at the end of the file are sealed first.
    pub fn append(&mut self, records: &[Record]) -> Result<Vec<JournalEntry>, TrailError> {
        let mut entries = Vec::with_capacity(records.len());
        if records.is_empty() && self.access == TrailAccess::Append {
            return Ok(entries);
        }
        self.extend(WaitFor::Disk, |head, text| {
            for record in records {
                let (line, next) = chain_line::write(head, &LineBody::Record(Box::new(brief(record))))?;
                // A record that cannot be read back (nested too deeply, for example) would break the chain for good.
                entries.extend(ChainLine::parse(&line)?.entries(&mut IntendedBatches::default()));
                text.push_str(&line);
                text.push('\n');
                *head = next;
            }
            Ok(())
        })?;
        Ok(entries)
    }

    /// Appends the intents of many acts in one line: the shared part and a row for each. Returns when it is on disk.
    pub fn append_batch(&mut self, of: &Record, lines: &BatchRows) -> Result<AppendedRange, TrailError> {
        let pieces = lines.pieces(of, None)?;
        self.extend_by(&pieces, WaitFor::Disk)
    }

    /// Appends the outcomes of a batch: the shared outcome for `count` of its acts, and the others. It does not wait
    /// for the disk; the next intent or [`Trail::sync`] does. A crash before that leaves an intent whose outcome is
    /// found out from the database.
    pub fn append_outcomes(
        &mut self,
        of: &Record,
        others: &BatchRows,
        count: usize,
    ) -> Result<AppendedRange, TrailError> {
        let pieces = others.pieces(of, Some(count))?;
        self.extend_by(&pieces, WaitFor::Nothing)
    }

    /// Returns when everything that was appended is on disk.
    pub fn sync(&self) -> Result<(), TrailError> {
        self.journal.sync()
    }

    /// Appends one line whose text consists of pieces.
    fn extend_by(&mut self, pieces: &[Cow<'_, str>], wait: WaitFor) -> Result<AppendedRange, TrailError> {
        let pieces: Vec<&str> = pieces.iter().map(AsRef::as_ref).collect();
        self.extend(wait, |head, text| {
            *head = chain_line::chain(text, head, &pieces);
            text.push('\n');
            Ok(())
        })
    }

    /// Appends what `write` adds to the chain, all or nothing.
    fn extend(
        &mut self,
        wait: WaitFor,
        write: impl FnOnce(&mut Anchor, &mut String) -> serde_json::Result<()>,
    ) -> Result<AppendedRange, TrailError> {
        if self.access == TrailAccess::Read {
            return Err(TrailError::ReadOnlySession { path: self.path().to_owned() });
        }
        let failed = |error| self.journal.error(error);
        let (mut locked, mut here) = self.locked()?;
        let ours = self.last.take().filter(|(end, _)| *end == here);
        let (mut text, mut head) = match ours {
            Some((_, head)) if locked.length < self.journal.full => (String::new(), head),
            // Another process has appended since: the head must be read from the file.
            _ => {
                let mut tail = self.tail(&locked)?;
                if locked.length >= self.journal.full && tail.is_clean() {
                    self.journal.seal(&locked)?;
                    (locked, here) = self.locked()?;
                    tail = self.tail(&locked)?;
                }
                tail.mended()?
            }
        };
        write(&mut head, &mut text)?;
        Journal::append(&locked, &text, wait).map_err(failed)?;
        let to = Position::at(&locked.file, locked.number, locked.length + text.len() as u64).ok();
        self.last = to.map(|end| (end, head));
        Ok(AppendedRange { from: here, to })
    }

    fn locked(&self) -> Result<(LockedFile, Position), TrailError> {
        let locked = self.journal.lock()?;
        let here = Position::at(&locked.file, locked.number, locked.length);
        Ok((locked, here.map_err(|error| self.journal.error(error))?))
    }

    fn tail(&self, locked: &LockedFile) -> Result<Tail, TrailError> {
        let tail = Tail::read(&locked.file, locked.length);
        let mut tail = tail.map_err(|error| self.journal.error(error))?;
        if tail.head.is_none() {
            tail.head = self.head_before(locked.number)?;
        }
        Ok(tail)
    }

    /// The head of the chain at the end of the sealed files.
    fn head_before(&self, number: u32) -> Result<Option<Anchor>, TrailError> {
        let failed = |error| self.journal.error(error);
        let sealed = sealed_numbers(self.journal.folder()).map_err(failed)?;
        for number in sealed.into_iter().rev().filter(|sealed| *sealed < number) {
            let segment = Segment::sealed(self.journal.folder(), number)?;
            let tail = segment.open().and_then(|file| Tail::read(&file, segment.end)).map_err(failed)?;
            if tail.head.is_some() {
                return Ok(tail.head);
            }
        }
        Ok(None)
    }

    /// All records in the order of the journal. Torn or unreadable lines are skipped, but edited ones are not: only
    /// [`Trail::verify`] tells whether the trail can be trusted.
    pub fn entries(&self) -> Result<Vec<JournalEntry>, TrailError> {
        let mut entries = Vec::new();
        self.each_entry(|entry| entries.push(entry))?;
        Ok(entries)
    }

    /// Visits the records one by one, in the same order: a trail of years need not fit into memory.
    pub fn each_entry(&self, mut visit: impl FnMut(JournalEntry)) -> Result<(), TrailError> {
        self.each_entry_until(|entry| {
            visit(entry);
            ControlFlow::Continue(())
        })
    }

    /// The same, until the visitor has seen enough.
    pub fn each_entry_until(
        &self,
        mut visit: impl FnMut(JournalEntry) -> ControlFlow<()>,
    ) -> Result<(), TrailError> {
        self.each_entry_of(&Period::default(), &mut visit)
    }

    /// The same for the records of a period. Lines written long before or after it are not read.
    pub fn each_entry_of(
        &self,
        period: &Period,
        mut visit: impl FnMut(JournalEntry) -> ControlFlow<()>,
    ) -> Result<(), TrailError> {
        let read = journal_view::each_entry(&self.journal.segments()?, period, &mut visit);
        read.map_err(|error| self.journal.error(error))
    }

    /// The same in reverse, the newest record first.
    pub fn each_entry_back(
        &self,
        visit: impl FnMut(JournalEntry) -> ControlFlow<()>,
    ) -> Result<(), TrailError> {
        self.each_entry_back_of(&Period::default(), visit)
    }

    /// The same for the records of a period.
    pub fn each_entry_back_of(
        &self,
        period: &Period,
        visit: impl FnMut(JournalEntry) -> ControlFlow<()>,
    ) -> Result<(), TrailError> {
        let read = journal_view::each_entry_back(&self.journal.segments()?, period, visit);
        read.map_err(|error| self.journal.error(error))
    }

    /// Visits the records of a bulk, a transaction or an act one by one, found by the index: a bulk may be larger than
    /// the memory.
    pub fn each_entry_of_batch(
        &self,
        id: &str,
        visit: impl FnMut(JournalEntry) -> ControlFlow<()>,
    ) -> Result<(), TrailError> {
        let view = JournalView::of(&self.journal, self.access)?;
        view.each_record_of(id, visit).map_err(|error| self.journal.error(error))
    }

    /// The records of one bulk, intents and outcomes, in the order of the journal: by the id of the bulk or of one of
    /// its transactions. The id of a single act finds the records of that act.
    pub fn batch(&self, id: &str) -> Result<Vec<JournalEntry>, TrailError> {
        let view = JournalView::of(&self.journal, self.access)?;
        view.records_of(id).map_err(|error| self.journal.error(error))
    }

    /// Checks the chain from its first line; a truncation shows only against an anchor.
    pub fn verify(&self, anchor: Option<&Anchor>) -> Result<Verification, TrailError> {
        let index = JournalIndex::read(self.journal.folder())?;
        let comparison = index.as_ref().and_then(IndexComparison::begin);
        let verified = verification::verify(&self.journal.segments()?, comparison, anchor);
        verified.map_err(|error| self.journal.error(error))
    }

    /// Checks the chain from the first record of an act or a bulk to its end. Earlier lines cannot change what was
    /// written there.
    pub fn verify_since(&self, id: &str) -> Result<Verification, TrailError> {
        let view = JournalView::of(&self.journal, self.access)?;
        let verified = view.places(id).and_then(|places| {
            let first = places.iter().min().copied().unwrap_or_else(|| view.segments.end());
            verification::verify_from(&view.segments, first)
        });
        verified.map_err(|error| self.journal.error(error))
    }

    /// Intents whose outcome is unknown: without an outcome, or with "unknown" alone.
    pub fn open_actions(&self) -> Result<Vec<JournalEntry>, TrailError> {
        self.open_actions_since(Position::default()).map(|(open, _)| open)
    }

    /// The same after a position before which nothing is open, and the position up to which this was read.
    pub fn open_actions_since(&self, from: Position) -> Result<(Vec<JournalEntry>, Position), TrailError> {
        let view = JournalView::of(&self.journal, self.access)?;
        let read = || {
            let end = Position::end_of(&view.segments)?;
            let open = match from.found_in(&view.segments)? {
                Some(from) if view.segments.bytes_after(from) <= self.journal.lag => {
                    let mut places = Vec::new();
                    view.segments.each_line(from, |place, _| {
                        places.push(place);
                        ControlFlow::Continue(())
                    })?;
                    journal_view::open_among(&view.segments, &places)?
                }
                _ => view.open_acts()?,
            };
            Ok((open, end))
        };
        read().map_err(|error| self.journal.error(error))
    }
}

/// The record as it is written: an outcome does not repeat what its intent contains, and of rows that stay, only
/// changed columns are written twice.
fn brief(record: &Record) -> Record {
    let record = record.clone();
    match record.stage {
        RecordStage::Outcome => Record { before: Value::Null, after: Value::Null, ..record },
        RecordStage::Intent => match differences(&record.before, &record.after) {
            Some(after) => Record { after, ..record },
            None => record,
        },
    }
}
