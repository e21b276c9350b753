//! The file below a trail: opened, locked, read line by line, and appended to all or nothing.
//!
//! It is opened anew for every use. A journal that was moved aside is then not written to by a
//! session that still held it, and every use has a lock of its own, threads included.

use rustix::fs::{FlockOperation, flock};
use rustix::io::retry_on_intr;
use sha2::{Digest, Sha256};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::error::TrailError;

/// What an append waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitFor {
    Disk,
    /// The next append that waits has the disk take this one too.
    Nothing,
}

#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
}

impl Journal {
    pub(super) fn at(folder: &Path) -> Journal {
        Journal { path: folder.join("journal.jsonl") }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn error(&self, source: io::Error) -> TrailError {
        TrailError::io(&self.path, source)
    }

    /// Makes the folder and the file, for their owner alone, unless they are there.
    pub(super) fn create(&self, folder: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        self.writable()?;
        // The name of a new file is safe on disk only with its folder.
        OpenOptions::new().read(true).open(folder)?.sync_all()
    }

    fn writable(&self) -> io::Result<File> {
        OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&self.path)
    }

    /// The file and its length, for one writer at a time, until the file is dropped.
    pub(super) fn lock(&self) -> io::Result<(File, u64)> {
        let file = self.writable()?;
        retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))?;
        let length = file.metadata()?.len();
        Ok((file, length))
    }

    /// Appends the text to a locked file of this length. If that fails, the file is cut back; should even
    /// this fail, the next append finds a torn line.
    pub(super) fn append(mut file: &File, length: u64, text: &str, wait: WaitFor) -> io::Result<()> {
        let written = file.write_all(text.as_bytes()).and_then(|()| match wait {
            WaitFor::Disk => file.sync_data(),
            WaitFor::Nothing => Ok(()),
        });
        if written.is_err() {
            let _ = file.set_len(length).and_then(|()| file.sync_data());
        }
        written
    }

    /// Waits until the disk has all of it.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.readable()?.map_or(Ok(()), |file| file.sync_data())
    }

    /// Hands every line after a place, with its newline, to `take`, and says where they end. A journal
    /// that is not there has no lines.
    pub(super) fn each_line_since(
        &self,
        from: Position,
        mut take: impl FnMut(&[u8]),
    ) -> io::Result<Position> {
        let Some(mut file) = self.readable()? else { return Ok(Position::default()) };
        let end = Position::at(&file, settled_length(&file)?)?;
        let known = from.length <= end.length && Position::at(&file, from.length)? == from;
        let start = if known { from.length } else { 0 };
        file.seek(SeekFrom::Start(start))?;
        let mut lines = BufReader::new(&file).take(end.length - start);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            take(&line);
            line.clear();
        }
        Ok(end)
    }

    pub(super) fn readable(&self) -> io::Result<Option<File>> {
        match OpenOptions::new().read(true).open(&self.path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// How far somebody has read; the default is the beginning.
///
/// A file that takes the place of another may get its number, too, so what stands before the place
/// is part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    inode: u64,
    length: u64,
    before: [u8; 32],
}

impl Position {
    /// How much of what stands before it is looked at.
    const LOOK: u64 = 1_024;

    pub(super) fn at(file: &File, length: u64) -> io::Result<Position> {
        let look = length.min(Position::LOOK);
        let mut bytes = vec![0; usize::try_from(look).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, length - look)?;
        Ok(Position { inode: file.metadata()?.ino(), length, before: Sha256::digest(&bytes).into() })
    }
}

/// What one append has added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub from: Position,
    /// Unless the file could not be looked at any more.
    pub to: Option<Position>,
}

/// The length when nobody was writing. What stands before it never changes again, so a long read
/// needs no lock and keeps no writer waiting.
fn settled_length(file: &File) -> io::Result<u64> {
    retry_on_intr(|| flock(file, FlockOperation::LockShared))?;
    let length = file.metadata()?.len();
    flock(file, FlockOperation::Unlock)?;
    Ok(length)
}
