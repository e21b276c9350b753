//! Whether somebody is acting on a trail: the outcome of an act is written by the process that does it.

use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};

use super::Trail;

/// Held from the intent to the outcome, or while open acts of others are resolved. The kernel releases the lock of a
/// process that has died.
#[derive(Debug)]
pub struct ActivityLock {
    /// The folder of the journal.
    folder: File,
}

impl Drop for ActivityLock {
    /// Closing the file is not enough: a child process that is being started has a copy of it until its `exec`.
    fn drop(&mut self) {
        let _ = flock(&self.folder, FlockOperation::Unlock);
    }
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
        Some(ActivityLock { folder })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_dropped_is_free_although_a_child_still_has_a_copy() {
        let folder = tempfile::tempdir().unwrap();
        let trail = Trail::open(folder.path()).unwrap();
        let acting = trail.at_work().unwrap();
        let _inherited = acting.folder.try_clone().unwrap();
        assert!(trail.alone().is_none());
        drop(acting);
        assert!(trail.alone().is_some());
    }
}
