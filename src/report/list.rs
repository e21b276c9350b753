//! Claims one by one: a table for people, JSON lines and CSV for programs.

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::json;
use super::paint::Paint;
use super::table::{TableCell, render, render_below, width_of};
use crate::domain::beat_intervals::BeatPace;
use crate::domain::claim::Registry;
use crate::domain::time::{Moment, Reading, Span};
use crate::domain::value::{Value, percent};
use crate::domain::verdict::{Reason, Set};
use crate::domain::visible::{escape, visible};
use crate::store::{Listed, Trace};

/// A claim as it is printed.
#[derive(Debug, Serialize)]
pub struct ClaimLine {
    source: String,
    profile: String,
    board: String,
    id: String,
    /// The id, made safe for display and still unique.
    #[serde(skip)]
    shown: String,
    kind: Option<String>,
    holder: Option<String>,
    verdict: Set,
    sets: Vec<Set>,
    reasons: Vec<Reason>,
    conclusion: &'static str,
    why: String,
    claimed_at: Option<Moment>,
    beat_at: Option<Moment>,
    deadline_at: Option<Moment>,
    remaining_ms: Option<i64>,
    overrun: Option<f64>,
    /// Whether it is later than claims of its kind usually are; nothing, if their interval is not known.
    late: Option<bool>,
    beats_every_ms: Option<i64>,
    attempts: Option<i64>,
    max_attempts: Option<i64>,
    exhausted: bool,
    fenced: Option<bool>,
    error: Option<String>,
    address: String,
    session: Option<Json>,
    seen: Option<String>,
}

impl ClaimLine {
    pub fn new(source: &str, listed: &Listed) -> ClaimLine {
        let claim = &listed.judged.claim;
        let verdict = &listed.judged.verdict;
        ClaimLine {
            source: source.into(),
            profile: listed.profile.clone(),
            board: listed.board.clone(),
            id: claim.key.text(),
            shown: claim.key.visible(),
            kind: claim.kind.clone(),
            holder: claim.holder.clone(),
            verdict: verdict.headline(),
            sets: verdict.reasons.sets(),
            reasons: verdict.reasons.iter().collect(),
            conclusion: listed.conclusion.as_str(),
            why: late_why(listed),
            claimed_at: claim.claimed_at.at(),
            beat_at: claim.beat_at.at(),
            deadline_at: verdict.deadline,
            remaining_ms: verdict.deadline.map(|at| at.since(listed.now).as_millis()),
            overrun: verdict.overrun.map(|overrun| (overrun * 100.0).round() / 100.0),
            late: listed.pace.map(BeatPace::is_late),
            beats_every_ms: listed.pace.map(|pace| pace.usual.as_millis()),
            attempts: claim.attempts,
            max_attempts: claim.max_attempts,
            exhausted: verdict.exhausted,
            fenced: listed.fencing.written(),
            error: claim.error.clone(),
            address: address(listed),
            session: session(listed),
            seen: listed.judged.seen.map(|token| token.to_string()),
        }
    }

    /// A dead job: its last error matters, not how long it may take.
    pub fn of_the_dead(source: &str, listed: &Listed) -> ClaimLine {
        let claim = &listed.judged.claim;
        let attempts = match (claim.attempts, claim.max_attempts) {
            (Some(attempts), Some(most)) => format!("dead after {attempts} of {most} attempts"),
            (Some(attempts), None) => format!("dead after {attempts} attempts"),
            (None, _) => "dead".into(),
        };
        let error = claim.error.as_deref().map(|error| format!(": {}", visible(error)));
        ClaimLine { why: attempts + &error.unwrap_or_default(), ..ClaimLine::new(source, listed) }
    }

    /// The sort key: worst first.
    pub fn rank(&self) -> (Set, i64) {
        (self.verdict, self.remaining_ms.unwrap_or(i64::MAX))
    }

    pub fn json(&self) -> String {
        json::line(self)
    }

    /// The headings of [`ClaimLine::csv`].
    pub const HEADINGS: [&'static str; 21] = [
        "source",
        "profile",
        "board",
        "id",
        "kind",
        "holder",
        "verdict",
        "sets",
        "reasons",
        "conclusion",
        "why",
        "claimed_at",
        "beat_at",
        "deadline_at",
        "remaining_ms",
        "overrun",
        "attempts",
        "max_attempts",
        "exhausted",
        "error",
        "address",
    ];

