//! The newest acts that match a filter, collected while the trail is read backwards.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::act_line::{act_line, bulk_line, tell};
use crate::app::audit::{AuditLine, Extent, TrailPage};
use crate::app::message::TrailLine;
use crate::domain::audit::{ActFilter, Period};
use crate::domain::time::{Moment, Span};
use crate::recovery::trail::{JournalEntry, RecordStage};
use crate::store::clock;

/// An act may take this long: its records are searched beyond the time that a filter asks for.
const LONGEST_ACT: Span = Span::minutes(10);

/// Whether a bulk is folded into one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    BulksFolded,
    EachAct,
}

#[derive(Debug)]
pub(super) struct Newest {
    filter: ActFilter,
    shape: Shape,
    limit: usize,
    now: Moment,
    lines: HashMap<String, AuditLine>,
    told: SeenActs,
    records: u64,
    /// The number of records at which the next partial result is sent.
    next_news: u64,
    /// How many records in a row belonged to no line since the page was full.
    passed: usize,
}

impl Newest {
    pub(super) fn new(filter: ActFilter, shape: Shape, limit: usize) -> Newest {
        Newest {
            filter,
            shape,
            limit,
            now: clock(),
            lines: HashMap::new(),
            told: SeenActs::default(),
            records: 0,
            next_news: 500,
            passed: 0,
        }
    }

    /// The period whose records are read.
    pub(super) fn period(&self) -> Period {
        self.filter.period(self.now).widened(LONGEST_ACT)
    }

    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Adds the next older record; breaks when the page is complete.
    pub(super) fn add(&mut self, entry: &JournalEntry, labels: &[String]) -> ControlFlow<()> {
        self.records += 1;
        let record = &entry.record;
        let is_new = self.told.is_new(entry);
        let bulk = record.batch.as_ref().filter(|_| self.shape == Shape::BulksFolded);
        let id = bulk.unwrap_or(&record.action_id);
        // The newest record of an act contains its outcome, and so everything that a filter tests.
        let is_wanted = is_new && self.filter.takes(&record.recorded_act(), self.now);
        if !self.lines.contains_key(id) {
            if !is_wanted {
                return ControlFlow::Continue(());
            }
            if self.lines.len() == self.limit {
                // Records of the oldest line may still follow: other processes write in between.
                self.passed += 1;
                return if self.passed < 1_000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
            }
            let line = match bulk {
                Some(id) => AuditLine::Bulk(bulk_line(id, entry, labels)),
                None => AuditLine::Act(act_line(entry, labels)),
            };
            self.lines.insert(id.clone(), line);
        }
        self.passed = 0;
        match self.lines.get_mut(id) {
            Some(AuditLine::Act(line)) => tell(line, entry),
            Some(AuditLine::Bulk(line)) => {
                line.at.clone_from(&record.at);
                if is_wanted {
                    line.counts.add(record.outcome.as_deref());
                    line.holder = line.holder.take().filter(|holder| record.holder.as_ref() == Some(holder));
                }
            }
            None => {}
        }
        ControlFlow::Continue(())
    }

    /// Whether enough was read since the last time to send a partial result.
    pub(super) fn is_time_to_tell(&mut self) -> bool {
        if self.records < self.next_news {
            return false;
        }
        self.next_news = (self.next_news * 10).min(self.next_news + 50_000);
        true
    }

    pub(super) fn page_so_far(&self) -> TrailPage {
        self.page_of(self.lines.values().cloned().collect(), Extent::Reading { records: self.records })
    }

    /// Everything, after the last record.
    pub(super) fn page(self) -> TrailPage {
        let extent = if self.lines.len() < self.limit { Extent::Whole } else { Extent::Newest };
        self.page_of(self.lines.values().cloned().collect(), extent)
    }

    fn page_of(&self, mut lines: Vec<AuditLine>, extent: Extent) -> TrailPage {
        lines.sort_by(|one, other| place(other).cmp(&place(one)));
        TrailPage { filter: self.filter.clone(), lines, extent }
    }
}

/// The sort key of lines.
fn place(line: &AuditLine) -> (u64, &str) {
    match line {
        AuditLine::Act(line) => (line.seq, &line.action_id),
        AuditLine::Bulk(line) => (line.seq, &line.id),
    }
}

/// The acts of a page in which no bulk is folded.
pub(super) fn single_acts(page: TrailPage) -> Vec<TrailLine> {
    let acts = page.lines.into_iter().filter_map(|line| match line {
        AuditLine::Act(line) => Some(line),
        AuditLine::Bulk(_) => None,
    });
    acts.collect()
}

/// Which acts were seen already while the trail is read backwards.
#[derive(Debug, Default)]
struct SeenActs {
    by_transaction: HashMap<String, HashSet<String>>,
    /// The transaction whose intents are being read, and their line: nothing of it is before that line.
    last: Option<(u64, String)>,
}

impl SeenActs {
    fn is_new(&mut self, entry: &JournalEntry) -> bool {
        if let Some((_, over)) = self.last.take_if(|(seq, _)| *seq != entry.seq) {
            self.by_transaction.remove(&over);
        }
        let id = &entry.record.action_id;
        let transaction = id.split_once('.').map_or(id.as_str(), |(transaction, _)| transaction);
        if entry.record.stage == RecordStage::Intent {
            self.last = Some((entry.seq, transaction.to_owned()));
        }
        self.by_transaction.entry(transaction.to_owned()).or_default().insert(id.clone())
    }
}

/// The first acts of a bulk that match a filter, collected in the order of the trail.
#[derive(Debug)]
pub(super) struct BulkActs {
    filter: ActFilter,
    limit: usize,
    now: Moment,
    found: Vec<TrailLine>,
    /// Acts whose outcome follows later, and whether they match without one.
    begun: HashMap<String, (TrailLine, bool)>,
}

impl BulkActs {
    pub(super) fn new(filter: ActFilter, limit: usize) -> BulkActs {
        BulkActs { filter, limit, now: clock(), found: Vec::new(), begun: HashMap::new() }
    }

    pub(super) fn add(&mut self, entry: &JournalEntry, labels: &[String]) -> ControlFlow<()> {
        let record = &entry.record;
        let id = &record.action_id;
        let mut line = self.begun.remove(id).map_or_else(|| act_line(entry, labels), |(line, _)| line);
        tell(&mut line, entry);
        let is_wanted = self.filter.takes(&record.recorded_act(), self.now);
        match record.stage {
            RecordStage::Intent => {
                self.begun.insert(id.clone(), (line, is_wanted));
            }
            RecordStage::Outcome => {
                if let Some(known) = self.found.iter_mut().rev().find(|known| known.action_id == *id) {
                    // The answer was lost at first, and the outcome was resolved later.
                    tell(known, entry);
                } else if is_wanted {
                    self.found.push(line);
                }
            }
        }
        if self.found.len() < self.limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    pub(super) fn lines(mut self) -> Vec<TrailLine> {
        let open = self.begun.into_values().filter(|(_, is_wanted)| *is_wanted).map(|(line, _)| line);
        self.found.extend(open.take(self.limit - self.found.len()));
        self.found
    }
}
