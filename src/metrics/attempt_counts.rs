//! The counters of finalization, from the table of attempts.

use super::catalog::{ATTEMPTS, CONTENTION, CONTENTION_BY, SUCCESS};
use super::samples::MetricSamples;
use crate::store::Attempt;
use crate::worker::finalization::ContentionReason;

/// The results of the attempts since the start of this process.
#[derive(Debug, Default)]
pub(super) struct AttemptCounts {
    success: u64,
    contention: [u64; ContentionReason::ALL.len()],
}

impl AttemptCounts {
    pub(super) fn add(&mut self, attempt: &Attempt) {
        if attempt.claimed {
            self.success += 1;
        } else {
            self.contention[reason(attempt.message.as_deref()) as usize] += 1;
        }
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
