//! What came of an act, for people and for programs.

use serde_json::{Value as Json, json};

use super::json::line;
use crate::domain::recovery::Outcome;
use crate::domain::visible::{safe, visible};
use crate::recovery::Report;
use crate::store::Side;

/// The object that a verb with `--json` prints.
pub fn json(report: &Report) -> String {
    let mut object = json!({
        "action_id": report.action_id,
        "action": report.action,
        "outcome": report.outcome.as_str(),
        "id": report.id,
        "address": report.address,
        "holder": report.holder,
        "why": report.outcome.why(),
        "before": report.images(Side::Before),
        "after": report.images(Side::After),
    });
    let untold = untold(report);
    if !untold.is_empty() {
        object["not_undone"] = json!(untold);
    }
    line(&object) + "\n"
}

/// Tables in which triggers, or foreign keys, changed rows that nobody can tell.
fn untold(report: &Report) -> Vec<&str> {
    let untold = report.changes.iter().filter(|change| change.is_untold());
    untold.map(|change| change.table.as_str()).collect()
}

/// The same in a few lines.
pub fn text(report: &Report, rehearsed: bool) -> String {
    let holder =
        report.holder.as_deref().map_or_else(String::new, |holder| format!(" of {}", visible(holder)));
    let mut out = match &report.outcome {
        Outcome::Applied if rehearsed => {
            format!("would {} {}{holder}\n", report.action, safe(&report.address))
        }
        Outcome::Applied => format!(
            "{} {}{holder}: applied as {}\n  to take it back: claimtop undo SOURCE {}\n",
            report.action,
            safe(&report.address),
            report.action_id,
            report.action_id
        ),
        Outcome::Moved(why) | Outcome::Refused(why) | Outcome::Unknown(why) => {
            format!(
                "{} {}{holder}: {}: {}\n",
                report.action,
                safe(&report.address),
                report.outcome.as_str(),
                safe(why)
            )
        }
    };
    let untold = untold(report);
    if !untold.is_empty() {
        let tables = safe(&untold.join(", "));
        out.push_str(&match report.action.as_str() {
            "undo" => format!("  not taken back: what the act set off in {tables}\n"),
            _ => {
                format!("  its triggers reach further: an undo does not take back what they do in {tables}\n")
            }
        });
    }
    if rehearsed {
        for statement in &report.preview {
            out.push_str(&format!("  {}\n", safe(statement)));
        }
        let (before, after) = (report.images(Side::Before), report.images(Side::After));
        for (before, after) in rows(&before).zip(rows(&after)) {
            let table = before["table"].as_str().unwrap_or_default();
            if untold.contains(&table) && before["row"].is_null() && after["row"].is_null() {
                continue;
            }
            out.push_str(&format!(
                "  {table}: {}\n    becomes {}\n",
                line(&before["row"]),
                line(&after["row"])
            ));
        }
    } else {
        for note in &report.preview {
            if note.starts_with("applied, but") {
                out.push_str(&format!("  {}\n", safe(note)));
            }
        }
    }
    out
}

fn rows(images: &Json) -> impl Iterator<Item = &Json> {
    images.as_array().into_iter().flatten()
}
