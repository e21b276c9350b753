//! One line of an incident's timeline: an act, or a whole bulk.

use std::collections::BTreeSet;

use super::who;
use crate::domain::audit::OutcomeCounts;
use crate::recovery::trail::Record;

/// How many different names of a bulk are kept.
const MOST_NAMES: usize = 100;

/// An act, or all acts of a bulk.
#[derive(Debug)]
pub(super) struct TimelineEntry {
    /// The id for `undo` and `audit show`.
    pub(super) id: String,
    pub(super) first_at: String,
    pub(super) last_at: String,
    pub(super) who: String,
    pub(super) action: String,
    pub(super) source: String,
    pub(super) reason: Option<String>,
    /// The claim, if there is only one.
    pub(super) claim: String,
    pub(super) holders: BTreeSet<String>,
    pub(super) counts: OutcomeCounts,
    pub(super) undone: u64,
    pub(super) undone_by: BTreeSet<String>,
    pub(super) undone_at: Option<String>,
}

impl TimelineEntry {
    pub(super) fn new(id: &str, record: &Record) -> TimelineEntry {
        TimelineEntry {
            id: id.to_owned(),
            first_at: record.at.clone(),
            last_at: record.at.clone(),
            who: who(record),
            action: record.action.clone(),
            source: record.source.clone(),
            reason: record.reason.clone(),
            claim: record.address.clone(),
            holders: BTreeSet::new(),
            counts: OutcomeCounts::default(),
            undone: 0,
            undone_by: BTreeSet::new(),
            undone_at: None,
        }
    }

    pub(super) fn add(&mut self, record: &Record, counted: Option<Option<&str>>) {
        self.last_at.clone_from(&record.at);
        self.counts.change(counted, record.outcome.as_deref());
        if let Some(holder) = record.holder.as_ref().filter(|_| self.holders.len() < MOST_NAMES) {
            self.holders.insert(holder.clone());
        }
    }

    pub(super) fn note_undone(&mut self, undo: &Record) {
        self.undone += 1;
        self.undone_at = Some(undo.at.clone());
        if self.undone_by.len() < MOST_NAMES {
            self.undone_by.insert(who(undo));
        }
    }
}
