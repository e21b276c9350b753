//! The files of a trail: opened, locked, and appended to all or nothing.
//!
//! They are opened again for every use. A session therefore does not write to a journal that was moved aside, and every
//! use has its own lock, even in threads.

use rustix::fs::{CWD, RenameFlags, renameat_with};
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::TrailError;
use super::lock::{LOCK_TIMEOUT, LockMode, lock};
use super::ownership;
use super::segment::{LAST, LinePlace, Segment, Segments, sealed_name, sealed_numbers};

/// The size at which the next file is begun.
const FULL: u64 = 8 << 20;
/// How much of the journal may be read again and again before the index must cover it.
const LAG: u64 = 128 << 10;

/// What an append waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitFor {
    Disk,
    /// Nothing: the next append that waits for the disk covers this one too.
    Nothing,
}

#[derive(Debug)]
pub(super) struct Journal {
    folder: PathBuf,
    path: PathBuf,
    pub(super) lock_timeout: Duration,
    pub(super) full: u64,
    pub(super) lag: u64,
}

/// The last file, locked for one writer until it is dropped.
#[derive(Debug)]
pub(super) struct LockedFile {
    pub(super) file: File,
    pub(super) length: u64,
    pub(super) number: u32,
}

impl Journal {
    pub(super) fn at(folder: &Path) -> Journal {
        let (folder, path) = (folder.to_owned(), folder.join(LAST));
        Journal { folder, path, lock_timeout: LOCK_TIMEOUT, full: FULL, lag: LAG }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn error(&self, source: io::Error) -> TrailError {
        TrailError::io(&self.path, source)
    }

    /// Creates the folder and the file for their owner alone, if they do not exist.
    pub(super) fn create(&self) -> Result<(), TrailError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(|error| self.error(error))?;
        self.writable()?;
        self.sync_folder().map_err(|error| self.error(error))
    }

    /// The name of a new file is durable only once its folder is synced.
    fn sync_folder(&self) -> io::Result<()> {
        OpenOptions::new().read(true).open(&self.folder)?.sync_all()
    }

