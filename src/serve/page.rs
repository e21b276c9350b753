//! The live page for people without a shell: what every source was like at its last poll.
//!
//! It knows what the watchers found and nothing else; it reads no database and cannot change anything.
//!
//! ```text
//! html       the page: causes, sets, groups, timeline
//! style      how it looks, light and dark
//! timeline   past and future as a picture
//! ```

mod html;
mod timeline;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::domain::cause::{Cause, Facts};
use crate::domain::detail::Horizon;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Moment;

/// What a poll found, as far as people want to see it.
#[derive(Debug)]
pub struct PageData {
    pub at: Instant,
    pub snapshots: Vec<Snapshot>,
    /// Nothing while nothing is in trouble.
    pub facts: Option<Arc<Facts>>,
    pub causes: Vec<Cause>,
    pub horizon: Horizon,
}

/// One source.
#[derive(Debug)]
struct SourceState {
    label: String,
    /// The last poll that was answered.
    look: Option<PageData>,
    /// Why the last one was not, and since when.
    down: Option<(Instant, String)>,
}

/// The page, shared by the watchers and those who ask for it.
#[derive(Debug)]
pub struct LivePage {
    sources: Vec<Mutex<SourceState>>,
    every: Duration,
}

impl LivePage {
    /// For sources with these names, polled so far apart.
    pub fn new(labels: impl IntoIterator<Item = String>, every: Duration) -> LivePage {
        let source = |label| Mutex::new(SourceState { label, look: None, down: None });
        LivePage { sources: labels.into_iter().map(source).collect(), every }
    }

    /// The name of the source with this number.
    pub(super) fn label(&self, source: usize) -> String {
        self.sources.get(source).map(|source| lock(source).label.clone()).unwrap_or_default()
    }

    /// One poll of the source with this number is over.
    pub fn polled(&self, source: usize, found: Result<PageData, String>) {
        let Some(mut source) = self.sources.get(source).map(lock) else { return };
        match found {
            Ok(look) => (source.look, source.down) = (Some(look), None),
            Err(why) => {
                let since = source.down.as_ref().map_or_else(Instant::now, |(since, _)| *since);
                source.down = Some((since, why));
            }
        }
    }

    /// The page as it is now. The browser applies its style only if that carries the nonce.
    pub fn html(&self, now: Instant, clock: Moment, nonce: &str) -> String {
        let sources: Vec<MutexGuard<'_, SourceState>> = self.sources.iter().map(lock).collect();
        let sources: Vec<&SourceState> = sources.iter().map(|source| &**source).collect();
        html::page(&sources, &html::Frame { now, clock, nonce, every: self.every })
    }
}

/// What is shown is replaced whole, so that what a thread that died left is as good as any.
fn lock(source: &Mutex<SourceState>) -> MutexGuard<'_, SourceState> {
    source.lock().unwrap_or_else(PoisonError::into_inner)
}
