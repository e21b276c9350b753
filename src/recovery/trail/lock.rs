//! The lock on the journal, with a timeout.

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::error::TrailError;

/// How long a session waits for others that append.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockMode {
    /// To append.
    Exclusive,
    /// To read the length while nobody appends.
    Shared,
}

/// Locks the file until it is closed; an error names the process that holds the lock.
pub(super) fn lock(
    file: &File,
    path: &Path,
    hold: LockMode,
    lock_timeout: Duration,
) -> Result<(), TrailError> {
    let failed = |error: io::Error| TrailError::io(path, error);
    let (now, wait) = match hold {
        LockMode::Exclusive => (FlockOperation::NonBlockingLockExclusive, FlockOperation::LockExclusive),
        LockMode::Shared => (FlockOperation::NonBlockingLockShared, FlockOperation::LockShared),
    };
    match retry_on_intr(|| flock(file, now)) {
        Err(Errno::WOULDBLOCK) => {}
        other => return other.map_err(|error| failed(error.into())),
    }
    // The lock belongs to the open file, so a thread can wait for it. If we give up, the thread has the last handle, and
    // releases the lock by closing it.
    let (same, (done, locked)) = (file.try_clone().map_err(failed)?, channel());
    let waiting = thread::Builder::new().name("journal lock".into()).spawn(move || {
        let _ = done.send(retry_on_intr(|| flock(&same, wait)));
    });
    waiting.map_err(failed)?;
    match locked.recv_timeout(lock_timeout) {
        Ok(result) => result.map_err(|error| failed(error.into())),
        Err(_) => Err(TrailError::Busy { path: path.to_owned(), holder: holder(file), waited: lock_timeout }),
    }
}

/// The process that holds a lock on the file, if the kernel shows it.
fn holder(file: &File) -> Option<String> {
    let inode = file.metadata().ok()?.ino().to_string();
    // The kernel prints its list in pieces, and a lock that ends meanwhile can hide the one behind it.
    let pid = (0..LOOKS).find_map(|_| locked_by(&inode))?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(match crate::domain::visible::safe(name.trim()) {
        name if name.is_empty() => format!("process {pid}"),
        name => format!("process {pid} ({name})"),
    })
}

/// How often the kernel is asked who holds a lock before nobody is named.
const LOOKS: usize = 20;

/// The process with a lock on this inode, in the kernel's list of locks.
fn locked_by(inode: &str) -> Option<i64> {
    let locks = fs::read_to_string("/proc/locks").ok()?;
    // 12: FLOCK  ADVISORY  WRITE 4321 fd:01:131 0 EOF; waiting ones have an arrow after the number.
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_held = words.get(1) == Some(&"FLOCK");
        let place = words.get(5)?.rsplit(':').next()?;
        words[4].parse().ok().filter(|pid| is_held && place == inode && *pid > 0)
    })
}
