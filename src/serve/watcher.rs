//! What `serve` does with a source: it polls, and puts the figures into the metrics.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::domain::seen_boards::SeenBoards;
use crate::metrics::{Found, Metrics, Poll};
use crate::poller::{Next, OpenSource, Opener, Polled, Poller};
use crate::store::{Pace, StoreError};

/// Kinds cost more than the rest: they are read every so many polls.
const KINDS: u64 = 6;

/// Asks a watcher to open its source anew: the config was read again.
#[derive(Debug)]
pub struct Reopen;

/// Starts to poll the source with this number, so far apart.
pub fn watch(
    source: usize,
    open: Opener,
    every: Duration,
    metrics: Arc<Metrics>,
) -> io::Result<Poller<Reopen>> {
    let watcher = Watcher {
        number: source,
        source: OpenSource::new(open),
        every,
        metrics,
        boards: Default::default(),
        pace: Pace::default(),
        polls: 0,
        attempts: None,
    };
    Poller::start(format!("watcher {source}"), watcher)
}

struct Watcher {
    number: usize,
    source: OpenSource,
    every: Duration,
    metrics: Arc<Metrics>,
    /// The boards of this database that were seen, by its fingerprint.
    boards: (String, SeenBoards),
    polls: u64,
    pace: Pace,
    /// The database whose attempts were read, and up to where.
    attempts: Option<(String, i64)>,
}

impl Polled for Watcher {
    type Request = Reopen;

    fn poll(&mut self) -> Next {
        let at = Instant::now();
        let found = self.look();
        if found.is_err() {
            self.source.close();
        }
        let took = at.elapsed();
        // A source that did not answer may be back any moment.
        let pace = if found.is_ok() { self.pace.after(took, self.every) } else { self.every };
        let found = found.map_err(|error| error.sentence_after(&self.boards.1.profiles()));
        self.metrics.polled(self.number, Poll { at, took, pace, found });
        Next::At(at + pace)
    }

    fn answer(&mut self, Reopen: Reopen) -> Next {
        self.source.close();
        self.polls = 0;
        self.boards = Default::default();
        Next::At(Instant::now())
    }
}

impl Watcher {
    fn look(&mut self) -> Result<Found, StoreError> {
        let reader = self.source.reader()?;
        let snapshots = reader.poll()?;
        let fingerprint = reader.fingerprint();
        if self.boards.0 != fingerprint {
            self.boards = (fingerprint.clone(), SeenBoards::default());
        }
        let missing = self.boards.1.call(&snapshots);
        // If there are too many rows to count by kind, the other figures still stand.
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
