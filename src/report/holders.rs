//! The holders of a source: a table for people, JSON lines for programs.

use serde_json::json;

use super::json;
use super::table::{Cell, render};
use crate::domain::visible::{safe, visible};
use crate::store::sqlite::Holder;

/// A holder as a JSON line.
pub fn line(source: &str, holder: &Holder) -> String {
    let session = &holder.session;
    json::line(&json!({
        "source": source,
        "profile": holder.profile,
        "registry": holder.registry,
        "id": holder.id.text(),
        "state": state(holder),
        "beat_at": session.beat_at.at(),
        "started_at": session.started_at.at(),
        "pid": session.pid.int(),
        "host": session.host,
        "process": session.process.as_str(),
        "evidence": session.evidence,
        "claims": holder.claims,
    }))
}

pub fn table(holders: &[Holder]) -> String {
    let heading = ["SESSION", "HEARTBEAT", "CLAIMS", "PID", "HOST", "PROCESS", "WHY"];
    let mut rows = vec![heading.map(Cell::text).to_vec()];
    for holder in holders {
        let session = &holder.session;
        let beat = session.beat_at.at().map_or_else(
            || state(holder).to_owned(),
            |beat| format!("{} ago, {}", holder.now.since(beat), state(holder)),
        );
        rows.push(vec![
            Cell::text(holder.id.visible()),
            Cell::text(beat),
            Cell::right(holder.claims.to_string()),
            Cell::text(session.pid.visible()),
            Cell::text(session.host.as_deref().map_or_else(|| "-".into(), visible)),
            Cell::text(session.process.as_str()),
            Cell::text(session.evidence.as_deref().map_or_else(String::new, safe)),
        ]);
    }
    render(&rows)
}

fn state(holder: &Holder) -> &'static str {
    match (holder.session.beat_at.at(), holder.is_stale) {
        (None, _) => "unknown",
        (Some(_), true) => "stale",
        (Some(_), false) => "alive",
    }
}
