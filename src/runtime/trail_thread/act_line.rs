//! One act, built from its records.

use serde_json::Value;

use crate::app::audit::BulkLine;
use crate::app::message::TrailLine;
use crate::domain::audit::OutcomeCounts;
use crate::recovery::trail::{JournalEntry, Record, RecordStage};
use crate::report::changes;

/// What a single record shows of an act.
pub(super) fn act_line(entry: &JournalEntry, labels: &[String]) -> TrailLine {
    let record = &entry.record;
    TrailLine {
        seq: entry.seq,
        at: record.at.clone(),
        action_id: record.action_id.clone(),
        action: record.action.clone(),
        outcome: None,
        why: None,
        source: record.source.clone(),
        on: labels.iter().position(|label| *label == record.source),
        address: record.address.clone(),
        holder: record.holder.clone(),
        who: who(record),
        reason: record.reason.clone(),
        undoes: record.refers_to.clone(),
        evidence: Vec::new(),
        images: Vec::new(),
    }
}

/// Adds a record; records may come in either order, and the last outcome counts.
pub(super) fn tell(line: &mut TrailLine, entry: &JournalEntry) {
    let record = &entry.record;
    match record.stage {
        RecordStage::Intent => {
            line.at.clone_from(&record.at);
            line.images = changes::lines(&record.before, &record.after);
            line.evidence = evidence(&record.evidence);
        }
        RecordStage::Outcome if line.outcome.is_none() || entry.seq > line.seq => {
            line.outcome.clone_from(&record.outcome);
            line.why.clone_from(&record.why);
        }
        RecordStage::Outcome => {}
    }
    line.seq = line.seq.max(entry.seq);
}

/// A bulk of which one record is known.
pub(super) fn bulk_line(id: &str, entry: &JournalEntry, labels: &[String]) -> BulkLine {
    let record = &entry.record;
    BulkLine {
        id: id.to_owned(),
        seq: entry.seq,
        at: record.at.clone(),
        action: record.action.clone(),
        source: record.source.clone(),
        on: labels.iter().position(|label| *label == record.source),
        counts: OutcomeCounts::default(),
        holder: record.holder.clone(),
        who: who(record),
        reason: record.reason.clone(),
    }
}

fn who(record: &Record) -> String {
    match record.by.as_str() {
        "operator" => record.who.name(),
        by => format!("{by} ({})", record.who.name()),
    }
}

/// The evidence without empty values.
fn evidence(evidence: &Value) -> Vec<(String, String)> {
    let fields = evidence.as_object().into_iter().flatten();
    let known = fields.filter_map(|(name, value)| {
        let text = match value {
            Value::Null | Value::Bool(false) => return None,
            Value::Bool(true) => "yes".to_owned(),
            Value::String(text) => text.clone(),
            Value::Array(all) => {
                let words: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
                words.join(", ")
            }
            other => other.to_string(),
        };
        (!text.is_empty()).then(|| (name.clone(), text))
    });
    known.collect()
}
