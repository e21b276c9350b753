//! Prometheus metrics: figures of every source and counted acts. No label names a task, a holder or a person.
//!
//! Other modules report what happened; this one keeps the figures. It reads no database and no file, and a scrape
//! renders the current figures without waiting.
//!
//! ```text
//! catalog         every metric: name, labels, help
//! samples         the samples of one scrape, and their text
//! source_metrics  one source: its polls, its figures while they are fresh
//! poll_figures    a poll, reduced to numbers          kind_names     which kinds get a label
//! act_counts      acts, counted from the trail        sweep_metrics  what this process's sweeper did
//! attempt_counts  the counters of finalization
//! ```

mod act_counts;
mod attempt_counts;
pub mod catalog;
mod kind_names;
mod poll_figures;
mod samples;
mod source_metrics;
mod sweep_metrics;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::sweep::SweepSummary;
pub use act_counts::ActCounts;
use catalog::{BUILD, TRAIL};
pub use samples::ExpositionFormat;
use samples::MetricSamples;
use source_metrics::SourceMetrics;
pub use source_metrics::{PollRecord, PollResult};
pub use sweep_metrics::SweepMetrics;

/// All metrics, shared by the threads that report and the connections that scrape.
#[derive(Debug)]
pub struct MetricsRegistry {
    sources: Vec<Mutex<SourceMetrics>>,
    trail: Mutex<TrailCounts>,
}

/// What the audit trail says.
#[derive(Debug, Default)]
struct TrailCounts {
    /// Empty until the trail was read to its end.
    acts: Option<ActCounts>,
    /// Whether the trail could be read the last time; empty before the first time.
    readable: Option<bool>,
}

impl MetricsRegistry {
    /// For sources with these names; all names differ.
    pub fn new(labels: impl IntoIterator<Item = String>) -> MetricsRegistry {
        let now = Instant::now();
        let sources = labels.into_iter().map(|label| Mutex::new(SourceMetrics::new(label, now))).collect();
        MetricsRegistry { sources, trail: Mutex::default() }
    }

    /// Records one poll of the source with this number.
    pub fn polled(&self, source: usize, poll: PollRecord) {
        if let Some(source) = self.sources.get(source) {
            lock(source).polled(poll);
        }
    }

    /// Announces that this process will sweep the source with this name.
    pub fn will_sweep(&self, source: &str) {
        self.at(source, |source| {
            source.sweeps.get_or_insert_default();
        });
    }

    /// Records one pass of this process's sweeper.
    pub fn swept(&self, summary: &SweepSummary) {
        self.at(&summary.source, |source| source.sweeps.get_or_insert_default().add(summary));
    }

    fn at(&self, label: &str, tell: impl FnOnce(&mut SourceMetrics)) {
        if let Some(mut source) = self.sources.iter().map(lock).find(|source| source.label == label) {
            tell(&mut source);
        }
    }

    /// Records all acts of the trail, or that it cannot be read.
    pub fn count_acts(&self, acts: Option<ActCounts>) {
        let mut trail = lock(&self.trail);
        trail.readable = Some(acts.is_some());
        // Keep the last counts if the trail cannot be read: a counter that falls to zero and rises is counted twice.
        trail.acts = acts.or_else(|| trail.acts.take());
    }

    /// Whether each source was read recently, each with a sentence.
    pub fn readiness(&self, now: Instant) -> Vec<Result<String, String>> {
        self.sources.iter().map(|source| lock(source).readiness(now)).collect()
    }

    /// The text of a scrape.
    pub fn text(&self, now: Instant, format: ExpositionFormat) -> Result<String, fmt::Error> {
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

/// Figures are replaced as a whole, so a thread that panicked leaves valid ones.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
