//! Continuous sweeping: the polling loop on every source.

use std::io;

use super::swept_source::{Reload, SweptSource};
use crate::poller::Poller;

/// The threads that sweep.
#[derive(Debug)]
pub struct Sweeper {
    sources: Vec<Poller<Reload>>,
}

impl Sweeper {
    /// Sweeps every source now, and again whenever it is due.
    pub fn start(sources: Vec<SweptSource>) -> io::Result<Sweeper> {
        let start = |(number, source)| Poller::start(format!("sweep {number}"), source);
        Ok(Sweeper { sources: sources.into_iter().enumerate().map(start).collect::<io::Result<_>>()? })
    }

    /// Makes every source use the reloaded config.
    pub fn reload(&self) {
        self.sources.iter().for_each(|source| source.ask(Reload));
    }

    /// Ends after the current batches. The stop flag that the sources were given must be set before.
    pub fn end(self) {
        self.sources.into_iter().for_each(Poller::end);
    }
}
