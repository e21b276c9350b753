//! Many acts in one line: the shared part once, and a row for each.
//!
//! ```text
//! {"of":{…a record…},"rows":[{"address":…,"after":…,"before":…,"evidence":…,"holder":…,"n":1},…]}
//! {"count":2999,"of":{…,"outcome":"applied",…},"rows":[{…,"n":17,"outcome":"moved","why":…}]}
//! ```
//!
//! The first is an intent. For a database row that stays, `after` contains only the changed columns:
//! `{"changed":{"status":"queued",…}}`. The second is its outcome: the shared record applies to `count` rows of the
//! intent, and `rows` lists those with another outcome. Readers of the trail get one record per row; its id is the id
//! of the batch, a dot, and the number of the row.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::canonical::write_canonical;
use super::record::{Record, RecordStage};

/// A line for many acts.
#[derive(Debug, Deserialize)]
pub(super) struct BatchLine {
    pub(super) of: Box<Record>,
    pub(super) rows: Vec<BatchRow>,
}

/// The row of one act in a batch.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct BatchRow {
    address: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    after: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    before: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    evidence: Value,
    holder: Option<String>,
    n: usize,
    pub(super) outcome: Option<String>,
    why: Option<String>,
}

/// A row to be written. Its fields are in alphabetical order, like everything in the journal; the keys of its images
/// must be as well.
#[derive(Debug, Serialize)]
pub struct RowToWrite<'a, Before, After> {
    pub address: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<After>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<RecordedEvidence<'a>>,
    pub holder: Option<&'a str>,
    pub n: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'a str>,
}

/// The evidence for a verdict; its fields are in alphabetical order as well.
#[derive(Debug, Serialize)]
pub struct RecordedEvidence<'a> {
    pub conclusion: &'a str,
    pub forced: bool,
    pub kind: Option<&'a str>,
    pub process: &'a str,
    pub reasons: Vec<&'a str>,
    pub why: &'a str,
}

/// The rows of a batch, serialized one after the other.
#[derive(Debug, Default)]
pub struct BatchRows {
    text: Vec<u8>,
    /// Where each row begins.
    starts: Vec<usize>,
}

impl BatchRows {
    pub fn add(&mut self, line: &RowToWrite<'_, impl Serialize, impl Serialize>) -> serde_json::Result<()> {
        self.starts.push(self.text.len());
        if self.starts.len() > 1 {
            self.text.push(b',');
        }
        write_canonical(&mut self.text, line)
    }

    /// Removes the last rows.
    pub fn take_back(&mut self, count: usize) {
        let kept = self.starts.len().saturating_sub(count);
        self.text.truncate(self.starts.get(kept).copied().unwrap_or(self.text.len()));
        self.starts.truncate(kept);
    }

    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The text of the whole batch in pieces. `count` is the number of rows that the shared outcome applies to.
    pub(super) fn pieces(&self, of: &Record, count: Option<usize>) -> serde_json::Result<[Cow<'_, str>; 3]> {
        let of = super::canonical::canonical(of)?;
        let count = count.map_or_else(String::new, |count| format!("\"count\":{count},"));
        let rows = std::str::from_utf8(&self.text).map_err(serde::ser::Error::custom)?;
        let head = format!("\"batch\":{{{count}\"of\":{of},\"rows\":[");
        Ok([head.into(), rows.into(), "]}}".into()])
    }
}

/// The intended batches seen so far: their outcomes do not repeat the rows.
#[derive(Debug, Default)]
pub(super) struct IntendedBatches(HashMap<String, Vec<BatchRow>>);

