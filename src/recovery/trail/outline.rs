//! What the index needs of a line: which acts it is about, and whether it settles them.

use serde::Deserialize;

use super::anchor::Anchor;
use super::chain_line::{ChainLine, LineBody};
use super::record::{Record, RecordStage};

/// A line without rows and evidence: quick to parse, and small.
#[derive(Debug, Deserialize)]
pub(super) struct Outline {
    pub(super) seq: u64,
    pub(super) hash: String,
    record: Option<RecordOutline>,
    batch: Option<BatchOutline>,
}

#[derive(Debug, Deserialize)]
struct RecordOutline {
    stage: RecordStage,
    action_id: String,
    outcome: Option<String>,
    batch: Option<String>,
}

#[derive(Debug, Deserialize)]
struct BatchOutline {
    of: RecordOutline,
    rows: Vec<RowOutcome>,
}

#[derive(Debug, Deserialize)]
struct RowOutcome {
    outcome: Option<String>,
}

/// What a line means for open acts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineEffect<'a> {
    /// An act, or the acts of a transaction, are intended.
    Begins(&'a str),
    /// The outcome of all of them is known.
    Settles(&'a str),
    /// The outcome of one act of this transaction is known.
    SettlesPart(&'a str),
    Nothing,
}

impl Outline {
    /// Parses a line without its newline; `None` if it is not a line of a journal.
    pub(super) fn read(line: &[u8]) -> Option<Outline> {
        serde_json::from_slice(line).ok()
    }

    /// The outline of a line that was parsed in full.
    pub(super) fn of(link: &ChainLine) -> Outline {
        let part = |record: &Record| RecordOutline {
            stage: record.stage,
            action_id: record.action_id.clone(),
            outcome: record.outcome.clone(),
            batch: record.batch.clone(),
        };
        let (record, batch) = match &link.body {
            LineBody::Record(record) => (Some(part(record)), None),
            LineBody::Batch(batch) => {
                let rows = batch.rows.iter().map(|row| RowOutcome { outcome: row.outcome.clone() });
                (None, Some(BatchOutline { of: part(&batch.of), rows: rows.collect() }))
            }
            LineBody::Torn(_) => (None, None),
        };
        Outline { seq: link.seq, hash: link.hash.clone(), record, batch }
    }

    pub(super) fn anchor(&self) -> Anchor {
        Anchor { count: self.seq, head: self.hash.clone() }
    }

    fn part(&self) -> Option<&RecordOutline> {
        self.record.as_ref().or(self.batch.as_ref().map(|batch| &batch.of))
    }

    /// The ids under which the line is found: that of its act or transaction, and that of the bulk.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        let part = self.part();
        let own = part.map(|part| base(&part.action_id));
        let bulk = part.and_then(|part| part.batch.as_deref()).filter(|bulk| Some(*bulk) != own);
        own.into_iter().chain(bulk)
    }

    pub(super) fn meaning(&self) -> LineEffect<'_> {
        let settles =
            |outcome: &Option<String>| outcome.as_deref().is_some_and(|outcome| outcome != "unknown");
        let Some(part) = self.part() else { return LineEffect::Nothing };
        let key = base(&part.action_id);
        match part.stage {
            RecordStage::Intent => LineEffect::Begins(key),
            RecordStage::Outcome if !settles(&part.outcome) => LineEffect::Nothing,
            RecordStage::Outcome if key != part.action_id => LineEffect::SettlesPart(key),
            RecordStage::Outcome => {
                let rows = self.batch.iter().flat_map(|batch| &batch.rows);
                let some_unknown = rows.into_iter().any(|row| row.outcome.as_deref() == Some("unknown"));
                if some_unknown { LineEffect::SettlesPart(key) } else { LineEffect::Settles(key) }
            }
        }
    }
}

/// The id of the transaction of an act, or of the act itself.
pub(super) fn base(action_id: &str) -> &str {
    action_id.split_once('.').map_or(action_id, |(base, _)| base)
}
