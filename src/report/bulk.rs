//! The preview and the result of a bulk act, for people and as JSON.

use serde_json::json;

use super::json::line;
use crate::domain::tally::{BulkTally, NotDone};
use crate::domain::visible::safe;

/// The object that a bulk verb with `--json` prints last. `undo` is the command that undoes all of it.
pub fn json(batch: Option<&str>, tally: &BulkTally, undo: Option<&str>, dry_run: bool) -> String {
    let reason = |one: &NotDone| json!({"outcome": one.outcome.as_str(), "why": one.why, "count": one.count});
    let mut object = json!({
        "batch": batch,
        "wanted": tally.wanted,
        "applied": tally.applied,
        "refused": tally.refused,
        "moved": tally.moved,
        "unknown": tally.unknown,
        "not_tried": tally.not_tried(),
        "stopped": tally.stopped,
        "reasons": tally.reasons.iter().map(reason).collect::<Vec<_>>(),
        "undo": undo,
    });
    if dry_run {
        object["dry_run"] = json!(true);
    }
    line(&object) + "\n"
}

/// What will be done and what will be skipped: "2 of 4 claims will be reclaimed; 2 skipped".
pub fn preview(tally: &BulkTally, claims: &str, done: &str) -> String {
    let mut text = format!("{} of {} {claims} will be {done}", tally.applied, tally.wanted);
    let skipped = tally.wanted - tally.applied.min(tally.wanted);
    if skipped > 0 {
        text.push_str(&format!("; {skipped} skipped"));
    }
    text + "\n" + &reasons(tally)
}

/// What was done and what was not: "2 of 4 claims reclaimed; 2 refused".
pub fn result(tally: &BulkTally, claims: &str, done: &str, undo: Option<&str>) -> String {
    let mut text = format!("{} of {} {claims} {done}", tally.applied, tally.wanted);
    let not_done = tally.not_done();
    if !not_done.is_empty() {
        text.push_str(&format!("; {not_done}"));
    }
    text.push('\n');
    text.push_str(&reasons(tally));
    if let Some(why) = &tally.stopped {
        text.push_str(&format!("  stopped: {}\n", safe(why)));
    }
    if let Some(undo) = undo {
        text.push_str(&format!("  undo all of it: {undo}\n"));
    }
    text
}

fn reasons(tally: &BulkTally) -> String {
    let reason = |one: &NotDone| {
        let NotDone { outcome, why, count, example } = one;
        let said = if one.is_all_said() { String::new() } else { format!(": {}", safe(&one.said())) };
        format!("  {count} {}: {} (for example {}{said})\n", outcome.as_str(), safe(why), safe(example))
    };
    tally.reasons.iter().map(reason).collect()
}
