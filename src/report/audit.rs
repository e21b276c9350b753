//! The trail for people.

use super::json::line;
use super::table::{Cell, render, render_below};
use crate::domain::visible::safe;
use crate::recovery::trail::{Entry, Stage};

/// One line a record, a page at a time: a trail of years need not be held in memory.
#[derive(Debug, Default)]
pub struct Pages {
    widths: Vec<usize>,
}

impl Pages {
    /// The next page; the first has the names of the columns.
    pub fn next(&mut self, entries: &[Entry]) -> String {
        let mut rows = Vec::with_capacity(entries.len() + 1);
        if self.widths.is_empty() {
            rows.push(["WHEN", "ACTION", "STAGE", "CLAIM", "BY", "OUTCOME", "ID"].map(Cell::text).to_vec());
        }
        rows.extend(entries.iter().map(row));
        render_below(&rows, &mut self.widths)
    }
}

fn row(entry: &Entry) -> Vec<Cell> {
    let record = &entry.record;
    let stage = match record.stage {
        Stage::Intent => "intent",
        Stage::Outcome => "outcome",
    };
    let outcome = match (&record.outcome, &record.why) {
        (Some(outcome), Some(why)) => format!("{outcome}: {why}"),
        (Some(outcome), None) => outcome.clone(),
        (None, _) => "-".into(),
    };
    let who = record.who.login.clone().unwrap_or_else(|| record.who.uid.to_string());
    vec![
        Cell::text(safe(&record.at)),
        Cell::text(safe(&record.action)),
        Cell::text(stage),
        Cell::text(safe(&record.address)),
        Cell::text(safe(&who)),
        Cell::text(safe(&outcome)),
        Cell::text(safe(&record.action_id)),
    ]
}

/// Everything in a record, a field a line.
pub fn detail(entry: &Entry) -> String {
    let json = serde_json::to_value(&entry.record).unwrap_or_default();
    let mut rows = vec![vec![Cell::text("seq"), Cell::text(entry.seq.to_string())]];
    rows.push(vec![Cell::text("hash"), Cell::text(entry.hash.clone())]);
    for (field, value) in json.as_object().into_iter().flatten() {
        rows.push(vec![Cell::text(field.clone()), Cell::text(line(value))]);
    }
    render(&rows) + "\n"
}
