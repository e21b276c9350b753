//! The metrics of finalization, from the table of attempts.

use prometheus_client::metrics::histogram::Histogram;

use super::catalog::{
    ATTEMPTS, CLAIM_TIME, CONTENTION, CONTENTION_BY, EXTEND_ATTEMPTS, EXTEND_FAILED, EXTEND_SUCCESS,
    EXTEND_TIME, Metric, RELEASE_ATTEMPTS, RELEASE_NOT_OWNED, RELEASE_SUCCESS, RELEASE_TIME, SUCCESS,
};
use super::samples::MetricSamples;
use crate::store::Attempt;
use crate::worker::finalization::{BOUNDS, ContentionReason, EXTENDED, NOT_EXTENDED, RELEASED};

/// The results of the attempts since the start of this process.
#[derive(Debug)]
pub(super) struct AttemptCounts {
    success: u64,
    contention: [u64; ContentionReason::ALL.len()],
    claim_time: Histogram,
    extend: OperationCounts,
    release: OperationCounts,
}

/// An operation on a claim that a processor has, or believes to have.
#[derive(Debug)]
struct OperationCounts {
    success: u64,
    failed: u64,
    time: Histogram,
}

impl Default for OperationCounts {
    fn default() -> OperationCounts {
        OperationCounts { success: 0, failed: 0, time: Histogram::new(BOUNDS) }
    }
}

impl OperationCounts {
    fn add(&mut self, is_success: bool, took: Option<f64>) {
        match is_success {
            true => self.success += 1,
            false => self.failed += 1,
        }
        observe(&self.time, took);
    }

    /// Fills the metrics of attempts, successes, failures and times, in this order.
    fn fill(&self, samples: &mut MetricSamples, source: &str, metrics: [&Metric; 4]) {
        let [attempts, success, failed, time] = metrics;
        samples.count(attempts, &[source], self.success + self.failed);
        samples.count(success, &[source], self.success);
        samples.count(failed, &[source], self.failed);
        samples.times(time, &[source], &self.time);
    }
}

impl Default for AttemptCounts {
    fn default() -> AttemptCounts {
        AttemptCounts {
            success: 0,
            contention: [0; ContentionReason::ALL.len()],
            claim_time: Histogram::new(BOUNDS),
            extend: OperationCounts::default(),
            release: OperationCounts::default(),
        }
    }
}

impl AttemptCounts {
    pub(super) fn add(&mut self, attempt: &Attempt) {
        let message = attempt.message.as_deref();
        match (attempt.operation.as_deref(), message) {
            (Some("release"), _) => self.release.add(message == Some(RELEASED), attempt.took),
            (Some("extend"), _) | (None, Some(NOT_EXTENDED)) => {
                self.extend.add(attempt.claimed, attempt.took);
            }
            // Whoever does not name the operation extends as the specification does: by a claim.
            (None, Some(EXTENDED)) => {
                self.extend.add(attempt.claimed, attempt.took);
                self.add_claim(attempt);
            }
            (Some(_) | None, _) => self.add_claim(attempt),
        }
    }

    fn add_claim(&mut self, attempt: &Attempt) {
        match attempt.claimed {
            true => self.success += 1,
            false => self.contention[reason(attempt.message.as_deref()) as usize] += 1,
        }
        observe(&self.claim_time, attempt.took);
    }

    pub(super) fn fill(&self, samples: &mut MetricSamples, source: &str) {
        let contention: u64 = self.contention.iter().sum();
        samples.count(&ATTEMPTS, &[source], self.success + contention);
        samples.count(&SUCCESS, &[source], self.success);
        samples.count(&CONTENTION, &[source], contention);
        for reason in ContentionReason::ALL {
            let count = self.contention[reason as usize];
            samples.count(&CONTENTION_BY, &[source, reason.as_str()], count);
        }
        samples.times(&CLAIM_TIME, &[source], &self.claim_time);
        let release = [&RELEASE_ATTEMPTS, &RELEASE_SUCCESS, &RELEASE_NOT_OWNED, &RELEASE_TIME];
        self.release.fill(samples, source, release);
        let extend = [&EXTEND_ATTEMPTS, &EXTEND_SUCCESS, &EXTEND_FAILED, &EXTEND_TIME];
        self.extend.fill(samples, source, extend);
    }
}

fn observe(times: &Histogram, took: Option<f64>) {
    if let Some(seconds) = took {
        times.observe(seconds);
    }
}

/// The reason for a message of the specification's function.
fn reason(message: Option<&str>) -> ContentionReason {
    match message {
        Some("Task already claimed for finalization") => ContentionReason::AlreadyClaimed,
        Some("Task already complete") => ContentionReason::AlreadyComplete,
        Some("Task has no completed or failed steps") => ContentionReason::NotReady,
        Some("Failed to claim - race condition") => ContentionReason::RaceCondition,
        _ => ContentionReason::Other,
    }
}
