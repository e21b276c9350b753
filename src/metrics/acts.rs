//! Acts, counted from the trail.

use std::collections::HashMap;

use super::catalog::ACTS;
use super::kind_names::KindNames;
use super::samples::MetricSamples;
use crate::recovery::trail::{Record, Stage};

/// What acts are told apart by. No id, holder or reason is among it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Act {
    profile: String,
    board: String,
    kind: String,
    action: String,
    by: String,
    outcome: String,
}

/// How many acts there were on each database, by its fingerprint: sources are called one thing here
/// and another there.
#[derive(Debug, Clone, Default)]
pub struct Acts {
    counts: HashMap<String, HashMap<Act, u64>>,
    kinds: KindNames,
}

impl Acts {
    /// Counts what came of an act; what is only intended does not count.
    pub fn add(&mut self, record: Record) {
        let (Stage::Outcome, Some(outcome)) = (record.stage, record.outcome) else { return };
        let place = format!("{} {} {}", record.fingerprint, record.profile, record.board);
        let kind = self.kinds.label(&place, record.evidence["kind"].as_str()).to_owned();
        let Record { profile, board, action, by, .. } = record;
        let act = Act { profile, board, kind, action, by, outcome };
        *self.counts.entry(record.fingerprint).or_default().entry(act).or_default() += 1;
    }

    /// Writes down the acts on a database under the name that it has here.
    pub(super) fn fill(&self, samples: &mut MetricSamples, source: &str, fingerprint: &str) {
        for (act, count) in self.counts.get(fingerprint).into_iter().flatten() {
            let Act { profile, board, kind, action, by, outcome } = act;
            samples.count(&ACTS, &[source, profile, board, kind, action, by, outcome], *count);
        }
    }
}
