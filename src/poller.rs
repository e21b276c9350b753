//! The polling loop: one thread per source that polls when it is due and answers requests in between.
//!
//! A slow or dead source delays only its own thread. The dashboard, `check --watch`, `sweep` and `serve` all run this
//! loop; they differ in what they do with a poll.

mod cleanup_observer;
mod facts_watch;
mod full_look;
mod inbox;
mod open_source;
mod recorder;
mod source_watch;

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

pub use cleanup_observer::CleanupObserver;
pub use facts_watch::FactsWatch;
pub use full_look::{FullLook, FullPoll, SILENCE};
use inbox::{Inbox, InboxItem};
pub use open_source::{OpenSource, Opener};
pub use recorder::{Recorder, SharedRecording};
pub use source_watch::{SMALL, SourceWatch, read_again, unless_lost};

/// The work of a polling thread.
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
    /// Never: the loop ends.
    Never,
}

/// A handle on the thread. The loop ends when the handle is dropped.
#[derive(Debug)]
pub struct Poller<R> {
    requests: Sender<R>,
    thread: JoinHandle<()>,
}

impl<R: Send + 'static> Poller<R> {
    /// Starts the loop in its own thread; the first poll begins now.
    pub fn start(name: String, mut work: impl Polled<Request = R> + Send + 'static) -> io::Result<Poller<R>> {
        let (requests, inbox) = channel();
        let thread = thread::Builder::new().name(name).spawn(move || run(&mut work, inbox))?;
        Ok(Poller { requests, thread })
    }

    /// Sends a request to the thread; a thread that has ended does not answer.
    pub fn ask(&self, request: R) {
        let _ = self.requests.send(request);
    }

    /// Ends the loop after the current poll, and waits for that.
    pub fn end(self) {
        drop(self.requests);
        // The panic of the thread was reported when it happened.
        let _ = self.thread.join();
    }
}

/// The loop; it ends when the sender of requests is dropped or the work returns `Never`.
pub fn run<W: Polled>(work: &mut W, requests: Receiver<W::Request>) {
    let mut inbox = Inbox::new(requests, W::replaces);
    let mut next = NextPoll::At(Instant::now());
    loop {
        let due = match next {
            NextPoll::At(due) => Some(due),
            NextPoll::WhenAsked => None,
            NextPoll::Never => return,
        };
        next = match inbox.take(due) {
            InboxItem::Request(request) => work.answer(request),
            InboxItem::PollIsDue => work.poll(),
            InboxItem::End => return,
        };
    }
}
