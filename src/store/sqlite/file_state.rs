//! Whether a file is still what SQLite takes it for.
//!
//! SQLite counts what is written through SQLite. It does not notice that somebody copies a backup, or
//! garbage, over a database in WAL mode: it goes on with the pages in its cache, and lays those of the
//! log over the new file. Only the file itself tells: its size and its times.

use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::error::{explain, why_not};
use super::open::{FileIdentity, beside, expect_file};
use crate::store::StoreError;

/// Since this version SQLite can say how far the log is, and do nothing else.
const KNOWS_NOOP: i32 = 3_051_000;

/// Whoever moves the log into the file writes first and says so afterwards, which takes as long
/// as the disk needs. Longer than this looks like somebody else who wrote.
const LONGEST_CHECKPOINT: Duration = Duration::from_secs(2);

/// What became of the file since the last look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileChange {
    Same,
    /// It was written: by SQLite, or as a whole. What is in the cache may be old.
    Written,
    /// The path leads to another file, or the log is another: the connection is of no use any more.
    Another,
}

/// The file as it was when it was last looked at.
#[derive(Debug)]
pub(super) struct FileState {
    path: PathBuf,
    log: PathBuf,
    index: PathBuf,
    stamp: Stamp,
    /// The log and its index, as far as they were there.
    companions: [Option<FileIdentity>; 2],
    /// How far the log was, if there is one and we may ask.
    progress: Option<Progress>,
    /// As what it was found to be overwritten.
    overwritten: Option<Stamp>,
}

/// What was found out about files that were overwritten: whoever opens one later could not tell.
static OVERWRITTEN: Mutex<BTreeMap<FileIdentity, Overwritten>> = Mutex::new(BTreeMap::new());

/// To which file a log belongs, by the path of the log, and its header then. SQLite would lay the log over
/// whatever file it finds beside it.
static LOGS: Mutex<BTreeMap<PathBuf, (FileIdentity, [u8; 32])>> = Mutex::new(BTreeMap::new());

/// A file before it was overwritten, and after.
#[derive(Debug, Clone, Copy)]
struct Overwritten {
    before: Stamp,
    after: Stamp,
    /// How far its log was.
    progress: Progress,
    log: Option<FileIdentity>,
}

/// Who has changed a file.
enum ChangedBy {
    /// SQLite itself, or nobody whose change matters.
    Sqlite,
    /// Somebody who has put another database in its place, all of which is in the file.
    Copy,
    /// The same, while the log of the old one was still needed.
    CopyUnder(Progress),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    identity: FileIdentity,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn at(path: &Path) -> Result<Stamp, StoreError> {
        FileIdentity::look(path).map(|metadata| Stamp::of(&metadata))
    }

    fn of(metadata: &Metadata) -> Stamp {
        Stamp {
            identity: FileIdentity::of(metadata),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    fn has_content_of(&self, other: &Stamp) -> bool {
        (self.size, self.modified) == (other.size, other.modified)
    }
}

/// How much of the log has been moved into the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Progress {
    /// The log's own header, which is another after every new beginning.
    generation: [u8; 32],
    frames: i64,
    moved: i64,
}

impl Progress {
    /// Nothing where there is no log, or where we may not ask.
    #[allow(clippy::disallowed_methods, reason = "SQLite keeps no locks on the log itself")]
    fn read(connection: &Connection, log: &Path) -> Option<Progress> {
        if rusqlite::version_number() < KNOWS_NOOP {
            return None;
        }
        let sql = "PRAGMA main.wal_checkpoint(NOOP)";
        let asked = connection.query_row(sql, [], |row| Ok((row.get(1)?, row.get(2)?)));
        let (frames, moved): (i64, i64) = asked.ok().filter(|(frames, _)| *frames >= 0)?;
        // SQLite keeps no locks on the log, so closing it here cannot take one away.
        let mut generation = [0; 32];
        if frames > 0 {
            File::open(log).and_then(|mut log| log.read_exact(&mut generation)).ok()?;
        }
        Some(Progress { generation, frames, moved })
    }

    /// Whether SQLite has written to the file since.
    fn has_moved_since(&self, before: &Progress) -> bool {
        (self.generation, self.moved) != (before.generation, before.moved)
    }

    fn is_all_moved(&self) -> bool {
        self.frames == self.moved
    }
}

impl FileState {
    /// The file that a connection has open and has read from.
    pub(super) fn new(path: &Path, connection: &Connection) -> Result<FileState, StoreError> {
        let (log, index) = (beside(path, "-wal"), beside(path, "-shm"));
        let stamp = Stamp::at(path)?;
        let companions = [&log, &index].map(|file| FileIdentity::at(file).ok());
        let mut state =
            FileState { path: path.into(), log, index, stamp, companions, progress: None, overwritten: None };
        let known = overwritten().remove(&stamp.identity);
        match known.filter(|known| known.log == companions[0]) {
            Some(known) => {
                (state.stamp, state.progress) = (known.before, Some(known.progress));
                state.overwritten = Some(known.after);
                state.check(connection)?;
            }
            None if state.has_the_log_of_another(connection) => {
                return Err(StoreError::Overwritten { path: path.into() });
            }
            None => state.remember(connection)?,
        }
        Ok(state)
    }

