//! Acts, counted from the trail.

use std::collections::HashMap;

use super::catalog::ACTS;
use super::kind_names::KindNames;
use super::samples::MetricSamples;
use crate::recovery::trail::{Record, RecordStage};

/// The labels of acts. They contain no id, no holder and no reason text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ActLabels {
    profile: String,
    board: String,
    kind: String,
    action: String,
    by: String,
    outcome: String,
}

/// How many acts there were on each database. The key is the database's fingerprint, because the same database may
/// have different names in the trail and here.
#[derive(Debug, Clone, Default)]
pub struct ActCounts {
    counts: HashMap<String, HashMap<ActLabels, u64>>,
    kinds: KindNames,
}

impl ActCounts {
    /// Counts the outcome of an act; intents are not counted.
    pub fn add(&mut self, record: Record) {
        let (RecordStage::Outcome, Some(outcome)) = (record.stage, record.outcome) else { return };
        let place = format!("{} {} {}", record.fingerprint, record.profile, record.board);
        let kind = self.kinds.label(&place, record.evidence["kind"].as_str()).to_owned();
        let Record { profile, board, action, by, .. } = record;
        let act = ActLabels { profile, board, kind, action, by, outcome };
        *self.counts.entry(record.fingerprint).or_default().entry(act).or_default() += 1;
    }

    /// Adds samples for the acts on one database, under the name that the source has here.
    pub(super) fn fill(&self, samples: &mut MetricSamples, source: &str, fingerprint: &str) {
        for (act, count) in self.counts.get(fingerprint).into_iter().flatten() {
            let ActLabels { profile, board, kind, action, by, outcome } = act;
            samples.count(&ACTS, &[source, profile, board, kind, action, by, outcome], *count);
        }
    }
}
