//! The trail for people.

use super::json::line;
use super::table::{Cell, render};
use crate::domain::visible::safe;
use crate::recovery::trail::{Entry, Stage};

/// One line a record.
pub fn table(entries: &[Entry]) -> String {
    let mut rows = vec![["WHEN", "ACTION", "STAGE", "CLAIM", "BY", "OUTCOME", "ID"].map(Cell::text).to_vec()];
    for entry in entries {
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
        rows.push(vec![
            Cell::text(record.at.clone()),
            Cell::text(record.action.clone()),
            Cell::text(stage),
            Cell::text(safe(&record.address)),
            Cell::text(safe(&who)),
            Cell::text(safe(&outcome)),
            Cell::text(record.action_id.clone()),
        ]);
    }
    render(&rows)
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
