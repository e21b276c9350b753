//! What is told to Prometheus: figures of every source, counted acts, and nothing that names a task, a
//! holder or a person.
//!
//! It is told what happened and keeps figures; it reads no database and no file. A scrape renders what
//! is known by then and waits for nobody.
//!
//! ```text
//! catalog     every metric: name, labels, help
//! samples       the samples of one scrape, and their text
//! source     one source: its polls, its figures while they are fresh
//! look        a poll, reduced to figures          kind_names  which kinds get a label
//! acts        from the trail                      sweeps      of the own sweeper
//! attempts    document 003's counters
//! ```

mod acts;
mod attempts;
pub mod catalog;
mod kind_names;
mod look;
mod samples;
mod source_metrics;
mod sweeps;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::sweep::Summary;
pub use acts::Acts;
use catalog::{BUILD, TRAIL};
pub use samples::Format;
use samples::MetricSamples;
use source_metrics::SourceMetrics;
pub use source_metrics::{Found, Poll};
pub use sweeps::Sweeps;

/// Everything that is known, shared by those who find out and those who ask.
#[derive(Debug)]
pub struct Metrics {
    sources: Vec<Mutex<SourceMetrics>>,
    trail: Mutex<Ledger>,
}

/// What the trail says.
#[derive(Debug, Default)]
struct Ledger {
    /// Nothing before it was read to its end.
    acts: Option<Acts>,
    /// Whether it could be read the last time; nothing before the first.
    readable: Option<bool>,
}

impl Metrics {
    /// For sources with these names, none of them twice.
    pub fn new(labels: impl IntoIterator<Item = String>) -> Metrics {
        let now = Instant::now();
        let sources = labels.into_iter().map(|label| Mutex::new(SourceMetrics::new(label, now))).collect();
        Metrics { sources, trail: Mutex::default() }
    }

    /// One poll of the source with this number is over.
    pub fn polled(&self, source: usize, poll: Poll) {
        if let Some(source) = self.sources.get(source) {
            lock(source).polled(poll);
        }
    }

    /// The source with this name will be swept by this process.
    pub fn will_sweep(&self, source: &str) {
        self.at(source, |source| {
            source.sweeps.get_or_insert_default();
        });
    }

    /// One pass of the own sweeper is over.
    pub fn swept(&self, summary: &Summary) {
        self.at(&summary.source, |source| source.sweeps.get_or_insert_default().add(summary));
    }

    fn at(&self, label: &str, tell: impl FnOnce(&mut SourceMetrics)) {
        if let Some(mut source) = self.sources.iter().map(lock).find(|source| source.label == label) {
            tell(&mut source);
        }
    }

    /// All acts in the trail, or that it cannot be read.
    pub fn count_acts(&self, acts: Option<Acts>) {
        let mut trail = lock(&self.trail);
        trail.readable = Some(acts.is_some());
        // Without acts the last ones stay: a counter that falls to zero and rises again is counted twice.
        trail.acts = acts.or_else(|| trail.acts.take());
    }

    /// Of every source whether it was read well lately, each with a sentence.
    pub fn readiness(&self, now: Instant) -> Vec<Result<String, String>> {
        self.sources.iter().map(|source| lock(source).readiness(now)).collect()
    }

    /// As text for a scraper.
    pub fn text(&self, now: Instant, format: Format) -> Result<String, fmt::Error> {
        let mut samples = MetricSamples::default();
        samples.set(&BUILD, &[env!("CARGO_PKG_VERSION")], 1.0);
        let trail = lock(&self.trail);
        if let Some(readable) = trail.readable {
            samples.set(&TRAIL, &[], f64::from(u8::from(readable)));
        }
        for source in &self.sources {
            let mut source = lock(source);
            source.fill(&mut samples, now);
            if let Some(acts) = &trail.acts {
                source.fill_zeros(&mut samples);
                for fingerprint in source.fingerprints() {
                    acts.fill(&mut samples, &source.label, fingerprint);
                }
            }
        }
        drop(trail);
        samples.text(format)
    }
}

/// Figures are replaced whole, so that those of a thread that died are as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
