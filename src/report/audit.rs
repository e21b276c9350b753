//! The audit trail as text.

use std::collections::BTreeMap;

use super::json::line;
use super::markdown::{self, code, text};
use super::table::{TableCell, render, render_below};
use crate::domain::visible::safe;
use crate::recovery::trail::{JournalEntry, Record, RecordStage};

/// One line per record, a page at a time: a trail of years need not fit into memory.
#[derive(Debug, Default)]
pub struct AuditPages {
    widths: Vec<usize>,
}

impl AuditPages {
    /// The next page; the first one begins with the column names.
    pub fn next(&mut self, entries: &[JournalEntry]) -> String {
        let mut rows = Vec::with_capacity(entries.len() + 1);
        if self.widths.is_empty() {
            rows.push(
                ["WHEN", "ACTION", "STAGE", "CLAIM", "BY", "OUTCOME", "ID"].map(TableCell::text).to_vec(),
            );
        }
        rows.extend(entries.iter().map(row));
        render_below(&rows, &mut self.widths)
    }
}

fn row(entry: &JournalEntry) -> Vec<TableCell> {
    let record = &entry.record;
    let stage = match record.stage {
        RecordStage::Intent => "intent",
        RecordStage::Outcome => "outcome",
    };
    let outcome = match (&record.outcome, &record.why) {
        (Some(outcome), Some(why)) => format!("{outcome}: {why}"),
        (Some(outcome), None) => outcome.clone(),
        (None, _) => "-".into(),
    };
    let who = record.who.login.clone().unwrap_or_else(|| record.who.uid.to_string());
    vec![
        TableCell::text(safe(&record.at)),
        TableCell::text(safe(&record.action)),
        TableCell::text(stage),
        TableCell::text(safe(&record.address)),
        TableCell::text(safe(&who)),
        TableCell::text(safe(&outcome)),
        TableCell::text(safe(&record.action_id)),
    ]
}

/// A Markdown table, one line per act, a page at a time. An act is printed with its outcome; acts without one come
/// last.
#[derive(Debug, Default)]
pub struct MarkdownPages {
    is_begun: bool,
    open: BTreeMap<String, Record>,
}

impl MarkdownPages {
    /// The next page; the first one begins with the column names.
    pub fn next(&mut self, entries: Vec<JournalEntry>) -> String {
        let mut out = self.heading();
        for JournalEntry { record, .. } in entries {
            match record.stage {
                RecordStage::Intent => {
                    let record = Record { before: Default::default(), after: Default::default(), ..record };
                    self.open.insert(record.action_id.clone(), record);
                }
                RecordStage::Outcome => {
                    self.open.remove(&record.action_id);
                    out.push_str(&markdown_row(&record));
                }
            }
        }
        out
    }

    /// The acts without an outcome among the records.
    pub fn end(mut self) -> String {
        let mut open: Vec<Record> = std::mem::take(&mut self.open).into_values().collect();
        open.sort_by(|one, other| one.at.cmp(&other.at));
        self.heading() + &open.iter().map(markdown_row).collect::<String>()
    }

    fn heading(&mut self) -> String {
        if std::mem::replace(&mut self.is_begun, true) {
            return String::new();
        }
        markdown::heading(&["Time", "Who", "Act", "Outcome", "Claim", "Holder", "Source", "Reason", "Id"])
    }
}

fn markdown_row(record: &Record) -> String {
    let outcome = record.outcome.as_deref().unwrap_or("open");
    let outcome = match &record.why {
        Some(why) => format!("{outcome}: {why}"),
        None => outcome.to_owned(),
    };
    markdown::row([
        text(&record.at),
        text(&record.who.name()),
        text(&record.action),
        text(&outcome),
        code(&record.address),
        record.holder.as_deref().map(code).unwrap_or_default(),
        code(&record.source),
        record.reason.as_deref().map(text).unwrap_or_default(),
        code(&record.action_id),
    ])
}

/// All fields of a record, one per line.
pub fn detail(entry: &JournalEntry) -> String {
    let json = serde_json::to_value(&entry.record).unwrap_or_default();
    let mut rows = vec![vec![TableCell::text("seq"), TableCell::text(entry.seq.to_string())]];
    rows.push(vec![TableCell::text("hash"), TableCell::text(entry.hash.clone())]);
    for (field, value) in json.as_object().into_iter().flatten() {
        rows.push(vec![TableCell::text(field.clone()), TableCell::text(line(value))]);
    }
    render(&rows) + "\n"
}
