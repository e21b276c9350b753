//! Continuous sweeping: every source is swept when it is due.

use std::io;

use super::swept_source::{Reload, SweptSource};
use crate::poller::{Poller, PollerPool};

/// The sources that are swept.
#[derive(Debug)]
pub struct Sweeper {
    sources: Vec<Poller<Reload>>,
}

impl Sweeper {
    /// Sweeps every source now, and again whenever it is due.
    pub fn start(sources: Vec<SweptSource>) -> io::Result<Sweeper> {
        let pool = PollerPool::new("sweep");
        let start = |source| pool.start(source);
        Ok(Sweeper { sources: sources.into_iter().map(start).collect::<io::Result<_>>()? })
    }

    /// Makes every source use the reloaded config.
    pub fn reload(&self) {
        for source in &self.sources {
            source.ask(Reload);
        }
    }

    /// Ends after the current batches. The stop flag that the sources were given must be set before.
    pub fn end(self) {
        self.sources.into_iter().for_each(Poller::end);
    }
}
