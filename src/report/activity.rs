//! What each holder did: a table for people, JSON lines and CSV for programs.

use serde_json::json;

use super::json;
use super::list::field;
use super::table::{TableCell, render};
use crate::domain::detail::HolderActivity;
use crate::domain::time::Moment;
use crate::domain::visible::{escape, visible};

/// One holder as a JSON line.
pub fn activity_json(source: &str, activity: &HolderActivity) -> String {
    json::line(&json!({
        "source": source, "profile": activity.profile, "history": activity.history, "holder": activity.holder,
        "count": activity.count, "last_5m": activity.recent, "per_minute": activity.per_minute(),
        "last_at": activity.last, "what": activity.what,
    }))
}

/// The headings of [`activity_csv`].
pub const ACTIVITY_HEADINGS: [&str; 8] =
    ["source", "profile", "history", "holder", "count", "last_5m", "per_minute", "last_at"];

pub fn activity_csv(source: &str, activity: &HolderActivity) -> Vec<String> {
    vec![
        field(source),
        field(&activity.profile),
        field(&activity.history),
        activity.holder.as_deref().map_or_else(String::new, field),
        activity.count.to_string(),
        activity.recent.to_string(),
        activity.per_minute().to_string(),
        activity.last.map_or_else(String::new, Moment::rfc3339),
    ]
}

/// The holders as a table for people.
pub fn activity_table(holders: &[HolderActivity]) -> String {
    let headings = ["HOLDER", "HISTORY", "LAST 5 MIN", "PER MIN", "IN ALL", "LAST", "WHAT"];
    let mut rows = vec![headings.map(TableCell::text).to_vec()];
    for one in holders {
        let last = one.last.map_or_else(|| "-".into(), |at| format!("{} ago", one.now.since(at)));
        rows.push(vec![
            TableCell::text(one.holder.as_deref().map_or_else(|| "-".into(), visible)),
            TableCell::text(format!("{}/{}", one.profile, one.history)),
            TableCell::right(one.recent.to_string()),
            TableCell::right(format!("{:.1}", one.per_minute())),
            TableCell::right(one.count.to_string()),
            TableCell::text(last),
            TableCell::text(what(one)),
        ]);
    }
    render(&rows)
}

/// What it did, the most frequent first.
fn what(activity: &HolderActivity) -> String {
    let mut all: Vec<(&String, &u64)> = activity.what.iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let parts: Vec<String> = all.iter().map(|(what, count)| format!("{count} {}", escape(what))).collect();
    parts.join(", ")
}
