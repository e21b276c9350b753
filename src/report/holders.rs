//! The holders of a source: a table for people, JSON lines for programs.

use serde_json::json;

use super::json;
use super::table::{TableCell, render};
use crate::domain::detail::Holder;
use crate::domain::visible::{safe, visible};

/// A holder as a JSON line.
pub fn line(source: &str, holder: &Holder) -> String {
    let worker = &holder.worker;
    json::line(&json!({
        "source": source,
        "profile": holder.profile,
        "registry": holder.listed_in,
        "id": holder.id.text(),
        "state": state(holder),
        "beat_at": holder.beat_at.at(),
        "started_at": holder.started_at.at(),
        "pid": worker.pid.int(),
        "host": worker.host,
        "version": worker.version,
        "process": worker.process.as_str(),
        "evidence": worker.evidence,
        "claims": holder.claims,
    }))
}

pub fn table(holders: &[Holder]) -> String {
    let heading = ["SESSION", "HEARTBEAT", "CLAIMS", "PID", "HOST", "PROCESS", "WHY"];
    let mut rows = vec![heading.map(TableCell::text).to_vec()];
    for holder in holders {
        let worker = &holder.worker;
        let beat = holder.beat_at.at().map_or_else(
            || state(holder).to_owned(),
            |beat| format!("{} ago, {}", holder.now.since(beat), state(holder)),
        );
        rows.push(vec![
            TableCell::text(holder.id.visible()),
            TableCell::text(beat),
            TableCell::right(holder.claims.to_string()),
            TableCell::text(worker.pid.visible()),
            TableCell::text(worker.host.as_deref().map_or_else(|| "-".into(), visible)),
            TableCell::text(worker.process.as_str()),
            TableCell::text(worker.evidence.as_deref().map_or_else(String::new, safe)),
        ]);
    }
    render(&rows)
}

fn state(holder: &Holder) -> &'static str {
    match (holder.beat_at.at(), holder.is_stale) {
        (None, _) => "unknown",
        (Some(_), true) => "stale",
        (Some(_), false) => "alive",
    }
}
