//! The rows of every reason, and their unions.

use std::collections::BTreeMap;

use super::ask::{AskedProbe, ProbeAnswer};
use super::census::TableCensus;
use super::probe::Tag;
use super::rowset::RowSet;
use crate::domain::snapshot::Counts;
use crate::domain::verdict::{Reason, Reasons, Set};

/// The sets that can be counted row by row; what is in none of them is healthy.
pub(super) const TROUBLED: [Set; 4] = [Set::Orphaned, Set::Stale, Set::Unknown, Set::Expiring];

#[derive(Debug, Default)]
pub(super) struct Sets {
    reasons: BTreeMap<Reason, RowSet>,
    runaway: u64,
}

impl Sets {
    /// Everything that the probes and the census have answered.
    pub(super) fn gather(asked: &[AskedProbe], census: &TableCensus) -> Sets {
        let mut sets = Sets::default();
        let mut old_beats = RowSet::default();
        let mut bad_deadlines = RowSet::default();
        let mut take = |tag: Tag, rows: &RowSet| match tag {
            Tag::Reason(reason) => sets.add(reason, rows),
            Tag::Runaway => sets.runaway += rows.len(),
            Tag::OldBeat => old_beats.add_all(rows),
            Tag::BadDeadline => {
                bad_deadlines.add_all(rows);
                sets.add(Reason::Unreadable, rows);
            }
        };
        let mut runaway = 0;
        for asked in asked {
            match &asked.answer {
                ProbeAnswer::Rows(rows) => take(asked.planned.probe.tag, rows),
                ProbeAnswer::Count(count) => runaway += count,
            }
        }
        for (tag, rows) in census.answers() {
            take(tag, rows);
        }
        sets.runaway += runaway;
        // Silent is an old heartbeat under a lease that is known to run.
        if let Some(expired) = sets.reasons.get(&Reason::LeaseExpired) {
            old_beats.remove_all(expired);
        }
        old_beats.remove_all(&bad_deadlines);
        sets.add(Reason::HeartbeatSilent, &old_beats);
        sets
    }

    /// Puts a row where its verdict says, whatever the statements said.
    pub(super) fn overrule(&mut self, rowid: i64, verdict: Reasons) {
        for rows in self.reasons.values_mut() {
            rows.remove(rowid);
        }
        for reason in verdict.iter() {
            self.reasons.entry(reason).or_default().insert(rowid);
        }
    }

    fn add(&mut self, reason: Reason, rows: &RowSet) {
        self.reasons.entry(reason).or_default().add_all(rows);
    }

    pub(super) fn of(&self, set: Set) -> RowSet {
        self.with(Reasons::of(set))
    }

    /// The rows that have one of these reasons.
    pub(super) fn with(&self, reasons: Reasons) -> RowSet {
        let mut all = RowSet::default();
        for (_, rows) in self.reasons.iter().filter(|(reason, _)| reasons.contains(**reason)) {
            all.add_all(rows);
        }
        all
    }

    /// How many there are, of `total` claims.
    pub(super) fn count(&self, total: u64) -> (Counts, BTreeMap<Reason, u64>) {
        let mut counts = Counts { total, runaway: self.runaway, ..Counts::default() };
        let mut all = RowSet::default();
        for set in TROUBLED {
            let rows = self.of(set);
            counts.set(set, rows.len());
            all.add_all(&rows);
        }
        // The census and the total may lag behind a table that shrinks or grows.
        counts.total = total.max(all.len());
        counts.healthy = counts.total - all.len();
        let found = self.reasons.iter().filter(|(_, rows)| rows.len() > 0);
        (counts, found.map(|(reason, rows)| (*reason, rows.len())).collect())
    }
}
