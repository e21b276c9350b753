//! One thread per source that polls at its pace, and tells what it found.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::domain::seen_boards::SeenBoards;
use crate::metrics::{Found, Metrics, Poll};
use crate::store::StoreError;
use crate::store::{Options, Pace, Reader};

/// How to open a source, as often as it takes.
pub type Opener = Arc<dyn Fn() -> Result<Options, StoreError> + Send + Sync>;

/// Kinds cost more than the rest: every so many polls.
const KINDS: u64 = 6;

/// A handle on the thread, which ends with it.
#[derive(Debug)]
pub struct Watcher {
    orders: Sender<Duration>,
}

impl Watcher {
    /// Polls the source with this number, so far apart.
    pub fn start(source: usize, open: Opener, every: Duration, metrics: Arc<Metrics>) -> io::Result<Watcher> {
        let (orders, inbox) = channel();
        let work = Work {
            source,
            open,
            every,
            metrics,
            reader: None,
            roll: Default::default(),
            pace: Pace::default(),
            polls: 0,
            attempts: None,
        };
        thread::Builder::new().name(format!("watcher {source}")).spawn(move || work.run(&inbox))?;
        Ok(Watcher { orders })
    }

    /// Opens the source anew, and polls so far apart from now on.
    pub fn restart(&self, every: Duration) {
        // A thread that is gone has nothing to open.
        let _ = self.orders.send(every);
    }
}

struct Work {
    source: usize,
    open: Opener,
    every: Duration,
    metrics: Arc<Metrics>,
    reader: Option<Reader>,
    /// The boards of this database.
    roll: (String, SeenBoards),
    polls: u64,
    pace: Pace,
    /// The database whose attempts were read, and up to where.
    attempts: Option<(String, i64)>,
}

impl Work {
    fn run(mut self, inbox: &Receiver<Duration>) {
        loop {
            let at = Instant::now();
            let found = self.look();
            if found.is_err() {
                // Whatever it was, the next poll begins anew.
                self.reader = None;
            }
            let took = at.elapsed();
            // One that did not answer may be back any moment.
            let pace = if found.is_ok() { self.pace.after(took, self.every) } else { self.every };
            let found = found.map_err(|error| error.sentence_after(&self.roll.1.profiles()));
            self.metrics.polled(self.source, Poll { at, took, pace, found });
            match inbox.recv_timeout((at + pace).saturating_duration_since(Instant::now())) {
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(every) => {
                    (self.every, self.reader, self.polls) = (every, None, 0);
                    self.roll = Default::default();
                }
            }
        }
    }

    fn look(&mut self) -> Result<Found, StoreError> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => none.insert(Reader::open((self.open)()?)?),
        };
        let snapshots = reader.poll()?;
        let fingerprint = reader.fingerprint();
        if self.roll.0 != fingerprint {
            self.roll = (fingerprint.clone(), SeenBoards::default());
        }
        let missing = self.roll.1.call(&snapshots);
        // What is too much to count by kind is not shown by kind; the rest stands.
        let kinds = self.polls.is_multiple_of(KINDS).then(|| reader.kinds().unwrap_or_default());
        let known = self.attempts.as_ref().filter(|(of, _)| *of == fingerprint).map(|(_, up_to)| *up_to);
        let attempts = reader.attempts(known).ok().flatten();
        if let Some(attempts) = &attempts {
            self.attempts = Some((fingerprint.clone(), attempts.up_to));
        }
        self.polls += 1;
        let attempts = attempts.map(|attempts| attempts.new);
        Ok(Found { fingerprint, snapshots, missing, kinds, attempts })
    }
}
