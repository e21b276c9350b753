//! One poll of several sources: a page for people, one JSON object for monitoring.

mod own_recovery;
mod plugin;
mod reclaims;
mod stats;
mod thresholds;

pub use plugin::plugin;
pub use thresholds::{CheckThresholds, GaugeLimit};

use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use self::reclaims::{reclaims_json, reclaims_text};
use self::stats::stats_json;
use super::paint::Paint;
use crate::domain::cause::{Cause, Facts, find_in_all};
use crate::domain::recovery_preview::RecoveryPreview;
use crate::domain::snapshot::{BoardSnapshot, Counts, Snapshot};
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::{Reason, Set};
use crate::domain::visible::safe;
use crate::exit::Exit;
use crate::store::recoveries::Recoveries;

/// The result of polling one source.
#[derive(Debug)]
pub struct CheckResult {
    /// The name that the user typed.
    pub source: String,
    pub engine: &'static str,
    pub result: Result<Vec<Snapshot>, String>,
    /// The facts in which causes are found, if enough claims are in trouble.
    pub facts: Option<Arc<Facts>>,
    /// What the own recovery of a merge queue would do now, by profile.
    pub previews: Vec<(String, RecoveryPreview)>,
    /// Recoveries within the last hour, of the systems that keep traces of them.
    pub recoveries: Vec<Recoveries>,
}

impl CheckResult {
    pub fn exit(&self, thresholds: &CheckThresholds) -> Exit {
        match &self.result {
            Ok(snapshots) => {
                let exits = snapshots.iter().map(|snapshot| self.judge(snapshot, thresholds));
                exits.fold(Exit::Fine, Exit::and)
            }
            Err(_) => Exit::Error,
        }
    }

    fn preview(&self, profile: &str) -> Option<&RecoveryPreview> {
        self.previews.iter().find(|(of, _)| of == profile).map(|(_, preview)| preview)
    }

    /// Hidden rows cannot be called fine.
    fn judge(&self, snapshot: &Snapshot, thresholds: &CheckThresholds) -> Exit {
        match snapshot.veiled {
            Some(_) => Exit::Error,
            None => thresholds.judge(&snapshot.counts(), self.reclaims(snapshot).map(Recoveries::total)),
        }
    }

    /// The recoveries of one profile.
    fn reclaims(&self, snapshot: &Snapshot) -> Option<&Recoveries> {
        self.recoveries.iter().find(|found| found.profile == snapshot.profile)
    }

    /// Why nothing, or not everything, could be read.
    pub fn failures(&self) -> Vec<String> {
        match &self.result {
            Ok(snapshots) => {
                let mut veils: Vec<&String> =
                    snapshots.iter().filter_map(|one| one.veiled.as_ref()).collect();
                veils.dedup();
                veils.into_iter().map(|veil| format!("{}: {veil}", self.source)).collect()
            }
            Err(error) => vec![error.clone()],
        }
    }
}

/// What the claims in trouble of all sources have in common, worst first.
pub fn causes(looked: &[CheckResult]) -> Vec<Cause> {
    let facts: Vec<&Facts> = looked.iter().filter_map(|source| source.facts.as_deref()).collect();
    find_in_all(&Facts::merged(facts.iter().copied()), &facts)
}

/// The object that `check --json` prints.
pub fn json(looked: &[CheckResult], at: Moment) -> Json {
    let mut sources = Vec::new();
    for source in looked {
        match &source.result {
            Ok(snapshots) => sources.extend(snapshots.iter().map(|snapshot| source_json(source, snapshot))),
            Err(error) => sources.push(json!({
                "source": source.source, "engine": source.engine, "profile": null,
                "ok": false, "error": error,
            })),
        }
    }
    json!({"at": at, "sources": sources, "causes": causes(looked)})
}

