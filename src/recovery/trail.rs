//! The audit trail: what was about to be done, by whom, on what evidence, and what came of it.
//!
//! A journal of JSON lines, each chained to the one before by its hash. It knows records and
//! files; it knows nothing of databases, and what an act is it is told. An intent that cannot be
//! written is an error, and its act must not begin.
//!
//! ```text
//! record        what is written down            who           who acts
//! batch         many acts in one line
//! link          a line, and its hash            canonical     one text for one value
//! journal       the files: locked, appended to  segment       read as one, from either end
//! lock          waiting for others, not forever trust         who could have written them
//! tail          the end, found from behind      scrap         what a crash left
//! index         where acts stand in the past    outline       what it needs of a line
//! open_set      acts that may be open           acts          found by index and journal
//! follower      what is new                     presence      who is at work
//! verification  the chain, followed             finding       what can be wrong with it
//! comparison    the index against the journal   anchor        how far the chain reached
//! ```

mod acts;
mod anchor;
mod batch;
mod canonical;
mod comparison;
mod error;
mod finding;
mod follower;
mod index;
mod journal;
mod link;
mod lock;
mod open_set;
mod outline;
mod presence;
mod record;
mod scrap;
mod segment;
mod tail;
mod trust;
mod verification;
mod who;

pub use anchor::{Anchor, BadAnchor};
pub use batch::{Evidence, Line, Lines};
pub use canonical::Sorted;
pub use error::TrailError;
pub use finding::{Finding, Found};
pub use follower::Follower;
pub use journal::{Position, Stretch};
pub use record::{Entry, Record, Stage, new_action_id};
pub use verification::Verification;
pub use who::Who;

use serde_json::Value;
use std::borrow::Cow;
use std::env;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acts::View;
use batch::{Intended, differences};
use comparison::Comparison;
use index::Index;
use journal::{Journal, Locked, WaitFor};
use link::{Body, Link};
use segment::{Segment, sealed_numbers};
use tail::Tail;

/// The audit journal of a folder.
#[derive(Debug)]
pub struct Trail {
    journal: Journal,
    access: Access,
    /// Where our own last append left the chain.
    last: Option<(Position, Anchor)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Append,
    Read,
}

