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
//! journal       the file, its lock              tail          its end, found from behind
//! follower      what is new in it               scrap         what a crash left
//! anchor        how far the chain reached       presence      who is at work
//! verification  the chain, followed             finding       what can be wrong with it
//! ```

mod anchor;
mod batch;
mod canonical;
mod error;
mod finding;
mod follower;
mod journal;
mod link;
mod presence;
mod record;
mod scrap;
mod tail;
mod verification;
mod who;

pub use anchor::{Anchor, BadAnchor};
pub use batch::{Evidence, Line, Lines};
pub use canonical::Sorted;
pub use error::TrailError;
pub use finding::Finding;
pub use follower::Follower;
pub use journal::{Position, Stretch};
pub use record::{Entry, Record, Stage, new_action_id};
pub use verification::Verification;
pub use who::Who;

use std::borrow::Cow;
use std::collections::HashMap;
use std::env;
use std::path::{Path, PathBuf};

use batch::Intended;
use journal::{Journal, WaitFor};
use link::{Body, Link};
use tail::Tail;
use verification::Walk;

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
        journal.create(folder).map_err(|error| journal.error(error))?;
        Ok(Trail { journal, access: Access::Append, last: None })
    }

    /// Opens the journal to look at it, and makes nothing: one that is not there is an empty trail.
    pub fn read_only(folder: &Path) -> Result<Trail, TrailError> {
        let trail = Trail { journal: Journal::at(folder), access: Access::Read, last: None };
        trail.journal.readable().map_err(|error| trail.journal.error(error))?;
        Ok(trail)
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
                let (line, next) = link::write(head, &Body::Record(Box::new(record.clone())))?;
                // What could not be read back (nested too deep, say) would break the chain for good.
                let link: Link = serde_json::from_str(&line)?;
                entries.extend(link.entries(&mut Intended::default()));
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
        self.journal.sync().map_err(|error| self.journal.error(error))
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
        let (file, length) = self.journal.lock().map_err(failed)?;
        let here = Position::at(&file, length).map_err(failed)?;
        let ours = self.last.take().filter(|(end, _)| *end == here);
        let (mut text, mut head) = match ours {
            Some((_, head)) => (String::new(), head),
            // Another process has appended since: only the file knows the head.
            None => Tail::read(&file, length).map_err(failed)?.mended()?,
        };
        write(&mut head, &mut text)?;
        Journal::append(&file, length, &text, wait).map_err(failed)?;
        let to = Position::at(&file, length + text.len() as u64).ok();
        self.last = to.map(|end| (end, head));
        Ok(Stretch { from: here, to })
    }

    /// All records in the order of the file. Lines that are torn or unreadable are passed over, and
    /// edited ones are not: only [`Trail::verify`] says whether the trail can be believed.
    pub fn entries(&self) -> Result<Vec<Entry>, TrailError> {
        let mut entries = Vec::new();
        self.each_entry(|entry| entries.push(entry))?;
        Ok(entries)
    }

    /// The records of one bulk, intents and outcomes, in the order of the file: by the id of the bulk, or by that
    /// of one of its transactions. The id of a single act finds the records of that act.
    pub fn batch(&self, id: &str) -> Result<Vec<Entry>, TrailError> {
        let mut entries = Vec::new();
        self.each_entry(|entry| {
            if entry.record.is_of_batch(id) {
                entries.push(entry);
            }
        })?;
        Ok(entries)
    }

    /// One record after the other, in the same order: a trail of years need not be held in memory.
    pub fn each_entry(&self, visit: impl FnMut(Entry)) -> Result<(), TrailError> {
        self.each_entry_since(Position::default(), visit).map(drop)
    }

    /// The records after a place that somebody has read up to, and the place where they end. A journal
    /// that is another one by now is read from its beginning.
    fn each_entry_since(&self, from: Position, mut visit: impl FnMut(Entry)) -> Result<Position, TrailError> {
        let mut intended = Intended::default();
        let read = self.journal.each_line_since(from, |line| {
            if let Some(link) = line.strip_suffix(b"\n").and_then(Link::read) {
                link.entries(&mut intended).into_iter().for_each(&mut visit);
            }
        });
        read.map_err(|error| self.journal.error(error))
    }

    /// Follows the chain from its first line; a cut at the end shows only against an anchor.
    pub fn verify(&self, anchor: Option<&Anchor>) -> Result<Verification, TrailError> {
        let mut walk = Walk::new(anchor);
        let read = self.journal.each_line_since(Position::default(), |line| walk.step(line));
        read.map_err(|error| self.journal.error(error))?;
        Ok(walk.end())
    }

    /// Intents of which nobody knows what came: without an outcome, or with "unknown" alone.
    pub fn open_actions(&self) -> Result<Vec<Entry>, TrailError> {
        self.open_actions_since(Position::default()).map(|(open, _)| open)
    }

    /// The same after a place before which nothing is open, and the place up to which this was read.
    pub fn open_actions_since(&self, from: Position) -> Result<(Vec<Entry>, Position), TrailError> {
        let (mut open, mut number) = (HashMap::new(), 0_usize);
        let end = self.each_entry_since(from, |entry| {
            number += 1;
            if entry.record.settles() {
                open.remove(&entry.record.action_id);
            } else if entry.record.stage == Stage::Intent {
                open.insert(entry.record.action_id.clone(), (number, entry));
            }
        })?;
        let mut open: Vec<(usize, Entry)> = open.into_values().collect();
        open.sort_unstable_by_key(|(number, _)| *number);
        Ok((open.into_iter().map(|(_, entry)| entry).collect(), end))
    }
}