fn source_json(source: &CheckResult, snapshot: &Snapshot) -> Json {
    let sessions = snapshot.sessions();
    let boards: Map<String, Json> =
        snapshot.boards.iter().map(|board| (board.board.clone(), board_json(board, snapshot.now))).collect();
    let mut object = json!({
        "source": source.source,
        "engine": source.engine,
        "profile": snapshot.profile,
        "ok": snapshot.veiled.is_none(),
        "error": snapshot.veiled,
        "now": snapshot.now,
        "poll_ms": snapshot.poll_cost.as_micros() as f64 / 1_000.0,
        "clock_offset_ms": snapshot.clock_offset.as_millis(),
        "replica_lag_ms": snapshot.replica.map(Span::as_millis),
        "exact": snapshot.is_exact(),
        "generic": snapshot.generic,
        "claims": counts_json(&snapshot.counts()),
        "reasons": snapshot.reasons(),
        "sessions": sessions.map(|sessions| json!({
            "total": sessions.total, "alive": sessions.alive, "stale": sessions.stale,
        })),
        "backlog": backlog_json(&snapshot.boards, snapshot.now),
        "boards": boards,
        "stats": stats_json(snapshot),
        "reclaims": reclaims_json(source.reclaims(snapshot)),
        "notices": snapshot.notices,
    });
    if let Some(preview) = source.preview(&snapshot.profile) {
        object["recovery"] = json!(preview);
    }
    object
}

fn counts_json(counts: &Counts) -> Json {
    json!({
        "total": counts.total, "healthy": counts.healthy, "expiring": counts.expiring,
        "stale": counts.stale, "orphaned": counts.orphaned, "unknown": counts.unknown,
        "runaway": counts.runaway,
    })
}

fn board_json(board: &BoardSnapshot, now: Moment) -> Json {
    let mut all = counts_json(&board.counts);
    all["reasons"] = json!(board.reasons);
    all["exact"] = json!(board.gaps.is_exact());
    all["backlog"] = backlog_json(std::slice::from_ref(board), now);
    if let Some(census) = &board.gaps.census {
        all["census"] = json!({
            "reasons": board.gaps.reasons, "rows": census.looked_at,
            "since": census.since, "complete": census.complete,
        });
    }
    if let Some(since) = board.gaps.total_since {
        all["total_since"] = json!(since);
    }
    if !board.gaps.indexes.is_empty() {
        all["missing_indexes"] = json!(board.gaps.indexes);
    }
    all
}

/// The sum of all backlogs by state; null if no board has one.
fn backlog_json(boards: &[BoardSnapshot], now: Moment) -> Json {
    let mut all = Map::new();
    for (state, count) in boards.iter().flat_map(|board| &board.backlog) {
        let sum = all.get(state).and_then(Json::as_u64).unwrap_or(0) + count;
        all.insert(state.clone(), json!(sum));
    }
    if all.is_empty() {
        return Json::Null;
    }
    let oldest = boards.iter().filter_map(|board| board.oldest_queued).min();
    let age = oldest.map(|oldest| now.since(oldest).as_micros().max(0) / 1_000_000);
    all.insert("oldest_queued_s".into(), json!(age));
    let more: BTreeSet<&String> = boards.iter().flat_map(|board| &board.gaps.backlog).collect();
    if !more.is_empty() {
        all.insert("more_than".into(), json!(more));
    }
    Json::Object(all)
}

/// The page that `check` prints for people.
pub fn text(looked: &[CheckResult], thresholds: &CheckThresholds, paint: Paint) -> String {
    let mut out = String::new();
    // Causes come before the rows.
    for cause in causes(looked) {
        let _ = writeln!(out, "{}  {cause}", paint.set(Set::Orphaned, "CAUSE"));
    }
    for source in looked {
        if let Ok(snapshots) = &source.result {
            let mut noted = BTreeSet::new();
            for snapshot in snapshots {
                if !out.is_empty() {
                    out.push('\n');
                }
                let verdict = source.judge(snapshot, thresholds);
                page(&mut out, source, snapshot, verdict, paint);
                // Print a note about the whole source only once.
                for notice in snapshot.notices.iter().filter(|notice| noted.insert(*notice)) {
                    let _ = writeln!(out, "  note: {}", safe(notice));
                }
            }
        }
    }
    out
}

