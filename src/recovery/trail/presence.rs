//! Who is at work on a trail: what became of an act is for the one to say who does it.

use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};

use super::Trail;

/// Held from the intent to the outcome, or while the open acts of others are found out. The kernel takes
/// it back from a process that has died.
#[derive(Debug)]
pub struct Presence {
    /// The folder of the journal; the lock lasts as long as it is open.
    _folder: File,
}

impl Trail {
    /// Somebody acts. Whoever settles meanwhile is not waited for: he may be frozen.
    pub fn at_work(&self) -> Option<Presence> {
        self.presence(FlockOperation::NonBlockingLockShared)
    }

    /// Nobody acts: every act that is open now was given up. Nothing, if somebody does.
    pub fn alone(&self) -> Option<Presence> {
        self.presence(FlockOperation::NonBlockingLockExclusive)
    }

    fn presence(&self, how: FlockOperation) -> Option<Presence> {
        let folder = OpenOptions::new().read(true).open(self.path().parent()?).ok()?;
        flock(&folder, how).ok()?;
        Some(Presence { _folder: folder })
    }
}
