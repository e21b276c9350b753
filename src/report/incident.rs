//! One incident from the audit trail: which claims were acted on, when, by whom, and with which outcome.
//!
//! Records are added in the order of the journal. Memory does not grow with their number: acts of a bulk are counted,
//! and lists are limited.

mod affected_holders;
mod page;
mod timeline_entry;

use std::collections::{BTreeMap, HashMap};

use crate::domain::audit::OutcomeCounts;
use crate::recovery::trail::{JournalEntry, Record, RecordStage};
use affected_holders::AffectedHolders;
use timeline_entry::TimelineEntry;

/// How many entries the timeline has at most.
const MAX_ENTRIES: usize = 1_000;
/// How many failed acts are listed at most.
const MOST_FAILURES: usize = 100;

/// The contents of the page.
#[derive(Debug, Default)]
pub struct Incident {
    counts: OutcomeCounts,
    /// In the order of their first record, by the id of the bulk or of the act.
    entries: Vec<TimelineEntry>,
    by_id: HashMap<String, usize>,
    /// The bulk of each of its transactions.
    bulk_of: HashMap<String, String>,
    /// How many acts have no entry.
    left_out: u64,
    people: BTreeMap<(String, String), OutcomeCounts>,
    holders: AffectedHolders,
    failures: Vec<FailedAct>,
    failed: u64,
    /// Undone acts from before this period.
    undone_before: u64,
    /// Acts without an outcome yet, and how they were counted.
    unsettled: HashMap<String, Option<String>>,
    first_at: Option<String>,
    last_at: Option<String>,
    /// The last record: its number and hash, which `audit verify --anchor` takes.
    anchor: Option<(u64, String)>,
}

/// An act that was not applied, or whose outcome is unknown.
#[derive(Debug)]
struct FailedAct {
    at: String,
    action: String,
    claim: String,
    outcome: String,
    why: String,
}

impl Incident {
    /// Adds the next record.
    pub fn add(&mut self, entry: &JournalEntry) {
        let record = &entry.record;
        self.first_at.get_or_insert_with(|| record.at.clone());
        self.last_at = Some(record.at.clone());
        self.anchor = Some((entry.seq, entry.hash.clone()));
        let id = record.action_id.as_str();
        let counted = self.unsettled.remove(id);
        match record.stage {
            RecordStage::Intent => {
                self.holders.add(record);
                self.unsettled.insert(id.to_owned(), None);
            }
            RecordStage::Outcome => {
                if record.outcome.as_deref() == Some("unknown") {
                    self.unsettled.insert(id.to_owned(), record.outcome.clone());
                }
                if counted != Some(record.outcome.clone()) {
                    self.note_failure(record);
                    self.note_undo(record);
                }
            }
        }
        self.count(record, counted.as_ref().map(Option::as_deref));
    }

    /// Whether the record is the outcome of an act that was added before.
    pub fn awaits(&self, entry: &JournalEntry) -> bool {
        entry.record.stage == RecordStage::Outcome && self.unsettled.contains_key(&entry.record.action_id)
    }

    /// Counts an act, or changes its count: `counted` is the outcome that it was counted as.
    fn count(&mut self, record: &Record, counted: Option<Option<&str>>) {
        let outcome = record.outcome.as_deref();
        self.counts.change(counted, outcome);
        let person = (who(record), record.action.clone());
        self.people.entry(person).or_default().change(counted, outcome);
        match self.entry(record) {
            Some(entry) => entry.add(record, counted),
            None if counted.is_none() => self.left_out += 1,
            None => {}
        }
    }

    /// The entry of an act; `None` if the timeline is full.
    fn entry(&mut self, record: &Record) -> Option<&mut TimelineEntry> {
        let id = record.batch.as_deref().unwrap_or(&record.action_id);
        let at = match self.by_id.get(id) {
            Some(at) => *at,
            None if self.entries.len() == MAX_ENTRIES => return None,
            None => {
                self.by_id.insert(id.to_owned(), self.entries.len());
                self.entries.push(TimelineEntry::new(id, record));
                self.entries.len() - 1
            }
        };
        if let (Some(bulk), false) = (&record.batch, self.bulk_of.contains_key(base(&record.action_id))) {
            self.bulk_of.insert(base(&record.action_id).to_owned(), bulk.clone());
        }
        self.entries.get_mut(at)
    }

    fn note_failure(&mut self, record: &Record) {
        let outcome = record.outcome.as_deref().unwrap_or("open");
        if outcome == "applied" {
            return;
        }
        self.failed += 1;
        if self.failures.len() < MOST_FAILURES {
            self.failures.push(FailedAct {
                at: record.at.clone(),
                action: record.action.clone(),
                claim: record.address.clone(),
                outcome: outcome.to_owned(),
                why: record.why.clone().unwrap_or_default(),
            });
        }
    }

    fn note_undo(&mut self, record: &Record) {
        let (Some("applied"), Some(undone)) = (record.outcome.as_deref(), &record.refers_to) else { return };
        let id = self.bulk_of.get(base(undone)).unwrap_or(undone);
        match self.by_id.get(id).and_then(|at| self.entries.get_mut(*at)) {
            Some(entry) => entry.note_undone(record),
            None => self.undone_before += 1,
        }
    }
}

/// The name of the transaction that an act belongs to, or of the act itself.
fn base(action_id: &str) -> &str {
    action_id.split_once('.').map_or(action_id, |(base, _)| base)
}

/// The person, or the sweeper that a person runs.
fn who(record: &Record) -> String {
    match record.by.as_str() {
        "operator" => record.who.name(),
        by => format!("{by} ({})", record.who.name()),
    }
}