    fn writable(&self) -> Result<File, TrailError> {
        ownership::check_folder(&self.folder)?;
        let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&self.path);
        self.trusted(file)
    }

    fn trusted(&self, file: io::Result<File>) -> Result<File, TrailError> {
        let file = file.map_err(|error| self.error(error))?;
        ownership::check(&self.path, &file.metadata().map_err(|error| self.error(error))?)?;
        Ok(file)
    }

    fn readable(&self) -> Result<Option<File>, TrailError> {
        ownership::check_folder(&self.folder)?;
        match OpenOptions::new().read(true).open(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            file => self.trusted(file).map(Some),
        }
    }

    /// Whether the file is still the last one: it may have been sealed while we waited.
    fn is_last(&self, file: &File) -> io::Result<bool> {
        let (ours, named) = (file.metadata()?, fs::metadata(&self.path));
        match named {
            Ok(named) => Ok((ours.dev(), ours.ino()) == (named.dev(), named.ino())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The last file and its length, locked.
    pub(super) fn lock(&self) -> Result<LockedFile, TrailError> {
        let failed = |error| self.error(error);
        loop {
            let file = self.writable()?;
            lock(&file, &self.path, LockMode::Exclusive, self.lock_timeout)?;
            if self.is_last(&file).map_err(failed)? {
                let length = file.metadata().map_err(failed)?.len();
                let sealed = sealed_numbers(&self.folder).map_err(failed)?;
                return Ok(LockedFile { file, length, number: sealed.last().map_or(1, |last| last + 1) });
            }
        }
    }

    /// Gives a full file its number and begins the next one. A crash in between leaves a journal without a last file,
    /// which the next append creates.
    pub(super) fn seal(&self, locked: &LockedFile) -> Result<(), TrailError> {
        let failed = |error| self.error(error);
        locked.file.sync_all().map_err(failed)?;
        let sealed = self.folder.join(sealed_name(locked.number));
        // A sealed file is never replaced.
        let renamed = renameat_with(CWD, &self.path, CWD, &sealed, RenameFlags::NOREPLACE);
        renamed.map_err(|error| failed(error.into()))?;
        self.sync_folder().map_err(failed)?;
        self.writable()?;
        self.sync_folder().map_err(failed)
    }

    /// Appends the text to a locked file. If that fails, the file is truncated again; if even that fails, the next
    /// append finds a torn line.
    pub(super) fn append(locked: &LockedFile, text: &str, wait: WaitFor) -> io::Result<()> {
        let mut file = &locked.file;
        let written = file.write_all(text.as_bytes()).and_then(|()| match wait {
            WaitFor::Disk => file.sync_data(),
            WaitFor::Nothing => Ok(()),
        });
        if written.is_err() {
            let _ = file.set_len(locked.length).and_then(|()| file.sync_data());
        }
        written
    }

    /// Waits until the disk has all of it.
    pub(super) fn sync(&self) -> Result<(), TrailError> {
        match self.readable()? {
            Some(file) => file.sync_data().map_err(|error| self.error(error)),
            None => Ok(()),
        }
    }

    /// All files, as they are while nobody appends. Their contents up to that point never change, so a long read needs
    /// no lock and delays no writer. A missing journal has no files.
    pub(super) fn segments(&self) -> Result<Segments, TrailError> {
        let failed = |error| self.error(error);
        loop {
            let last = self.readable()?;
            if let Some(file) = &last {
                lock(file, &self.path, LockMode::Shared, self.lock_timeout)?;
                if !self.is_last(file).map_err(failed)? {
                    continue;
                }
            }
            let numbers = sealed_numbers(&self.folder).map_err(failed)?;
            let sealed = numbers.iter().map(|number| Segment::sealed(&self.folder, *number));
            let mut segments = sealed.collect::<Result<Vec<Segment>, TrailError>>()?;
            if let Some(file) = last {
                let end = file.metadata().map_err(failed)?.len();
                rustix::fs::flock(&file, rustix::fs::FlockOperation::Unlock)
                    .map_err(|error| failed(error.into()))?;
                let number = numbers.last().map_or(1, |last| last + 1);
                segments.push(Segment { number, path: self.path.clone(), end, file: Some(file) });
            }
            return Ok(Segments(segments));
        }
    }
}

/// A position up to which a journal was read; the default is the beginning.
///
/// A file may be replaced by another with the same name, so a digest of the bytes before the position is part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    segment: u32,
    length: u64,
    before: [u8; 32],
}

impl Position {
    /// How many of the bytes before the position are compared.
    const LOOK: u64 = 1_024;

    pub(super) fn at(file: &File, segment: u32, length: u64) -> io::Result<Position> {
        let look = length.min(Position::LOOK);
        let mut bytes = vec![0; usize::try_from(look).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, length - look)?;
        Ok(Position { segment, length, before: Sha256::digest(&bytes).into() })
    }

    /// The end of the journal.
    pub(super) fn end_of(segments: &Segments) -> io::Result<Position> {
        match segments.0.last() {
            Some(last) => Position::at(&last.open()?, last.number, last.end),
            None => Ok(Position::default()),
        }
    }

    /// The same place in a journal, if it is still the same journal.
    pub(super) fn found_in(&self, segments: &Segments) -> io::Result<Option<LinePlace>> {
        let Some(segment) = segments.get(self.segment).filter(|segment| self.length <= segment.end) else {
            return Ok(None);
        };
        let same = Position::at(&segment.open()?, self.segment, self.length)? == *self;
        Ok(same.then_some(LinePlace { segment: self.segment, offset: self.length }))
    }
}

/// The range that one append has added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendedRange {
    pub from: Position,
    /// Empty if the file could not be read any more.
    pub to: Option<Position>,
}
