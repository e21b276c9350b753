//! The result of an act, for people and as JSON.

use serde_json::{Value as Json, json};

use super::json::line;
use crate::domain::recovery::Outcome;
use crate::domain::visible::{safe, visible};
use crate::recovery::ActReport;
use crate::store::Side;

/// The object that a verb with `--json` prints.
pub fn json(report: &ActReport) -> String {
    let mut object = json!({
        "action_id": Some(&report.action_id).filter(|id| !id.is_empty()),
        "action": report.action,
        "outcome": report.outcome.as_str(),
        "id": report.id,
        "address": report.address,
        "holder": report.holder,
        "fenced": report.fencing.written(),
        "why": report.outcome.why(),
        "before": report.images(Side::Before),
        "after": report.images(Side::After),
    });
    if let Some(risk) = warning(report) {
        object["warning"] = json!(risk);
    }
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

/// The risk of an act, if it was done.
fn warning(report: &ActReport) -> Option<&'static str> {
    match report.outcome {
        Outcome::Applied | Outcome::Unknown(_) => report.risk,
        Outcome::Moved(_) | Outcome::Refused(_) => None,
    }
}

/// Whether an act was performed or only rehearsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActMode<'a> {
    Rehearsed,
    /// The command that undoes the act, without the id of the act.
    Done {
        undo: &'a str,
    },
}

/// The same in a few lines.
pub fn text(report: &ActReport, telling: ActMode<'_>) -> String {
    let holder =
        report.holder.as_deref().map_or_else(String::new, |holder| format!(" of {}", visible(holder)));
    let mut out = match (&report.outcome, telling) {
        (Outcome::Applied, ActMode::Rehearsed) => {
            format!("would {} {}{holder}\n", report.action, safe(&report.address))
        }
        (Outcome::Applied, ActMode::Done { undo }) => format!(
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
    if let Some(risk) = warning(report) {
        out.push_str(&format!("  warning: {risk}\n"));
    }
    for sentence in report.effects.sentences() {
        out.push_str(&format!("  {}\n", safe(&sentence)));
    }
    let untold = report.untold();
    out.push_str(&beyond_undo(untold.iter().copied()));
    if telling == ActMode::Rehearsed {
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

/// The warning about tables in which triggers or foreign keys changed rows that are not known.
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
