//! The polling loop: one thread per source that looks when it is due and answers requests in between.
//!
//! A slow or dead source keeps its own thread waiting and no other. The dashboard, `check --watch`, `sweep` and
//! `serve` all run this loop; they differ in what they do with a look.

mod inbox;
mod open_source;
mod source_watch;

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use inbox::{Inbox, Taken};
pub use open_source::{OpenSource, Opener};
pub use source_watch::{SMALL, SourceWatch, read_again, unless_lost};

/// What a thread does with its source.
pub trait Polled {
    /// What it can be asked between two looks.
    type Request;

    /// Looks at the source.
    fn poll(&mut self) -> Next;

    fn answer(&mut self, request: Self::Request) -> Next;

    /// Whether the answer to `new` makes an answer to `old`, which still waits, superfluous.
    fn replaces(_new: &Self::Request, _old: &Self::Request) -> bool {
        true
    }
}

/// When to look again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    At(Instant),
    /// Not before a request says so.
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
    /// Starts the loop in a thread of its own, with a first look at once.
    pub fn start(name: String, mut work: impl Polled<Request = R> + Send + 'static) -> io::Result<Poller<R>> {
        let (requests, inbox) = channel();
        let thread = thread::Builder::new().name(name).spawn(move || run(&mut work, inbox))?;
        Ok(Poller { requests, thread })
    }

    /// Asks the thread something; one that has ended answers nothing.
    pub fn ask(&self, request: R) {
        let _ = self.requests.send(request);
    }

    /// Ends the loop after the look that is under way, and waits for that.
    pub fn end(self) {
        drop(self.requests);
        // A thread that panicked has said so.
        let _ = self.thread.join();
    }
}

/// The loop itself, until the sender of the requests is dropped or the work says that it is over.
pub fn run<W: Polled>(work: &mut W, requests: Receiver<W::Request>) {
    let mut inbox = Inbox::new(requests, W::replaces);
    let mut next = Next::At(Instant::now());
    loop {
        let due = match next {
            Next::At(due) => Some(due),
            Next::WhenAsked => None,
            Next::Never => return,
        };
        next = match inbox.take(due) {
            Taken::Request(request) => work.answer(request),
            Taken::Nothing => work.poll(),
            Taken::End => return,
        };
    }
}
