//! Polling: a source is polled when it is due, and answers requests in between.
//!
//! A small pool of threads polls all sources; a slow or dead source delays no other. The dashboard, `check`, `sweep`,
//! `record` and `serve` all poll this way; they differ in what they do with a poll.

mod cleanup_observer;
mod facts_watch;
mod full_look;
mod open_source;
mod pool;
mod recorder;
mod source_watch;

use std::time::Instant;

pub use cleanup_observer::CleanupObserver;
pub use facts_watch::FactsWatch;
pub use full_look::{FullLook, FullPoll, SILENCE};
pub use open_source::{OpenSource, Opener};
pub use pool::{Poller, PollerPool};
pub use recorder::{Recorder, SharedRecording};
pub use source_watch::{SMALL, SourceWatch, read_again, unless_lost};

/// What is done with one source.
pub trait Polled {
    /// What can be requested between two polls.
    type Request;

    /// Polls the source.
    fn poll(&mut self) -> NextPoll;

    fn answer(&mut self, request: Self::Request) -> NextPoll;

    /// Whether the answer to `new` makes an answer to `old`, which still waits, unnecessary.
    fn replaces(_new: &Self::Request, _old: &Self::Request) -> bool {
        true
    }
}

/// When to poll again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextPoll {
    At(Instant),
    /// Only after a request.
    WhenAsked,
    /// Never: polling ends.
    Never,
}