fn page(out: &mut String, source: &CheckResult, snapshot: &Snapshot, verdict: Exit, paint: Paint) {
    let counts = snapshot.counts();
    let headline = match verdict {
        Exit::Critical => paint.set(Set::Stale, "CRITICAL"),
        Exit::Warning => paint.set(Set::Expiring, "WARNING"),
        Exit::Error => paint.set(Set::Unknown, "UNKNOWN"),
        _ => paint.set(Set::Healthy, "OK"),
    };
    let in_sets = [Set::Orphaned, Set::Stale, Set::Unknown, Set::Expiring]
        .into_iter()
        .filter(|set| counts.of(*set) > 0)
        .map(|set| format!("{} {set}", counts.of(set)))
        .collect::<Vec<_>>();
    let more = if snapshot.boards.iter().any(|board| board.gaps.more) { "more than " } else { "" };
    let summary = match (in_sets.is_empty(), counts.total) {
        (_, 0) => "nothing is claimed".to_owned(),
        (true, total) if more.is_empty() => format!("all {total} claims are healthy"),
        (true, total) => format!("no trouble found in {more}{total} claims"),
        (false, total) => {
            format!("{} of {more}{total} {}, {} healthy", in_sets.join(", "), claims(total), counts.healthy)
        }
    };
    let cost = paint.dim(&format!(
        "({}, {}, {:.1} ms)",
        snapshot.profile,
        source.engine,
        snapshot.poll_cost.as_micros() as f64 / 1_000.0
    ));
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(out, "{headline}  {}  {summary}  {cost}", paint.bold(&safe(&source.source)));
    for board in &snapshot.boards {
        sentences(out, board, snapshot.boards.len() > 1, paint);
    }
    if let Some(preview) = source.preview(&snapshot.profile) {
        own_recovery::write(out, preview);
    }
    holders_and_backlog(out, snapshot);
    if let Some(reclaims) = reclaims_text(source.reclaims(snapshot)) {
        let _ = writeln!(out, "  reclaims  {reclaims}");
    }
    for board in &snapshot.boards {
        gaps(out, board);
    }
}

fn claims(count: u64) -> &'static str {
    if count == 1 { "claim" } else { "claims" }
}

fn sentences(out: &mut String, board: &BoardSnapshot, named: bool, paint: Paint) {
    for (reason, count) in &board.reasons {
        let set = reason.set();
        let name = paint.set(set, &format!("{:<8}", set.as_str()));
        let board = if named { format!("{}: ", board.board) } else { String::new() };
        let _ = writeln!(out, "  {name}  {board}{}", reason.sentence(*count));
    }
    if board.counts.runaway > 0 {
        let name = paint.set(Set::Stale, &format!("{:<8}", "runaway"));
        let count = board.counts.runaway;
        let board = if named { format!("{}: ", board.board) } else { String::new() };
        let _ = writeln!(out, "  {name}  {board}{count} {}: twice the time allowed, or more", claims(count));
    }
}

fn holders_and_backlog(out: &mut String, snapshot: &Snapshot) {
    if let Some(sessions) = snapshot.sessions() {
        let _ = writeln!(
            out,
            "  sessions  {} in all, {} alive, {} stale",
            sessions.total, sessions.alive, sessions.stale
        );
    }
    for board in snapshot.boards.iter().filter(|board| !board.backlog.is_empty()) {
        let states: Vec<String> = board
            .backlog
            .iter()
            .map(|(state, count)| {
                let more = if board.gaps.backlog.contains(state) { "more than " } else { "" };
                format!("{more}{count} {}", state.replace('_', " "))
            })
            .collect();
        let oldest = board.oldest_queued.map_or_else(String::new, |oldest| {
            format!(", the oldest waiting for {}", snapshot.now.since(oldest).max(Span::ZERO))
        });
        let _ = writeln!(out, "  backlog   {}: {}{oldest}", board.board, states.join(", "));
    }
}

fn gaps(out: &mut String, board: &BoardSnapshot) {
    if board.gaps.more {
        let _ = writeln!(
            out,
            "  note: {}: there are more claims than were counted (--exact counts all)",
            board.board
        );
    } else if let Some(census) = &board.gaps.census {
        let names: Vec<&str> = board.gaps.reasons.iter().map(|reason: &Reason| reason.as_str()).collect();
        let _ = writeln!(
            out,
            "  note: {}: {} counted in {} of the rows only, for want of an index (--exact reads all)",
            board.board,
            names.join(", "),
            census.looked_at
        );
    }
    if let Some(since) = board.gaps.total_since {
        let _ = writeln!(out, "  note: {}: its claims were last counted at {}", board.board, since.rfc3339());
    }
    for index in &board.gaps.indexes {
        let _ = writeln!(out, "  note: {}: this index would help: {index}", board.board);
    }
}
