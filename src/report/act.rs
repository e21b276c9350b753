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
        "action_id": Some(&report.action_id).filter(|id| !id.is_empty()),
        "action": report.action,
        "outcome": report.outcome.as_str(),
        "id": report.id,
        "address": report.address,
        "holder": report.holder,
        "why": report.outcome.why(),
        "before": report.images(Side::Before),
        "after": report.images(Side::After),
    });
    let untold = report.untold();
    if !untold.is_empty() {
        object["not_undone"] = json!(untold);
    }
    if !report.effects.other_rows.is_empty() {
        object["other_rows"] = json!(report.effects.other_rows);
    }
    if report.effects.still_held {
        object["still_held"] = json!(true);
    }
    line(&object) + "\n"
}

/// Whether an act was done, or only rehearsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Telling<'a> {
    Rehearsed,
    /// The command that takes an act back, up to the id of the act.
    Done {
        undo: &'a str,
    },
}

/// The same in a few lines.
pub fn text(report: &Report, telling: Telling<'_>) -> String {
    let holder =
        report.holder.as_deref().map_or_else(String::new, |holder| format!(" of {}", visible(holder)));
    let mut out = match (&report.outcome, telling) {
        (Outcome::Applied, Telling::Rehearsed) => {
            format!("would {} {}{holder}\n", report.action, safe(&report.address))
        }
        (Outcome::Applied, Telling::Done { undo }) => format!(
            "{} {}{holder}: applied as {}\n  to undo it: {undo} {}\n",
            report.action,
            safe(&report.address),
            report.action_id,
            report.action_id
        ),
        (Outcome::Moved(_) | Outcome::Refused(_) | Outcome::Unknown(_), _) => {
            format!(
                "{} {}{holder}: {}: {}\n",
                report.action,
                safe(&report.address),
                report.outcome.as_str(),
                safe(&report.outcome.why().unwrap_or_default())
            )
        }
    };
    for sentence in report.effects.sentences() {
        out.push_str(&format!("  {}\n", safe(&sentence)));
    }
    let untold = report.untold();
    out.push_str(&beyond_undo(untold.iter().copied()));
    if telling == Telling::Rehearsed {
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
    }
    if let Some(why) = &report.unrecorded {
        out.push_str(&format!("  applied, but its outcome could not be written: {}\n", safe(why)));
    }
    out
}

/// What is to be said of tables in which triggers or foreign keys changed rows that nobody can tell.
pub fn beyond_undo<'a>(tables: impl Iterator<Item = &'a str>) -> String {
    let tables: Vec<&str> = tables.collect();
    if tables.is_empty() {
        return String::new();
    }
    format!("  an undo does not take back what triggers or foreign keys do in {}\n", safe(&tables.join(", ")))
}

fn rows(images: &Json) -> impl Iterator<Item = &Json> {
    images.as_array().into_iter().flatten()
}
