//! What is told to Prometheus: figures of every source, counted acts, and nothing that names a task, a
//! holder or a person.
//!
//! It is told what happened and keeps figures; it reads no database and no file. A scrape renders what
//! is known by then and waits for nobody.
//!
//! ```text
//! catalog     every metric: name, labels, help
//! sheet       the samples of one scrape, and their text
//! station     one source: its polls, its figures while they are fresh
//! look        a poll, reduced to figures          kind_names  which kinds get a label
//! acts        from the trail                      sweeps      of the own sweeper
//! attempts    document 003's counters
//! ```

mod acts;
mod attempts;
pub mod catalog;
mod kind_names;
mod look;
mod sheet;
mod station;
mod sweeps;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::sweep::Summary;
pub use acts::Acts;
use catalog::{BUILD, TRAIL};
pub use sheet::Format;
use sheet::Sheet;
use station::Station;
pub use station::{Found, Poll};
pub use sweeps::Sweeps;

/// Everything that is known, shared by those who find out and those who ask.
#[derive(Debug)]
pub struct Metrics {
    stations: Vec<Mutex<Station>>,
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
        let stations = labels.into_iter().map(|label| Mutex::new(Station::new(label, now))).collect();
        Metrics { stations, trail: Mutex::default() }
    }

    /// One poll of the source with this number is over.
    pub fn polled(&self, source: usize, poll: Poll) {
        if let Some(station) = self.stations.get(source) {
            lock(station).polled(poll);
        }
    }

    /// The source with this name will be swept by this process.
    pub fn will_sweep(&self, source: &str) {
        self.at(source, |station| {
            station.sweeps.get_or_insert_default();
        });
    }

    /// One pass of the own sweeper is over.
    pub fn swept(&self, summary: &Summary) {
        self.at(&summary.source, |station| station.sweeps.get_or_insert_default().add(summary));
    }

    fn at(&self, source: &str, tell: impl FnOnce(&mut Station)) {
        if let Some(mut station) = self.stations.iter().map(lock).find(|station| station.label == source) {
            tell(&mut station);
        }
    }

    /// All acts in the trail, or that it cannot be read.
    pub fn told_by_the_trail(&self, acts: Option<Acts>) {
        let mut trail = lock(&self.trail);
        trail.readable = Some(acts.is_some());
        // Without acts the last ones stay: a counter that falls to zero and rises again is counted twice.
        trail.acts = acts.or_else(|| trail.acts.take());
    }

    /// Of every source whether it was read well lately, each with a sentence.
    pub fn readiness(&self, now: Instant) -> Vec<Result<String, String>> {
        self.stations.iter().map(|station| lock(station).readiness(now)).collect()
    }

    /// As text for a scraper.
    pub fn text(&self, now: Instant, format: Format) -> Result<String, fmt::Error> {
        let mut sheet = Sheet::default();
        sheet.set(&BUILD, &[env!("CARGO_PKG_VERSION")], 1.0);
        let trail = lock(&self.trail);
        if let Some(readable) = trail.readable {
            sheet.set(&TRAIL, &[], f64::from(u8::from(readable)));
        }
        for station in &self.stations {
            let mut station = lock(station);
            station.fill(&mut sheet, now);
            if let Some(acts) = &trail.acts {
                station.fill_zeros(&mut sheet);
                for fingerprint in station.fingerprints() {
                    acts.fill(&mut sheet, &station.label, fingerprint);
                }
            }
        }
        drop(trail);
        sheet.text(format)
    }
}

/// Figures are replaced whole, so that those of a thread that died are as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
