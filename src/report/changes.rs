//! Rows before and after, column by column: what an act changed, or an undo is about to write.

use serde_json::Value as Json;

/// One line per row, and one per changed column.
pub fn lines(before: &Json, after: &Json) -> Vec<String> {
    let empty = Vec::new();
    let (before, after) = (before.as_array().unwrap_or(&empty), after.as_array().unwrap_or(&empty));
    let mut lines = Vec::new();
    for (was, is) in before.iter().zip(after) {
        let table = was["table"].as_str().unwrap_or_default();
        let at = was.get("rowid").or_else(|| was.get("key")).unwrap_or(&Json::Null);
        lines.push(format!("{table} {at}"));
        match (was["row"].as_object(), is["row"].as_object()) {
            (Some(was), Some(is)) => {
                for (column, value) in was {
                    let now = is.get(column).unwrap_or(&Json::Null);
                    if now != value {
                        lines.push(format!("  {column}: {value} → {now}"));
                    }
                }
            }
            (Some(was), None) => {
                lines.push("  deleted".into());
                lines.extend(was.iter().map(|(column, value)| format!("  - {column}: {value}")));
            }
            (None, Some(is)) => {
                lines.push("  added".into());
                lines.extend(is.iter().map(|(column, value)| format!("  + {column}: {value}")));
            }
            (None, None) => {}
        }
    }
    lines
}