impl Trail {
    /// Where the journal is kept unless told otherwise; nothing if no home is known. Relative
    /// paths are ignored, as the XDG specification asks: they would mean a journal per folder.
    pub fn default_folder() -> Option<PathBuf> {
        let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        absolute("XDG_STATE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
            .map(|state| state.join("claimtop/audit"))
    }

    /// Opens the journal for acts; the folder and the file are made if they are not there.
    pub fn open(folder: &Path) -> Result<Trail, TrailError> {
        let journal = Journal::at(folder);
        journal.create()?;
        Ok(Trail { journal, access: Access::Append, last: None })
    }

    /// Opens the journal to look at it, and makes nothing: one that is not there is an empty trail.
    pub fn read_only(folder: &Path) -> Result<Trail, TrailError> {
        let trail = Trail { journal: Journal::at(folder), access: Access::Read, last: None };
        trail.journal.segments()?;
        Ok(trail)
    }

    /// The same trail, whose files are full at another length.
    pub fn with_files_of(mut self, bytes: u64) -> Trail {
        self.journal.full = bytes;
        self
    }

    /// The same trail, whose index lags no further behind than this.
    pub fn with_lag_of(mut self, bytes: u64) -> Trail {
        self.journal.lag = bytes;
        self
    }

    /// The same trail, which waits for others that append no longer than this.
    pub fn with_patience(mut self, patience: Duration) -> Trail {
        self.journal.patience = patience;
        self
    }

    pub fn path(&self) -> &Path {
        self.journal.path()
    }

    /// Writes the records down, all or none, and returns when the disk has them.
    ///
    /// Waits while another process appends. What a crash left at the end of the file is sealed first.
    pub fn append(&mut self, records: &[Record]) -> Result<Vec<Entry>, TrailError> {
        let mut entries = Vec::with_capacity(records.len());
        if records.is_empty() && self.access == Access::Append {
            return Ok(entries);
        }
        self.extend(WaitFor::Disk, |head, text| {
            for record in records {
                let (line, next) = link::write(head, &Body::Record(Box::new(brief(record))))?;
                // What could not be read back (nested too deep, say) would break the chain for good.
                entries.extend(Link::parse(&line)?.entries(&mut Intended::default()));
                text.push_str(&line);
                text.push('\n');
                *head = next;
            }
            Ok(())
        })?;
        Ok(entries)
    }

    /// Writes the intents of many acts down in one line, what they share and what is said of each, and
    /// returns when the disk has it.
    pub fn append_batch(&mut self, of: &Record, lines: &Lines) -> Result<Stretch, TrailError> {
        let pieces = lines.pieces(of, None)?;
        self.extend_by(&pieces, WaitFor::Disk)
    }

    /// Writes down what came of a batch: the shared outcome for `count` of its acts, and the others. It does
    /// not wait for the disk: the next intent does, or [`Trail::sync`]; until then a crash leaves an intent
    /// whose outcome is found out from the database.
    pub fn append_outcomes(
        &mut self,
        of: &Record,
        others: &Lines,
        count: usize,
    ) -> Result<Stretch, TrailError> {
        let pieces = others.pieces(of, Some(count))?;
        self.extend_by(&pieces, WaitFor::Nothing)
    }

    /// Returns when the disk has everything that was appended.
    pub fn sync(&self) -> Result<(), TrailError> {
        self.journal.sync()
    }

    /// Appends one line whose text is in pieces.
    fn extend_by(&mut self, pieces: &[Cow<'_, str>], wait: WaitFor) -> Result<Stretch, TrailError> {
        let pieces: Vec<&str> = pieces.iter().map(AsRef::as_ref).collect();
        self.extend(wait, |head, text| {
            *head = link::chain(text, head, &pieces);
            text.push('\n');
            Ok(())
        })
    }

    /// Appends what `write` adds to the chain, all or nothing.
    fn extend(
        &mut self,
        wait: WaitFor,
        write: impl FnOnce(&mut Anchor, &mut String) -> serde_json::Result<()>,
    ) -> Result<Stretch, TrailError> {
        if self.access == Access::Read {
            return Err(TrailError::ReadOnlySession { path: self.path().to_owned() });
        }
        let failed = |error| self.journal.error(error);
        let (mut locked, mut here) = self.locked()?;
        let ours = self.last.take().filter(|(end, _)| *end == here);
        let (mut text, mut head) = match ours {
            Some((_, head)) if locked.length < self.journal.full => (String::new(), head),
            // Another process has appended since: only the file knows the head.
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
        Ok(Stretch { from: here, to })
    }

    fn locked(&self) -> Result<(Locked, Position), TrailError> {
        let locked = self.journal.lock()?;
        let here = Position::at(&locked.file, locked.number, locked.length);
        Ok((locked, here.map_err(|error| self.journal.error(error))?))
    }

    fn tail(&self, locked: &Locked) -> Result<Tail, TrailError> {
        let tail = Tail::read(&locked.file, locked.length);
        let mut tail = tail.map_err(|error| self.journal.error(error))?;
        if tail.head.is_none() {
            tail.head = self.head_before(locked.number)?;
        }
        Ok(tail)
    }

    /// Where the chain stood at the end of the sealed files.
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

    /// All records in the order of the journal. Lines that are torn or unreadable are passed over, and
    /// edited ones are not: only [`Trail::verify`] says whether the trail can be believed.
    pub fn entries(&self) -> Result<Vec<Entry>, TrailError> {
        let mut entries = Vec::new();
        self.each_entry(|entry| entries.push(entry))?;
        Ok(entries)
    }

    /// One record after the other, in the same order: a trail of years need not be held in memory.
    pub fn each_entry(&self, mut visit: impl FnMut(Entry)) -> Result<(), TrailError> {
        self.each_entry_until(|entry| {
            visit(entry);
            ControlFlow::Continue(())
        })
    }

    /// The same, for those who may have seen enough.
    pub fn each_entry_until(
        &self,
        mut visit: impl FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<(), TrailError> {
        let mut intended = Intended::default();
        let read = self.journal.segments()?.each_line(Default::default(), |_, line| {
            let link = line.strip_suffix(b"\n").and_then(Link::read);
            link.into_iter().flat_map(|link| link.entries(&mut intended)).try_for_each(&mut visit)
        });
        read.map_err(|error| self.journal.error(error))
    }

    /// The same from behind: the newest record first, for those who do not want to see them all.
    pub fn each_entry_back(&self, visit: impl FnMut(Entry) -> ControlFlow<()>) -> Result<(), TrailError> {
        let read = acts::each_entry_back(&self.journal.segments()?, visit);
        read.map_err(|error| self.journal.error(error))
    }

    /// The records of one bulk, intents and outcomes, in the order of the journal: by the id of the bulk, or by
    /// that of one of its transactions. The id of a single act finds the records of that act.
    pub fn batch(&self, id: &str) -> Result<Vec<Entry>, TrailError> {
        let view = View::of(&self.journal, self.access)?;
        view.records_of(id).map_err(|error| self.journal.error(error))
    }

    /// Follows the chain from its first line; a cut at the end shows only against an anchor.
    pub fn verify(&self, anchor: Option<&Anchor>) -> Result<Verification, TrailError> {
        let index = Index::read(self.journal.folder())?;
        let comparison = index.as_ref().and_then(Comparison::begin);
        let verified = verification::verify(&self.journal.segments()?, comparison, anchor);
        verified.map_err(|error| self.journal.error(error))
    }

    /// Follows the chain from the first record of an act, or of a bulk, to its end. What stands before cannot change
    /// what was written there.
    pub fn verify_since(&self, id: &str) -> Result<Verification, TrailError> {
        let view = View::of(&self.journal, self.access)?;
        let verified = view.places(id).and_then(|places| {
            let first = places.iter().min().copied().unwrap_or_else(|| view.segments.end());
            verification::verify_from(&view.segments, first)
        });
        verified.map_err(|error| self.journal.error(error))
    }

    /// Intents of which nobody knows what came: without an outcome, or with "unknown" alone.
    pub fn open_actions(&self) -> Result<Vec<Entry>, TrailError> {
        self.open_actions_since(Position::default()).map(|(open, _)| open)
    }

    /// The same after a place before which nothing is open, and the place up to which this was read.
    pub fn open_actions_since(&self, from: Position) -> Result<(Vec<Entry>, Position), TrailError> {
        let view = View::of(&self.journal, self.access)?;
        let read = || {
            let end = Position::end_of(&view.segments)?;
            let open = match from.found_in(&view.segments)? {
                Some(from) if view.segments.bytes_after(from) <= self.journal.lag => {
                    let mut places = Vec::new();
                    view.segments.each_line(from, |place, _| {
                        places.push(place);
                        ControlFlow::Continue(())
                    })?;
                    acts::open_among(&view.segments, &places)?
                }
                _ => view.open_acts()?,
            };
            Ok((open, end))
        };
        read().map_err(|error| self.journal.error(error))
    }
}

/// The record as it is written: what its intent has, an outcome does not repeat; and of rows that stay, only what
/// was changed is written twice.
fn brief(record: &Record) -> Record {
    let record = record.clone();
    match record.stage {
        Stage::Outcome => Record { before: Value::Null, after: Value::Null, ..record },
        Stage::Intent => match differences(&record.before, &record.after) {
            Some(after) => Record { after, ..record },
            None => record,
        },
    }
}
