//! The metrics of one source: its polls, its figures while they are fresh, its sweeps.

use prometheus_client::metrics::histogram::Histogram;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::attempt_counts::AttemptCounts;
use super::catalog::{ACTS, AGE, CAUSES, CLEANED_UP, POLL, POLLS, UP};
use super::kind_names::KindNames;
use super::poll_figures::{PollFigures, fill_kinds};
use super::samples::MetricSamples;
use super::sweep_metrics::SweepMetrics;
use crate::domain::board_id::BoardId;
use crate::domain::detail::Kinds;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Moment;
use crate::store::Attempt;

/// Bucket bounds in seconds: a quiet poll takes less than a millisecond, and every poll ends after ten seconds.
const BOUNDS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0];
/// Figures are shown until this many polls in a row have failed.
const MISSED: u32 = 3;
/// They are shown at least this long: a busy machine may skip a few polls.
const GRACE: Duration = Duration::from_secs(5);

/// What a poll of a source found.
#[derive(Debug)]
pub struct PollResult {
    pub fingerprint: String,
    pub snapshots: Vec<Snapshot>,
    /// How many causes there are.
    pub causes: usize,
    /// A sentence for each board that was there before and is missing now.
    pub missing: Vec<String>,
    /// Only every few polls.
    pub kinds: Option<Vec<Kinds>>,
    /// New attempts, if the source has such a table.
    pub attempts: Option<Vec<Attempt>>,
    /// Claims in trouble that somebody freed since the last poll.
    pub cleaned_up: BTreeMap<BoardId, u64>,
}

/// One poll of a source, successful or not.
#[derive(Debug)]
pub struct PollRecord {
    pub at: Instant,
    pub took: Duration,
    /// The time between two polls.
    pub pace: Duration,
    pub found: Result<PollResult, String>,
}

/// One source.
#[derive(Debug)]
pub(super) struct SourceMetrics {
    pub(super) label: String,
    since: Instant,
    good: u64,
    failed: u64,
    took: Histogram,
    fresh: Option<FreshFigures>,
    /// Why the last poll failed.
    error: Option<String>,
    fingerprints: BTreeSet<String>,
    kind_names: KindNames,
    attempted: Option<AttemptCounts>,
    cleaned_up: BTreeMap<BoardId, u64>,
    pub(super) sweeps: Option<SweepMetrics>,
}

/// Figures and the time until which they are shown.
#[derive(Debug)]
struct FreshFigures {
    at: Instant,
    until: Instant,
    look: PollFigures,
    causes: usize,
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
            cleaned_up: BTreeMap::new(),
            sweeps: None,
        }
    }

    pub(super) fn polled(&mut self, poll: PollRecord) {
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
        for (board, count) in found.cleaned_up {
            *self.cleaned_up.entry(board).or_default() += count;
        }
        for (profile, board) in boards_of(&found.snapshots) {
            // Without a zero before it, Prometheus does not see the first one as an increase.
            self.cleaned_up.entry(BoardId::new(profile, board)).or_default();
        }
        let before = self.fresh.take().map(|fresh| fresh.kinds).unwrap_or_default();
        self.fresh = Some(FreshFigures {
            at: poll.at,
            until: poll.at + poll.took + (poll.pace * MISSED).max(GRACE),
            now: found.snapshots.first().map(|snapshot| snapshot.now),
            look: PollFigures::of(found.snapshots),
            causes: found.causes,
            missing: found.missing,
            kinds: found.kinds.unwrap_or(before),
        });
    }

    /// The figures, unless they are too old.
    fn believed(&self, now: Instant) -> Option<&FreshFigures> {
        self.fresh.as_ref().filter(|fresh| now <= fresh.until)
    }

    /// Whether the source was read recently, with a sentence for people.
    pub(super) fn readiness(&self, now: Instant) -> Result<String, String> {
        let label = &self.label;
        let ago = |fresh: &FreshFigures| {
            format!("read {} ms ago", now.saturating_duration_since(fresh.at).as_millis())
        };
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
        // A source that is not read in full is not up: missing figures raise no alarm of their own.
        let in_full = |fresh: &FreshFigures| fresh.missing.is_empty();
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
        for (board, count) in &self.cleaned_up {
            samples.count(&CLEANED_UP, &[&source, board.profile(), board.board()], *count);
        }
        if let Some(attempted) = &self.attempted {
            attempted.fill(samples, &source);
        }
        // Not a method of `self`: the kind names are changed while the figures are borrowed.
        let Some(fresh) = self.fresh.as_ref().filter(|fresh| now <= fresh.until) else { return };
        fresh.look.fill(samples, &source);
        samples.set(&CAUSES, &[&source], fresh.causes as f64);
        fill_kinds(samples, &source, &fresh.kinds, &mut self.kind_names, fresh.now);
    }

    /// Sets the reclaim counter of every kind to zero. Without a zero before it, Prometheus does not see the first reclaim
    /// as an increase.
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

fn boards_of(snapshots: &[Snapshot]) -> impl Iterator<Item = (&str, &str)> {
    snapshots.iter().flat_map(|Snapshot { profile, boards, .. }| {
        boards.iter().map(|board| (profile.as_str(), board.board.as_str()))
    })
}
