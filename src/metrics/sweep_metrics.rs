//! What this process's sweeper did on one source.

use prometheus_client::metrics::histogram::Histogram;

use super::catalog::{ACT, HELD_BY, HOLDS, SWEEP_CLAIMS, SWEEPS};
use super::samples::MetricSamples;
use crate::sweep::{Brake, SweepSummary};

/// Bucket bounds in seconds: from a single quick statement to one that waits for a lock.
const BOUNDS: [f64; 10] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.025, 0.1, 0.5, 2.5];

/// Counts of passes and of the brakes that held them.
#[derive(Debug)]
pub struct SweepMetrics {
    done: u64,
    held: u64,
    failed: u64,
    holds: [u64; Brake::ALL.len()],
    acts: Histogram,
    last: Option<SweepSummary>,
}

impl Default for SweepMetrics {
    fn default() -> SweepMetrics {
        let acts = Histogram::new(BOUNDS);
        SweepMetrics { done: 0, held: 0, failed: 0, holds: [0; Brake::ALL.len()], acts, last: None }
    }
}

impl SweepMetrics {
    pub(super) fn add(&mut self, summary: &SweepSummary) {
        let result = if summary.error.is_some() {
            &mut self.failed
        } else if Brake::ALL.into_iter().any(|brake| summary.is_held_by(brake)) {
            &mut self.held
        } else {
            &mut self.done
        };
        *result += 1;
        for brake in Brake::ALL.into_iter().filter(|brake| summary.is_held_by(*brake)) {
            self.holds[brake as usize] += 1;
        }
        let each = summary.acting.as_secs_f64() / summary.tried.max(1) as f64;
        (0..summary.tried).for_each(|_| self.acts.observe(each));
        self.last = Some(summary.clone());
    }

    pub(super) fn fill(&self, samples: &mut MetricSamples, source: &str) {
        for (result, count) in [("done", self.done), ("held", self.held), ("failed", self.failed)] {
            samples.count(&SWEEPS, &[source, result], count);
        }
        samples.times(&ACT, &[source], &self.acts);
        for brake in Brake::ALL {
            samples.count(&HOLDS, &[source, brake.as_str()], self.holds[brake as usize]);
        }
        let Some(last) = &self.last else { return };
        for brake in Brake::ALL {
            let holds = f64::from(u8::from(last.is_held_by(brake)));
            samples.set(&HELD_BY, &[source, brake.as_str()], holds);
        }
        for (state, count) in [("left", last.left), ("watching", last.watching), ("poison", last.poison)] {
            samples.set(&SWEEP_CLAIMS, &[source, state], count as f64);
        }
    }
}