impl IntendedBatches {
    /// One record for each act in the line.
    pub(super) fn records(&mut self, batch: BatchLine) -> Vec<Record> {
        let BatchLine { of, rows } = batch;
        match of.stage {
            RecordStage::Intent => {
                let bare =
                    |row: &BatchRow| BatchRow { before: Value::Null, after: Value::Null, ..row.clone() };
                self.0.insert(of.action_id.clone(), rows.iter().map(bare).collect());
                rows.into_iter().map(|row| row.record(&of)).collect()
            }
            RecordStage::Outcome => {
                let told: HashSet<usize> = rows.iter().map(|row| row.n).collect();
                let mut all = self.0.remove(&of.action_id).unwrap_or_default();
                all.retain(|row| !told.contains(&row.n));
                all.extend(rows);
                all.sort_by_key(|row| row.n);
                all.into_iter().map(|row| row.record(&of)).collect()
            }
        }
    }
}

impl BatchRow {
    fn record(self, of: &Record) -> Record {
        Record {
            action_id: format!("{}.{}", of.action_id, self.n),
            address: self.address,
            holder: self.holder,
            evidence: self.evidence,
            after: whole(&self.before, self.after),
            before: self.before,
            outcome: self.outcome.clone().or_else(|| of.outcome.clone()),
            why: if self.outcome.is_some() { self.why } else { of.why.clone() },
            ..of.clone()
        }
    }
}

/// Of rows that stay, only the changed columns: [`whole`] restores the rows from them.
pub(super) fn differences(before: &Value, after: &Value) -> Option<Value> {
    let (was, is) = (before.as_array()?, after.as_array()?);
    let one = |(was, is): (&Value, &Value)| {
        let columns = |row: &Value| row.get("row").and_then(Value::as_object).cloned();
        let (Some(old), Some(new)) = (columns(was), columns(is)) else { return is.clone() };
        let changed = new.into_iter().filter(|(name, value)| old.get(name) != Some(value)).collect();
        serde_json::json!({"changed": Value::Object(changed)})
    };
    let short = was.iter().zip(is).map(one).collect::<Value>();
    (was.len() == is.len() && whole(before, short.clone()) == *after).then_some(short)
}

/// The rows after the act, from the rows before and the changed columns.
pub(super) fn whole(before: &Value, after: Value) -> Value {
    let Value::Array(after) = after else { return after };
    let rows = after.into_iter().enumerate().map(|(at, mut left)| {
        let Some(Value::Object(changed)) = left.get_mut("changed").map(Value::take) else { return left };
        let mut row = before[at].clone();
        if let Some(columns) = row.get_mut("row").and_then(Value::as_object_mut) {
            columns.extend(changed);
        }
        row
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_changed_is_read_as_the_whole_row() {
        let before = json!([{"key": {"id": 1}, "row": {"id": 1, "a": "x", "b": null}, "table": "t"},
                            {"rowid": 3, "row": {"id": 3}, "table": "u"}, {"row": "no row"}]);
        let after = json!([{"changed": {"a": null, "b": 2}}, {"rowid": 3, "row": null, "table": "u"},
                           {"changed": {"a": 1}}, {"changed": {"a": 1}}]);
        let whole = whole(&before, after);
        assert_eq!(whole[0], json!({"key": {"id": 1}, "row": {"id": 1, "a": null, "b": 2}, "table": "t"}));
        assert_eq!(whole[1], json!({"rowid": 3, "row": null, "table": "u"}));
        assert_eq!((&whole[2], &whole[3]), (&json!({"row": "no row"}), &Value::Null));
    }

    #[test]
    fn the_last_lines_can_be_taken_back() {
        let line = |n: usize| RowToWrite::<(), ()> {
            address: "a",
            after: None,
            before: None,
            evidence: None,
            holder: None,
            n,
            outcome: None,
            why: None,
        };
        let (mut lines, mut other) = (BatchRows::default(), BatchRows::default());
        for n in 1..=3 {
            lines.add(&line(n)).expect("a line");
        }
        lines.take_back(2);
        lines.add(&line(9)).expect("a line");
        for n in [1, 9] {
            other.add(&line(n)).expect("a line");
        }
        assert_eq!(lines.text, other.text);
        lines.take_back(2);
        assert!(lines.is_empty() && lines.text.is_empty());
    }
}
