//! Polls a source for `serve` and reports the figures to the metrics.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::page::{LivePage, PageData};
use super::router::ServedContent;
use crate::domain::seen_boards::SeenBoards;
use crate::metrics::{MetricsRegistry, PollRecord, PollResult};
use crate::poller::{CleanupObserver, FactsWatch, NextPoll, OpenSource, Opener, Polled, Poller, PollerPool};
use crate::store::{AttemptCursor, Pace, StoreError};

/// Kinds cost more than the rest: they are read on every sixth poll only.
const KINDS: u64 = 6;
/// How many minutes the page looks ahead.
const AHEAD: usize = 30;

/// Asks a watcher to open its source again, because the config was read again.
#[derive(Debug)]
pub struct Reopen;

/// Starts to poll the source with this number, at this interval.
pub fn watch(
    pool: &PollerPool,
    source: usize,
    open: Opener,
    every: Duration,
    answers: &ServedContent,
) -> io::Result<Poller<Reopen>> {
    let page = answers.page.clone();
    let mut facts = FactsWatch::new(&page.as_ref().map(|page| page.label(source)).unwrap_or_default());
    if page.is_some() {
        facts.gather_always();
    }
    let metrics = Arc::clone(&answers.metrics);
    let watcher = Watcher {
        number: source,
        source: OpenSource::new(open),
        every,
        metrics,
        page,
        boards: Default::default(),
        pace: Pace::default(),
        facts,
        polls: 0,
        attempts: None,
        cleanups: CleanupObserver::default(),
    };
    pool.start(watcher)
}

struct Watcher {
    number: usize,
    source: OpenSource,
    every: Duration,
    metrics: Arc<MetricsRegistry>,
    /// The page for people.
    page: Option<Arc<LivePage>>,
    /// The boards of this database that were seen, by its fingerprint.
    boards: (String, SeenBoards),
    polls: u64,
    pace: Pace,
    /// Causes are found in these. The page shows them; of the metrics only their number is one.
    facts: FactsWatch,
    /// The database whose attempts were read, and up to where.
    attempts: Option<(String, AttemptCursor)>,
    /// Sees what others cleaned up.
    cleanups: CleanupObserver,
}

impl Polled for Watcher {
    type Request = Reopen;

    fn poll(&mut self) -> NextPoll {
        let at = Instant::now();
        let found = self.look();
        if found.is_err() {
            self.source.close();
            self.facts.forget();
        }
        let took = at.elapsed();
        // A source that failed is tried again after the usual interval: it may be back soon.
        let pace = if found.is_ok() { self.pace.after(took, self.every) } else { self.every };
        let found = found.map_err(|error| error.sentence_after(&self.boards.1.profiles()));
        if let (Some(page), Err(why)) = (&self.page, &found) {
            page.polled(self.number, Err(why.clone()));
        }
        self.metrics.polled(self.number, PollRecord { at, took, pace, found });
        NextPoll::At(at + pace)
    }

    fn answer(&mut self, Reopen: Reopen) -> NextPoll {
        self.source.close();
        self.polls = 0;
        self.boards = Default::default();
        NextPoll::At(Instant::now())
    }
}

impl Watcher {
    fn look(&mut self) -> Result<PollResult, StoreError> {
        let reader = self.source.reader()?;
        let snapshots = reader.poll()?;
        let cleaned_up = self.cleanups.observe(reader, &snapshots)?;
        self.facts.refresh(reader, &snapshots)?;
        let fingerprint = reader.fingerprint();
        if self.boards.0 != fingerprint {
            self.boards = (fingerprint.clone(), SeenBoards::default());
        }
        let missing = self.boards.1.call(&snapshots);
        if let Some(page) = &self.page {
            page.polled(
                self.number,
                Ok(PageData {
                    at: Instant::now(),
                    snapshots: snapshots.clone(),
                    facts: self.facts.facts(),
                    causes: self.facts.causes().to_vec(),
                    horizon: reader.horizon(AHEAD).unwrap_or_default(),
                }),
            );
        }
        // If there are too many rows to count by kind, the other figures are still valid.
        let kinds = self.polls.is_multiple_of(KINDS).then(|| reader.kinds().unwrap_or_default());
        let known = self.attempts.as_ref().filter(|(of, _)| *of == fingerprint).map(|(_, cursor)| cursor);
        let attempts = reader.attempts(known).ok().flatten();
        if let Some(attempts) = &attempts {
            self.attempts = Some((fingerprint.clone(), attempts.cursor.clone()));
        }
        self.polls += 1;
        let attempts = attempts.map(|attempts| attempts.new);
        let causes = self.facts.causes().len();
        Ok(PollResult { fingerprint, snapshots, causes, missing, kinds, attempts, cleaned_up })
    }
}