    pub fn csv(&self) -> Vec<String> {
        let text = |text: &Option<String>| text.as_deref().map_or_else(String::new, field);
        let time = |time: &Option<Moment>| time.map_or_else(String::new, Moment::rfc3339);
        let number = |number: Option<i64>| number.map_or_else(String::new, |number| number.to_string());
        let words = |words: Vec<&str>| words.join(" ");
        vec![
            field(&self.source),
            field(&self.profile),
            field(&self.board),
            field(&self.id),
            text(&self.kind),
            text(&self.holder),
            self.verdict.to_string(),
            words(self.sets.iter().map(|set| set.as_str()).collect()),
            words(self.reasons.iter().map(|reason| reason.as_str()).collect()),
            self.conclusion.into(),
            field(&self.why),
            time(&self.claimed_at),
            time(&self.beat_at),
            time(&self.deadline_at),
            number(self.remaining_ms),
            self.overrun.map_or_else(String::new, |overrun| overrun.to_string()),
            number(self.attempts),
            number(self.max_attempts),
            self.exhausted.to_string(),
            text(&self.error),
            field(&self.address),
        ]
    }
}

/// Why it stands where it stands, and that it is late, if nothing worse is.
fn late_why(listed: &Listed) -> String {
    match listed.pace.filter(|pace| pace.is_worth_saying(&listed.judged.verdict)) {
        Some(pace) => format!("{}; late: {pace}", listed.why),
        None => listed.why.clone(),
    }
}

/// A claim's address: `profile/board/id`, its parts percent-encoded.
fn address(listed: &Listed) -> String {
    format!("{}/{}/{}", percent(&listed.profile), percent(&listed.board), listed.judged.claim.key.address())
}

/// The holder's session, if the system has sessions.
fn session(listed: &Listed) -> Option<Json> {
    let claim = &listed.judged.claim;
    let stale = listed.judged.verdict.reasons.contains(Reason::SessionStale);
    let (state, session) = match &claim.registry {
        Registry::None if claim.worker.pid == Value::Null && claim.worker.version.is_none() => return None,
        Registry::None | Registry::Unregistered => ("unregistered", None),
        Registry::Missing => ("missing", None),
        Registry::Listed(session) if listed.judged.verdict.doubt.is_some() => ("unknown", Some(session)),
        Registry::Listed(session) => match &session.beat_at {
            Reading::At(_) if stale => ("stale", Some(session)),
            Reading::At(_) => ("alive", Some(session)),
            Reading::Absent | Reading::Null | Reading::Bad(_) => ("unknown", Some(session)),
        },
    };
    Some(json!({
        "state": state,
        "beat_at": session.and_then(|session| session.beat_at.at()),
        "started_at": session.and_then(|session| session.started_at.at()),
        "pid": claim.worker.pid.int(),
        "host": claim.worker.host,
        "version": claim.worker.version,
        "process": claim.worker.process.as_str(),
        "evidence": claim.worker.evidence,
    }))
}

/// A CSV field: escaped like all output, and never the start of a spreadsheet formula.
pub(super) fn field(text: &str) -> String {
    let escaped = escape(text);
    match escaped.chars().next() {
        Some(first @ ('=' | '+' | '-' | '@')) => format!("\\u{{{:x}}}{}", first as u32, &escaped[1..]),
        _ => escaped,
    }
}

/// The layout of the table for people.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// More than one source is shown.
    pub sources: bool,
    /// The width of the terminal, if there is one.
    pub width: Option<usize>,
    pub paint: Paint,
}

/// The table for people, in one part or in several. If the explanations of the first part do not fit beside the rows,
/// they are printed below each claim, and the age column is left out.
#[derive(Debug)]
pub struct ClaimTable {
    layout: Layout,
    /// Whether the explanations are beside the rows; decided by the first part.
    wide: Option<bool>,
    widths: Vec<usize>,
}

impl ClaimTable {
    pub fn new(layout: Layout) -> ClaimTable {
        ClaimTable { layout, wide: None, widths: Vec::new() }
    }

    /// The next rows; the first ones come with the headings.
    pub fn portion(&mut self, lines: &[(ClaimLine, Moment)]) -> String {
        let layout = self.layout;
        let is_first = self.wide.is_none();
        let wide = *self.wide.get_or_insert_with(|| {
            layout.width.is_none_or(|width| width_of(&rows(lines, layout, true, true)) <= width)
        });
        let shown = render_below(&rows(lines, layout, is_first, wide), &mut self.widths);
        if wide {
            return shown;
        }
        let mut shown = shown.lines();
        let mut out = String::new();
        if is_first {
            out = format!("{}\n", shown.next().unwrap_or_default());
        }
        for (row, (line, _)) in shown.zip(lines) {
            out.push_str(row);
            out.push_str("\n  ");
            out.push_str(&layout.paint.dim(&line.why));
            out.push('\n');
        }
        out
    }
}

