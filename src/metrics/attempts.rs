//! Document 003's counters, from the table of attempts.

use super::catalog::{ATTEMPTS, CONTENTION, CONTENTION_BY, SUCCESS};
use super::samples::MetricSamples;
use crate::store::Attempt;
use crate::worker::finalization::Reason;

/// What came of the attempts since the start.
#[derive(Debug, Default)]
pub struct Attempted {
    success: u64,
    contention: [u64; Reason::ALL.len()],
}

impl Attempted {
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
        for reason in Reason::ALL {
            let count = self.contention[reason as usize];
            samples.count(&CONTENTION_BY, &[source, reason.as_str()], count);
        }
    }
}

/// By the words that the document's function answers with.
fn reason(message: Option<&str>) -> Reason {
    match message {
        Some("Task already claimed for finalization") => Reason::AlreadyClaimed,
        Some("Task already complete") => Reason::AlreadyComplete,
        Some("Task has no completed or failed steps") => Reason::NotReady,
        Some("Failed to claim - race condition") => Reason::RaceCondition,
        _ => Reason::Other,
    }
}
