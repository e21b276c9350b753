//! What is known of one source: its polls, its figures as long as they are fresh, its sweeps.

use prometheus_client::metrics::histogram::Histogram;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::attempts::Attempted;
use super::catalog::{ACTS, AGE, POLL, POLLS, UP};
use super::kind_names::KindNames;
use super::look::{Look, fill_kinds};
use super::samples::MetricSamples;
use super::sweeps::Sweeps;
use crate::domain::detail::Kinds;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Moment;
use crate::store::Attempt;

/// Bounds in seconds: a quiet poll takes less than a millisecond, and ten seconds end any.
const BOUNDS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0];
/// Figures are shown until so many polls in a row have brought nothing.
const MISSED: u32 = 3;
/// And for this long at least: a busy machine may skip a few quick polls.
const GRACE: Duration = Duration::from_secs(5);

/// What a poll of a source found.
#[derive(Debug)]
pub struct Found {
    pub fingerprint: String,
    pub snapshots: Vec<Snapshot>,
    /// What is said of each board that was there before and is missing now.
    pub missing: Vec<String>,
    /// Only now and then.
    pub kinds: Option<Vec<Kinds>>,
    /// New ones, where the source has such a table.
    pub attempts: Option<Vec<Attempt>>,
}

/// One poll of a source, whatever came of it.
#[derive(Debug)]
pub struct Poll {
    pub at: Instant,
    pub took: Duration,
    /// How far apart the polls are.
    pub pace: Duration,
    pub found: Result<Found, String>,
}

/// One source.
#[derive(Debug)]
pub(super) struct SourceMetrics {
    pub(super) label: String,
    since: Instant,
    good: u64,
    failed: u64,
    took: Histogram,
    fresh: Option<Fresh>,
    /// Why the last poll brought nothing.
    error: Option<String>,
    fingerprints: BTreeSet<String>,
    kind_names: KindNames,
    attempted: Option<Attempted>,
    pub(super) sweeps: Option<Sweeps>,
}

/// Figures, and until when they are believed.
#[derive(Debug)]
struct Fresh {
    at: Instant,
    until: Instant,
    look: Look,
    missing: Vec<String>,
    kinds: Vec<Kinds>,
    now: Option<Moment>,
}

impl SourceMetrics {
    pub(super) fn new(label: String, since: Instant) -> SourceMetrics {
        SourceMetrics {
            label,
            since,
            good: 0,
            failed: 0,
            took: Histogram::new(BOUNDS),
            fresh: None,
            error: None,
            fingerprints: BTreeSet::new(),
            kind_names: KindNames::default(),
            attempted: None,
            sweeps: None,
        }
    }

    pub(super) fn polled(&mut self, poll: Poll) {
        self.took.observe(poll.took.as_secs_f64());
        let found = match poll.found {
            Ok(found) => found,
            Err(sentence) => {
                self.failed += 1;
                self.error = Some(sentence);
                return;
            }
        };
        self.good += 1;
        self.error = None;
        self.fingerprints.insert(found.fingerprint);
        if let Some(attempts) = found.attempts {
            let attempted = self.attempted.get_or_insert_default();
            attempts.iter().for_each(|attempt| attempted.add(attempt));
        }
        let before = self.fresh.take().map(|fresh| fresh.kinds).unwrap_or_default();
        self.fresh = Some(Fresh {
            at: poll.at,
            until: poll.at + poll.took + (poll.pace * MISSED).max(GRACE),
            now: found.snapshots.first().map(|snapshot| snapshot.now),
            look: Look::of(found.snapshots),
            missing: found.missing,
            kinds: found.kinds.unwrap_or(before),
        });
    }

    /// The figures, unless they are too old to be believed.
    fn believed(&self, now: Instant) -> Option<&Fresh> {
        self.fresh.as_ref().filter(|fresh| now <= fresh.until)
    }

    /// Whether it was read well lately, and what is to be said of it.
    pub(super) fn readiness(&self, now: Instant) -> Result<String, String> {
        let label = &self.label;
        let ago =
            |fresh: &Fresh| format!("read {} ms ago", now.saturating_duration_since(fresh.at).as_millis());
        match (self.believed(now), &self.fresh, &self.error) {
            (Some(fresh), _, _) if fresh.missing.is_empty() => Ok(format!("{label}: {}", ago(fresh))),
            (Some(fresh), _, _) => Err(format!("{label}: {}; {}", ago(fresh), fresh.missing.join("; "))),
            (None, Some(fresh), Some(why)) => Err(format!("{label}: last {}; {why}", ago(fresh))),
            (None, Some(fresh), None) => Err(format!("{label}: last {}, no answer since", ago(fresh))),
            (None, None, Some(why)) => Err(format!("{label}: never read; {why}")),
            (None, None, None) => Err(format!("{label}: not read yet")),
        }
    }

    pub(super) fn fingerprints(&self) -> impl Iterator<Item = &str> {
        self.fingerprints.iter().map(String::as_str)
    }

    pub(super) fn fill(&mut self, samples: &mut MetricSamples, now: Instant) {
        let source = self.label.clone();
        // A source that is not read in full is not up: what is not there raises no alarm of its own.
        let in_full = |fresh: &Fresh| fresh.missing.is_empty();
        let up = self.error.is_none() && self.believed(now).is_some_and(in_full);
        samples.set(&UP, &[&source], f64::from(u8::from(up)));
        let last = self.fresh.as_ref().map_or(self.since, |fresh| fresh.at);
        samples.set(&AGE, &[&source], now.saturating_duration_since(last).as_secs_f64());
        samples.count(&POLLS, &[&source, "good"], self.good);
        samples.count(&POLLS, &[&source, "failed"], self.failed);
        samples.times(&POLL, &[&source], &self.took);
        if let Some(sweeps) = &self.sweeps {
            sweeps.fill(samples, &source);
        }
        if let Some(attempted) = &self.attempted {
            attempted.fill(samples, &source);
        }
        // Not by way of a method: the names of kinds are written meanwhile.
        let Some(fresh) = self.fresh.as_ref().filter(|fresh| now <= fresh.until) else { return };
        fresh.look.fill(samples, &source);
        fill_kinds(samples, &source, &fresh.kinds, &mut self.kind_names, fresh.now);
    }

    /// Says of every kind that none of it was reclaimed yet: without a zero before it, the first
    /// reclaim is no increase.
    pub(super) fn fill_zeros(&mut self, samples: &mut MetricSamples) {
        let Some(fresh) = &self.fresh else { return };
        for (profile, board) in fresh.look.boards() {
            let place = format!("{profile} {board}");
            let of_board =
                fresh.kinds.iter().filter(|kinds| kinds.profile == profile && kinds.board == board);
            let tallies = of_board.flat_map(|kinds| &kinds.kinds);
            let mut kinds: BTreeSet<&str> =
                tallies.map(|tally| self.kind_names.label(&place, tally.kind.as_deref())).collect();
            if kinds.is_empty() {
                kinds.insert("");
            }
            for (kind, by) in kinds.iter().flat_map(|kind| [(*kind, "operator"), (*kind, "sweeper")]) {
                samples.count(&ACTS, &[&self.label, profile, board, kind, "reclaim", by, "applied"], 0);
            }
        }
    }
}
