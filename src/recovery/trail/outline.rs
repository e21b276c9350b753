//! What the index needs to know of a line: which acts it tells of, and whether it settles them.

use serde::Deserialize;

use super::anchor::Anchor;
use super::link::{Body, Link};
use super::record::{Record, Stage};

/// A line without the rows and the evidence: quick to read, little to keep.
#[derive(Debug, Deserialize)]
pub(super) struct Outline {
    pub(super) seq: u64,
    pub(super) hash: String,
    record: Option<Part>,
    batch: Option<Parts>,
}

#[derive(Debug, Deserialize)]
struct Part {
    stage: Stage,
    action_id: String,
    outcome: Option<String>,
    batch: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Parts {
    of: Part,
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    outcome: Option<String>,
}

/// What a line means for the acts that are open.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning<'a> {
    /// An act, or the acts of a transaction, are about to be done.
    Begins(&'a str),
    /// What came of all of them is known.
    Settles(&'a str),
    /// What came of one act of this transaction is known.
    SettlesPart(&'a str),
    Nothing,
}

impl Outline {
    /// Reads a line, given without its newline; nothing if it is none of ours.
    pub(super) fn read(line: &[u8]) -> Option<Outline> {
        serde_json::from_slice(line).ok()
    }

    /// The same of a line that was read in full.
    pub(super) fn of(link: &Link) -> Outline {
        let part = |record: &Record| Part {
            stage: record.stage,
            action_id: record.action_id.clone(),
            outcome: record.outcome.clone(),
            batch: record.batch.clone(),
        };
        let (record, batch) = match &link.body {
            Body::Record(record) => (Some(part(record)), None),
            Body::Batch(batch) => {
                let rows = batch.rows.iter().map(|row| Row { outcome: row.outcome.clone() });
                (None, Some(Parts { of: part(&batch.of), rows: rows.collect() }))
            }
            Body::Torn(_) => (None, None),
        };
        Outline { seq: link.seq, hash: link.hash.clone(), record, batch }
    }

    pub(super) fn anchor(&self) -> Anchor {
        Anchor { count: self.seq, head: self.hash.clone() }
    }

    fn part(&self) -> Option<&Part> {
        self.record.as_ref().or(self.batch.as_ref().map(|batch| &batch.of))
    }

    /// The names under which the line is found: that of its act or transaction, and that of the bulk.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        let part = self.part();
        let own = part.map(|part| base(&part.action_id));
        let bulk = part.and_then(|part| part.batch.as_deref()).filter(|bulk| Some(*bulk) != own);
        own.into_iter().chain(bulk)
    }

    pub(super) fn meaning(&self) -> Meaning<'_> {
        let settles =
            |outcome: &Option<String>| outcome.as_deref().is_some_and(|outcome| outcome != "unknown");
        let Some(part) = self.part() else { return Meaning::Nothing };
        let key = base(&part.action_id);
        match part.stage {
            Stage::Intent => Meaning::Begins(key),
            Stage::Outcome if !settles(&part.outcome) => Meaning::Nothing,
            Stage::Outcome if key != part.action_id => Meaning::SettlesPart(key),
            Stage::Outcome => {
                let rows = self.batch.iter().flat_map(|batch| &batch.rows);
                let some_unknown = rows.into_iter().any(|row| row.outcome.as_deref() == Some("unknown"));
                if some_unknown { Meaning::SettlesPart(key) } else { Meaning::Settles(key) }
            }
        }
    }
}

/// The name of the transaction that an act belongs to, or of the act itself.
pub(super) fn base(action_id: &str) -> &str {
    action_id.split_once('.').map_or(action_id, |(base, _)| base)
}
