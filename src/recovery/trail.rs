//! The audit trail: what was about to be done, by whom, on what evidence, and what came of it.
//!
//! A journal of JSON lines, each chained to the one before by its hash. It knows records and
//! files; it knows nothing of databases, and what an act is it is told. An intent that cannot be
//! written is an error, and its act must not begin.
//!
//! ```text
//! record        what is written down            who           who acts
//! link          a line, and its hash            canonical     one text for one value
//! journal       the file, its lock              tail          its end, found from behind
//! scrap         what a crash left               anchor        how far the chain reached
//! verification  the chain, followed             finding       what can be wrong with it
//! ```

mod anchor;
mod canonical;
mod error;
mod finding;
mod journal;
mod link;
mod record;
mod scrap;
mod tail;
mod verification;
mod who;

pub use anchor::{Anchor, BadAnchor};
pub use error::TrailError;
pub use finding::Finding;
pub use record::{Entry, Record, Stage, new_action_id};
pub use verification::Verification;
pub use who::Who;

use std::collections::HashSet;
use std::env;
use std::path::{Path, PathBuf};

use journal::Journal;
use link::{Body, Link};
use tail::Tail;
use verification::Walk;

/// The audit journal of a folder.
#[derive(Debug)]
pub struct Trail {
    journal: Journal,
    access: Access,
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
        Ok(Trail { journal, access: Access::Append })
    }

    /// Opens the journal to look at it, and makes nothing: one that is not there is an empty trail.
    pub fn read_only(folder: &Path) -> Result<Trail, TrailError> {
        let trail = Trail { journal: Journal::at(folder), access: Access::Read };
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
        if self.access == Access::Read {
            return Err(TrailError::ReadOnlySession { path: self.path().to_owned() });
        }
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let failed = |error| self.journal.error(error);
        let (file, length) = self.journal.lock().map_err(failed)?;
        // Another process may have appended since we last did: only the file knows the head.
        let (mut text, mut head) = Tail::read(&file, length).map_err(failed)?.mended()?;
        let mut entries = Vec::with_capacity(records.len());
        for record in records {
            let (line, next) = link::write(&head, &Body::Record(Box::new(record.clone())))?;
            // What could not be read back (nested too deep, say) would break the chain for good.
            let link: Link = serde_json::from_str(&line)?;
            entries.extend(link.entry());
            text.push_str(&line);
            text.push('\n');
            head = next;
        }
        Journal::append(&file, length, &text).map_err(failed)?;
        Ok(entries)
    }

    /// All records in the order of the file. Lines that are torn or unreadable are passed over, and
    /// edited ones are not: only [`Trail::verify`] says whether the trail can be believed.
    pub fn entries(&self) -> Result<Vec<Entry>, TrailError> {
        let mut entries = Vec::new();
        self.each_line(|line| {
            let whole = line.strip_suffix(b"\n");
            entries.extend(whole.and_then(Link::read).and_then(Link::entry));
        })?;
        Ok(entries)
    }

    /// Follows the chain from its first line; a cut at the end shows only against an anchor.
    pub fn verify(&self, anchor: Option<&Anchor>) -> Result<Verification, TrailError> {
        let mut walk = Walk::new(anchor);
        self.each_line(|line| walk.step(line))?;
        Ok(walk.end())
    }

    /// Intents of which nobody knows what came: without an outcome, or with "unknown" alone.
    pub fn open_actions(&self) -> Result<Vec<Entry>, TrailError> {
        let mut entries = self.entries()?;
        let settled: HashSet<String> = entries
            .iter()
            .filter(|entry| entry.record.settles())
            .map(|entry| entry.record.action_id.clone())
            .collect();
        entries.retain(|entry| {
            entry.record.stage == Stage::Intent && !settled.contains(&entry.record.action_id)
        });
        Ok(entries)
    }

    fn each_line(&self, take: impl FnMut(&[u8])) -> Result<(), TrailError> {
        self.journal.each_line(take).map_err(|error| self.journal.error(error))
    }
}
