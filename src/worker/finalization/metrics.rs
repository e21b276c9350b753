//! The specification's metrics as plain numbers, under its names; whoever exports them decides how.

use std::time::Duration;

use super::FinalizationClaim;

/// The upper bounds of the histogram buckets in seconds. The specification promises 100 ms and alerts at 500 ms: both
/// are bounds.
pub(crate) const BOUNDS: [f64; 11] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0];

/// Why a claim failed, with the labels of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentionReason {
    AlreadyClaimed,
    AlreadyComplete,
    NotReady,
    /// Always zero here, because a claim is one transaction; kept for dashboards that expect it.
    RaceCondition,
    Other,
}

impl ContentionReason {
    pub const ALL: [ContentionReason; 5] = [
        ContentionReason::AlreadyClaimed,
        ContentionReason::AlreadyComplete,
        ContentionReason::NotReady,
        ContentionReason::RaceCondition,
        ContentionReason::Other,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            ContentionReason::AlreadyClaimed => "already_claimed",
            ContentionReason::AlreadyComplete => "already_complete",
            ContentionReason::NotReady => "not_ready",
            ContentionReason::RaceCondition => "race_condition",
            ContentionReason::Other => "other",
        }
    }
}

/// One counter of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    pub name: &'static str,
    /// The `reason` label of a contention.
    pub reason: Option<ContentionReason>,
    pub value: u64,
}

/// A histogram of durations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histogram {
    counts: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

impl Histogram {
    fn observe(&mut self, elapsed: Duration) {
        let seconds = elapsed.as_secs_f64();
        if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.counts[bucket] += 1;
        }
        self.count += 1;
        self.sum += seconds;
    }

    /// Each bound with the number of operations that took at most that long.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        BOUNDS.iter().zip(&self.counts).scan(0, |total, (bound, count)| {
            *total += count;
            Some((*bound, *total))
        })
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all durations, in seconds.
    pub fn sum(&self) -> f64 {
        self.sum
    }
}

/// A snapshot of the metrics of one [`super::Finalization`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FinalizationMetrics {
    claim_success: u64,
    contention: [u64; ContentionReason::ALL.len()],
    release_success: u64,
    release_not_owned: u64,
    extend_success: u64,
    extend_failed: u64,
    claim_duration: Histogram,
    release_duration: Histogram,
    extend_duration: Histogram,
}

impl FinalizationMetrics {
    pub(in crate::worker) fn claimed(&mut self, outcome: &FinalizationClaim, elapsed: Duration) {
        self.claim_duration.observe(elapsed);
        match outcome.reason() {
            None => self.claim_success += 1,
            Some(reason) => self.contention[reason as usize] += 1,
        }
    }

    pub(in crate::worker) fn released(&mut self, released: bool, elapsed: Duration) {
        self.release_duration.observe(elapsed);
        match released {
            true => self.release_success += 1,
            false => self.release_not_owned += 1,
        }
    }

    pub(in crate::worker) fn extended(&mut self, extended: bool, elapsed: Duration) {
        self.extend_duration.observe(elapsed);
        match extended {
            true => self.extend_success += 1,
            false => self.extend_failed += 1,
        }
    }

    /// Every counter under the specification's name.
    pub fn counters(&self) -> Vec<Counter> {
        let contention: u64 = self.contention.iter().sum();
        let plain = [
            ("finalization_claim_attempts_total", self.claim_success + contention),
            ("finalization_claim_success_total", self.claim_success),
            ("finalization_claim_contention_total", contention),
            ("finalization_claim_release_attempts_total", self.release_success + self.release_not_owned),
            ("finalization_claim_release_success_total", self.release_success),
            ("finalization_claim_release_not_owned_total", self.release_not_owned),
            ("finalization_claim_extend_attempts_total", self.extend_success + self.extend_failed),
            ("finalization_claim_extend_success_total", self.extend_success),
            ("finalization_claim_extend_failed_total", self.extend_failed),
        ];
        let reasons = ContentionReason::ALL.into_iter().map(|reason| Counter {
            name: "finalization_claim_contention_by_reason_total",
            reason: Some(reason),
            value: self.contention[reason as usize],
        });
        plain.into_iter().map(|(name, value)| Counter { name, reason: None, value }).chain(reasons).collect()
    }

    /// Every histogram under the specification's name.
    pub fn histograms(&self) -> [(&'static str, &Histogram); 3] {
        [
            ("finalization_claim_duration_seconds", &self.claim_duration),
            ("finalization_claim_release_duration_seconds", &self.release_duration),
            ("finalization_claim_extend_duration_seconds", &self.extend_duration),
        ]
    }

    /// One counter by its name, without a label.
    pub fn counter(&self, name: &str) -> Option<u64> {
        let found =
            self.counters().into_iter().find(|counter| counter.name == name && counter.reason.is_none());
        found.map(|counter| counter.value)
    }

    /// How often a claim failed for this reason.
    pub fn contention(&self, reason: ContentionReason) -> u64 {
        self.contention[reason as usize]
    }
}