fn rows(lines: &[(ClaimLine, Moment)], layout: Layout, headed: bool, wide: bool) -> Vec<Vec<TableCell>> {
    let mut rows = Vec::with_capacity(lines.len() + 1);
    if headed {
        rows.push(headings(layout, wide));
    }
    rows.extend(lines.iter().map(|(line, now)| row(line, *now, layout, wide)));
    rows
}

fn headings(layout: Layout, wide: bool) -> Vec<TableCell> {
    let mut heading: Vec<TableCell> = Vec::new();
    if layout.sources {
        heading.push(TableCell::text("SOURCE"));
    }
    heading.extend(["VERDICT", "BOARD", "ID", "KIND", "HOLDER"].map(TableCell::text));
    if wide {
        heading.push(TableCell::right("AGE"));
    }
    heading.push(TableCell::right("LEFT"));
    if wide {
        heading.push(TableCell::text("WHY"));
    }
    heading
}

fn row(line: &ClaimLine, now: Moment, layout: Layout, wide: bool) -> Vec<TableCell> {
    let or_dash = |text: &Option<String>| text.as_deref().map_or_else(|| "-".into(), visible);
    let span = |span: Option<Span>| span.map_or_else(|| "-".into(), |span| span.to_string());
    let verdict = line.verdict.as_str();
    let mut cells = Vec::new();
    if layout.sources {
        cells.push(TableCell::text(visible(&line.source)));
    }
    cells.push(TableCell::painted(verdict, layout.paint.set(line.verdict, verdict)));
    cells.push(TableCell::text(line.board.clone()));
    cells.push(TableCell::text(line.shown.clone()));
    cells.push(TableCell::text(or_dash(&line.kind)));
    cells.push(TableCell::text(or_dash(&line.holder)));
    if wide {
        cells.push(TableCell::right(span(line.claimed_at.map(|at| now.since(at)))));
    }
    cells.push(TableCell::right(line.deadline_at.map_or_else(|| "-".into(), |at| left(at.since(now)))));
    if wide {
        cells.push(TableCell::text(line.why.clone()));
    }
    cells
}

/// The time that is left, or as on the screen `over 11m` where the deadline has passed.
fn left(span: Span) -> String {
    if span.as_micros() < 0 { format!("over {}", span.abs()) } else { span.to_string() }
}

/// A trace of an earlier recovery as a JSON line.
pub fn trace_json(source: &str, trace: &Trace) -> String {
    json::line(&json!({
        "source": source, "profile": trace.profile, "history": trace.history, "id": trace.id,
        "kind": trace.kind, "holder": trace.holder, "at": trace.moment(), "what": trace.what,
    }))
}

/// The headings of [`trace_csv`].
pub const TRACE_HEADINGS: [&str; 8] = ["source", "profile", "history", "id", "kind", "holder", "at", "what"];

pub fn trace_csv(source: &str, trace: &Trace) -> Vec<String> {
    let text = |text: &Option<String>| text.as_deref().map_or_else(String::new, field);
    vec![
        field(source),
        field(&trace.profile),
        field(&trace.history),
        text(&trace.id),
        text(&trace.kind),
        text(&trace.holder),
        trace.moment().map_or_else(String::new, Moment::rfc3339),
        text(&trace.what),
    ]
}

/// Traces as a table for people.
pub fn trace_table(traces: &[Trace]) -> String {
    let mut rows = vec![["WHEN", "HISTORY", "ID", "KIND", "HOLDER", "WHAT"].map(TableCell::text).to_vec()];
    for trace in traces {
        let or_dash = |text: &Option<String>| text.as_deref().map_or_else(|| "-".into(), visible);
        rows.push(vec![
            TableCell::text(trace.moment().map_or_else(|| "-".into(), Moment::rfc3339)),
            TableCell::text(format!("{}/{}", trace.profile, trace.history)),
            TableCell::text(or_dash(&trace.id)),
            TableCell::text(or_dash(&trace.kind)),
            TableCell::text(or_dash(&trace.holder)),
            TableCell::text(trace.what.as_deref().map_or_else(|| "-".into(), escape)),
        ]);
    }
    render(&rows)
}
