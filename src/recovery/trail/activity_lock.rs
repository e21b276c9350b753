//! Whether somebody is acting on a trail: the outcome of an act is written by the process that does it.

use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};

use super::Trail;

/// Held from the intent to the outcome, or while open acts of others are resolved. The kernel releases the lock of a
/// process that has died.
#[derive(Debug)]
pub struct ActivityLock {
    /// The folder of the journal; the lock lasts as long as it is open.
    _folder: File,
}

impl Trail {
    /// Announces that this process acts. It does not wait for a process that resolves: that may be suspended.
    pub fn at_work(&self) -> Option<ActivityLock> {
        self.presence(FlockOperation::NonBlockingLockShared)
    }

    /// Succeeds if nobody acts: then every open act was abandoned.
    pub fn alone(&self) -> Option<ActivityLock> {
        self.presence(FlockOperation::NonBlockingLockExclusive)
    }

    fn presence(&self, how: FlockOperation) -> Option<ActivityLock> {
        let folder = OpenOptions::new().read(true).open(self.path().parent()?).ok()?;
        flock(&folder, how).ok()?;
        Some(ActivityLock { _folder: folder })
    }
}