    /// What became of the file; an error if what SQLite would read is no state of any database.
    pub(super) fn check(&mut self, connection: &Connection) -> Result<FileChange, StoreError> {
        let stamp = Stamp::at(&self.path)?;
        if self.has_lost_a_companion() {
            return Ok(FileChange::Another);
        }
        if stamp == self.stamp && self.overwritten.is_none() {
            return Ok(FileChange::Same);
        }
        self.expect_permission()?;
        if stamp.identity != self.stamp.identity {
            // What is no file at all has a sentence of its own.
            expect_file(&self.path)?;
        }
        match self.cause(stamp, connection) {
            ChangedBy::Sqlite => {
                self.overwritten = None;
                self.remember(connection)?;
                Ok(FileChange::Written)
            }
            ChangedBy::Copy => Ok(FileChange::Another),
            ChangedBy::CopyUnder(_) if stamp.identity != self.stamp.identity => {
                Err(StoreError::Overwritten { path: self.path.clone() })
            }
            ChangedBy::CopyUnder(progress) => {
                self.overwritten = Some(stamp);
                let (before, log) = (self.stamp, self.companions[0]);
                let known = Overwritten { before, progress, log, after: stamp };
                overwritten().insert(stamp.identity, known);
                // An empty file has a sentence of its own.
                expect_file(&self.path)?;
                Err(StoreError::Overwritten { path: self.path.clone() })
            }
        }
    }

    /// Takes note of a log that has begun: only then can it be told from the next one.
    pub(super) fn note_log(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let is_new = self.progress.is_some_and(|progress| progress.frames == 0);
        if is_new && self.overwritten.is_none() {
            let progress = Progress::read(connection, &self.log);
            if Stamp::at(&self.path)? == self.stamp {
                self.progress = progress;
                self.note_owner();
            }
        }
        Ok(())
    }

    /// Notes down whose log it is, for whoever opens another file beside it.
    fn note_owner(&self) {
        if let Some(progress) = self.progress.filter(|progress| progress.frames > 0) {
            logs().insert(self.log.clone(), (self.stamp.identity, progress.generation));
        }
    }

    /// Whether the log that is needed was that of another file.
    fn has_the_log_of_another(&self, connection: &Connection) -> bool {
        let Some((owner, generation)) = logs().get(&self.log).copied() else { return false };
        owner != self.stamp.identity
            && Progress::read(connection, &self.log).is_some_and(|progress| {
                progress.frames > 0 && progress.generation == generation && !progress.is_all_moved()
            })
    }

    fn has_lost_a_companion(&self) -> bool {
        let files = [&self.log, &self.index].into_iter().zip(&self.companions);
        files.into_iter().any(|(file, was)| was.is_some() && FileIdentity::at(file).ok() != *was)
    }

    /// An open file can be read on by those who may not open it any more.
    fn expect_permission(&self) -> Result<(), StoreError> {
        use rustix::fs::{Access, access};
        match access(&self.path, Access::READ_OK) {
            Ok(()) => Ok(()),
            Err(_) => Err(StoreError::Unreadable { path: self.path.clone(), why: why_not(&self.path, 0) }),
        }
    }

    /// Who has changed the file.
    #[allow(clippy::disallowed_methods, reason = "nothing tells when another process has moved its log")]
    fn cause(&self, stamp: Stamp, connection: &Connection) -> ChangedBy {
        let is_another = stamp.identity != self.stamp.identity;
        let is_as_before = match &self.overwritten {
            // Somebody has put it back.
            Some(after) => !stamp.has_content_of(after) && stamp.size == self.stamp.size,
            None => stamp.has_content_of(&self.stamp),
        };
        if is_as_before && !is_another {
            return ChangedBy::Sqlite;
        }
        let started = Instant::now();
        loop {
            let (Some(before), Some(now)) = (self.progress, Progress::read(connection, &self.log)) else {
                return if is_another { ChangedBy::Copy } else { ChangedBy::Sqlite };
            };
            if now.has_moved_since(&before) {
                return if is_another { ChangedBy::Copy } else { ChangedBy::Sqlite };
            }
            if now.is_all_moved() {
                return ChangedBy::Copy;
            }
            let is_sure = is_another || self.overwritten.is_some();
            if is_sure || started.elapsed() > LONGEST_CHECKPOINT {
                return ChangedBy::CopyUnder(before);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Takes the file and the log as they are, at one moment of both.
    fn remember(&mut self, connection: &Connection) -> Result<(), StoreError> {
        const TRIES: usize = 5;
        for _ in 0..TRIES {
            let stamp = Stamp::at(&self.path)?;
            self.progress = Progress::read(connection, &self.log);
            self.stamp = Stamp::at(&self.path)?;
            if self.stamp == stamp {
                self.note_owner();
                return Ok(());
            }
        }
        // The log is being moved right now. Without its progress the next change is taken for a write.
        self.progress = None;
        Ok(())
    }
}

fn overwritten() -> MutexGuard<'static, BTreeMap<FileIdentity, Overwritten>> {
    OVERWRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn logs() -> MutexGuard<'static, BTreeMap<PathBuf, (FileIdentity, [u8; 32])>> {
    LOGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What keeps a file from being opened: that it was overwritten, if that is known of it.
pub(super) fn why_it_does_not_open(path: &Path, error: StoreError) -> StoreError {
    let is_known = |stamp: &Stamp| {
        overwritten().get(&stamp.identity).is_some_and(|known| stamp.has_content_of(&known.after))
    };
    match Stamp::at(path) {
        Ok(stamp) if stamp.size > 0 && is_known(&stamp) => StoreError::Overwritten { path: path.into() },
        _ => error,
    }
}

/// Forgets the pages in a connection's cache.
pub(super) fn forget_pages(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    connection.release_memory().map_err(|error| explain(path, &error, Duration::ZERO, "emptying the cache"))
}
