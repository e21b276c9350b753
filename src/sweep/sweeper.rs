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
    /// Sweeps every source at once, and again whenever it is due.
    pub fn start(sources: Vec<SweptSource>) -> io::Result<Sweeper> {
        let start = |(number, source)| Poller::start(format!("sweep {number}"), source);
        Ok(Sweeper { sources: sources.into_iter().enumerate().map(start).collect::<io::Result<_>>()? })
    }

    /// Has every source use the config that was read again.
    pub fn reload(&self) {
        self.sources.iter().for_each(|source| source.ask(Reload));
    }

    /// Ends after the batches that are under way: the flag that the sources were given has to be set.
    pub fn end(self) {
        self.sources.into_iter().for_each(Poller::end);
    }
}
