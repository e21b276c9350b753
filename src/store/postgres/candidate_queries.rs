//! Which claims can be in trouble at all, as conditions that an index may answer.
//!
//! Each query is wider than the verdict, never narrower: what it lets through is judged row by row, so
//! that there is one definition of trouble and the database only spares us the healthy rows.

use super::named_params::{NamedParams, array, stamp};
use super::schema::literal;
use crate::domain::rules::{DeadlineRule, Thresholds};
use crate::domain::time::{Moment, Span};
use crate::store::bound::{BoundBoard, BoundRegistry, TimeSql};
use crate::store::registrations::Remembered;

/// One way into trouble.
#[derive(Debug)]
pub(super) struct CandidateQuery {
    pub sql: String,
    bounds: Vec<TimeBound>,
    /// It looks at the holder's row and at nothing else.
    pub is_of_holders: bool,
    /// Holders that were registered before: those of this table.
    gone: Option<(Remembered, String)>,
}

impl CandidateQuery {
    fn new(sql: String, bounds: Vec<TimeBound>) -> CandidateQuery {
        CandidateQuery { sql, bounds, is_of_holders: false, gone: None }
    }
}

/// An instant that a time is compared with, relative to now.
#[derive(Debug)]
struct TimeBound {
    name: String,
    kind: &'static str,
    /// The zone of what it is compared with, where that has none.
    zone: String,
    per_second: i64,
    at: BoundInstant,
}

#[derive(Debug, Clone, Copy)]
enum BoundInstant {
    Ahead(Span),
    /// The first instant that can be read.
    First,
    /// The last instant that can be read.
    Last,
}

/// All ways into trouble on a board; nothing, if every claim has to be looked at.
pub(super) fn queries(board: &BoundBoard) -> Option<Vec<CandidateQuery>> {
    if board.rules.doubt.is_some() {
        return None;
    }
    let mut queries = CandidateQueries { queries: Vec::new(), names: 0, margin: Margin::Warning };
    queries.deadline(board)?;
    queries.own_times(board)?;
    if let Some(registry) = &board.registry {
        queries.session(board, registry)?;
    }
    if let Some(disowned) = &board.disowned {
        queries.queries.push(CandidateQuery::new(format!("({disowned})"), Vec::new()));
    }
    Some(queries.queries)
}

/// That a claim is past its deadline, to be counted and not to be judged; nothing, where no condition says so.
pub(super) fn overdue(board: &BoundBoard) -> Option<CandidateQuery> {
    // Of a holder's silence the claim's row knows nothing, and of a time in doubt nobody.
    if board.rules.deadline == DeadlineRule::Holder || board.rules.doubt.is_some() {
        return None;
    }
    let mut queries = CandidateQueries { queries: Vec::new(), names: 0, margin: Margin::None };
    queries.deadline(board)?;
    // What follows the first query are deadlines that cannot be read.
    (!queries.queries.is_empty()).then(|| queries.queries.swap_remove(0))
}

/// The params of all queries at an instant.
pub(super) fn params(queries: &[CandidateQuery], now: Moment) -> NamedParams {
    let mut params = NamedParams::default();
    for bound in queries.iter().flat_map(|query| &query.bounds) {
        bound.add_to(&mut params, now);
    }
    for (remembered, table) in queries.iter().filter_map(|query| query.gone.as_ref()) {
        let gone = remembered.gone(table);
        params.add(GONE, "text[]", Some(array(gone.iter().map(|holder| Some(holder.as_str())))));
    }
    params
}

impl TimeBound {
    fn add_to(&self, params: &mut NamedParams, now: Moment) {
        let moment = match self.at {
            BoundInstant::Ahead(span) => now.plus(span),
            BoundInstant::First => Moment::EARLIEST,
            BoundInstant::Last => Moment::LATEST,
        };
        match self.kind {
            "timestamp" => {
                let sql = format!("(({{}})::timestamptz AT TIME ZONE {})", literal(&self.zone));
                params.add_as(&self.name, &sql, Some(stamp(moment)));
            }
            "timestamptz" => params.add(&self.name, "timestamptz", Some(stamp(moment))),
            kind => {
                let scaled = i128::from(moment.micros()) * i128::from(self.per_second) / 1_000_000;
                // Nanoseconds of 64 bits end long before our calendar does.
                let held =
                    if kind == "bigint" { scaled.clamp(i64::MIN.into(), i64::MAX.into()) } else { scaled };
                params.add(&self.name, kind, Some(held.to_string()));
            }
        }
    }
}

struct CandidateQueries {
    queries: Vec<CandidateQuery>,
    names: usize,
    margin: Margin,
}

/// How far ahead of its deadline a claim counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Margin {
    /// From the time of its warning on, or a little before.
    Warning,
    None,
}

/// The name under which the holders are sent that were registered before.
const GONE: &str = "claimtop_gone";

/// What one clock's tick or a rounded bound may hide.
const SLACK: Span = Span::seconds(2);

impl CandidateQueries {
    fn ahead(&self, warning: Span) -> Span {
        match self.margin {
            Margin::Warning => warning.plus(SLACK),
            Margin::None => Span::ZERO,
        }
    }

    fn bound(&mut self, time: &TimeSql, at: BoundInstant, bounds: &mut Vec<TimeBound>) -> Option<String> {
        let name = format!("claimtop_{}", self.names);
        self.names += 1;
        let per_second = time.unit.per_second();
        let zone = time.zone.sql.clone();
        bounds.push(TimeBound { name: name.clone(), kind: time.bound_type?, zone, per_second, at });
        Some(format!(":{name}"))
    }

    fn push(&mut self, sql: String, bounds: Vec<TimeBound>) {
        self.queries.push(CandidateQuery::new(sql, bounds));
    }

    fn deadline(&mut self, board: &BoundBoard) -> Option<()> {
        let mut bounds = Vec::new();
        match board.rules.deadline {
            DeadlineRule::Lease => {
                let time = board.deadline.as_ref()?;
                let due = self.bound(time, BoundInstant::Ahead(self.ahead(warning(board))), &mut bounds)?;
                let t = &time.comparable;
                self.push(format!("{t} <= {due}"), bounds);
                let mut bounds = Vec::new();
                let last = self.bound(time, BoundInstant::Last, &mut bounds)?;
                // A lease without end is one; other instants beyond the last cannot be read.
                let but =
                    if time.unit.is_number() { String::new() } else { format!(" AND {t} <> 'infinity'") };
                self.push(format!("({t} IS NULL OR {t} > {last}{but})"), bounds);
            }
            DeadlineRule::Timeout => {
                let (since, timeout) = (board.claimed_at.as_ref()?, board.timeout.as_ref()?);
                let due = self.bound(since, BoundInstant::Ahead(self.ahead(warning(board))), &mut bounds)?;
                let s = &since.comparable;
                let sql = match (since.bound_type?, board.timeout_type.as_str()) {
                    ("timestamptz" | "timestamp", "interval") => format!(
                        "extract(epoch FROM {s})::numeric + extract(epoch FROM {timeout})::numeric \
                         <= extract(epoch FROM {due})::numeric"
                    ),
                    ("timestamptz" | "timestamp", kind) if super::column_type::is_number(kind) => format!(
                        "extract(epoch FROM {s})::numeric + ({timeout})::numeric <= extract(epoch FROM {due})::numeric"
                    ),
                    ("bigint" | "numeric", kind) if super::column_type::is_number(kind) => format!(
                        "({s})::numeric + ({timeout})::numeric * {} <= ({due})::numeric",
                        since.unit.per_second()
                    ),
                    _ => return None,
                };
                self.push(format!("({sql})"), bounds);
                // A timeout beyond reason, or below zero, cannot be read.
                let odd = if board.timeout_type == "interval" {
                    format!("{timeout} IS NULL OR extract(epoch FROM {timeout}) > 1e9")
                } else {
                    format!("{timeout} IS NULL OR ({timeout})::numeric > 1e9")
                };
                self.push(format!("({odd})"), Vec::new());
            }
            DeadlineRule::Ttl => self.ttl(board, None)?,
            DeadlineRule::Holder => {
                if let Some(registry) = board.registry.as_ref().filter(|registry| !registry.required) {
                    self.ttl(board, Some(registry))?;
                }
            }
            DeadlineRule::Never => return None,
            DeadlineRule::Endless => {}
        }
        Some(())
    }

    /// The sign of life against the time to live of each kind; only of those that are not in the registry, if
    /// one is given.
    fn ttl(&mut self, board: &BoundBoard, outside: Option<&BoundRegistry>) -> Option<()> {
        let mut bounds = Vec::new();
        let mut old = |queries: &mut CandidateQueries, limits: &Thresholds| -> Option<String> {
            let Some(ttl) = limits.ttl else {
                // Without a time to live it has to be looked at, and is never late.
                return Some(if queries.margin == Margin::Warning { "TRUE" } else { "FALSE" }.into());
            };
            let ahead = queries.ahead(limits.warn_of(ttl)).minus(ttl);
            let mut parts = Vec::new();
            for time in [&board.claimed_at, &board.beat_at].into_iter().flatten() {
                let edge = queries.bound(time, BoundInstant::Ahead(ahead), &mut bounds)?;
                parts.push(format!("({t} IS NULL OR {t} <= {edge})", t = time.comparable));
            }
            if parts.is_empty() {
                parts.push("FALSE".into());
            }
            Some(parts.join(" AND "))
        };
        let otherwise = old(self, &board.rules.thresholds)?;
        let mut by_kind = String::new();
        for (kind, limits) in &board.rules.kinds {
            let condition = old(self, limits)?;
            by_kind += &format!(" WHEN {} THEN {condition}", literal(kind));
        }
        let sql = match &board.kind {
            Some(kind) if !by_kind.is_empty() => {
                format!("CASE ({kind})::text{by_kind} ELSE {otherwise} END")
            }
            _ => format!("({otherwise})"),
        };
        match outside {
            Some(registry) => {
                let sql = format!("(({}) IS NULL AND {sql})", registry.id.text);
                self.push(sql, bounds);
            }
            None => self.push(sql, bounds),
        }
        Some(())
    }

    /// Times of the claim's own that are missing, ahead of the clock, before all time, or silent.
    fn own_times(&mut self, board: &BoundBoard) -> Option<()> {
        for (time, must_be) in [(&board.claimed_at, true), (&board.beat_at, board.claimed_at.is_none())] {
            let Some(time) = time else { continue };
            let mut bounds = Vec::new();
            let ahead = BoundInstant::Ahead(board.rules.clock_noise.minus(SLACK));
            let edge = self.bound(time, ahead, &mut bounds)?;
            let first = self.bound(time, BoundInstant::First, &mut bounds)?;
            let t = &time.comparable;
            self.push(format!("({t} > {edge} OR {t} < {first})"), bounds);
            if must_be {
                self.push(format!("{t} IS NULL"), Vec::new());
            }
        }
        let has_lease = matches!(board.rules.deadline, DeadlineRule::Lease | DeadlineRule::Timeout);
        if let (true, Some(beat)) = (has_lease, &board.beat_at) {
            let shortest = limits(board).map(|limits| limits.silent_after).min().unwrap_or_default();
            let mut bounds = Vec::new();
            let edge = self.bound(beat, BoundInstant::Ahead(SLACK.minus(shortest)), &mut bounds)?;
            self.push(format!("{} <= {edge}", beat.comparable), bounds);
        }
        Some(())
    }

    fn session(&mut self, board: &BoundBoard, registry: &BoundRegistry) -> Option<()> {
        let mut bounds = Vec::new();
        let near = match board.rules.deadline {
            DeadlineRule::Holder => limits(board).map(|limits| limits.warn_of(limits.orphan_after)).max(),
            DeadlineRule::Lease
            | DeadlineRule::Timeout
            | DeadlineRule::Ttl
            | DeadlineRule::Never
            | DeadlineRule::Endless => None,
        };
        let near = near.unwrap_or_default().plus(SLACK);
        let shortest = limits(board).map(|limits| limits.orphan_after).min().unwrap_or_default();
        let id = &registry.id.text;
        // Who need not register, and has not, has no times there either.
        let null = |time: &str| match registry.required {
            true => format!("{time} IS NULL"),
            false => format!("({id}) IS NOT NULL AND {time} IS NULL"),
        };
        let mut ways = Vec::new();
        if registry.required {
            ways.push(format!("({id}) IS NULL"));
        } else {
            self.gone(board, registry);
        }
        if let Some(beat) = &registry.beat_at {
            let b = &beat.comparable;
            let ahead =
                self.bound(beat, BoundInstant::Ahead(board.rules.clock_noise.minus(SLACK)), &mut bounds)?;
            let first = self.bound(beat, BoundInstant::First, &mut bounds)?;
            ways.push(format!("{} OR {b} > {ahead} OR {b} < {first}", null(b)));
        }
        match (&registry.stale_at, &registry.beat_at) {
            (Some(stale_at), _) => {
                let s = &stale_at.comparable;
                let gone = self.bound(stale_at, BoundInstant::Ahead(near), &mut bounds)?;
                let last = self.bound(stale_at, BoundInstant::Last, &mut bounds)?;
                ways.push(format!("{} OR {s} <= {gone} OR {s} > {last}", null(s)));
            }
            (None, Some(beat)) => {
                let gone = self.bound(beat, BoundInstant::Ahead(near.minus(shortest)), &mut bounds)?;
                ways.push(format!("{} <= {gone}", beat.comparable));
            }
            (None, None) => {}
        }
        if ways.is_empty() {
            return Some(());
        }
        let query = CandidateQuery::new(format!("({})", ways.join(" OR ")), bounds);
        self.queries.push(CandidateQuery { is_of_holders: true, ..query });
        Some(())
    }

    /// The claims of holders that were registered before.
    fn gone(&mut self, board: &BoundBoard, registry: &BoundRegistry) {
        let Some(holder) = &board.holder else { return };
        let sql = format!("({})::text = ANY (:{GONE})", holder.text);
        let gone = Some((registry.remembered.clone(), registry.table.clone()));
        self.queries.push(CandidateQuery { gone, ..CandidateQuery::new(sql, Vec::new()) });
    }
}

/// The thresholds of all kinds.
fn limits(board: &BoundBoard) -> impl Iterator<Item = &Thresholds> {
    std::iter::once(&board.rules.thresholds).chain(board.rules.kinds.values())
}

/// The longest warning before a deadline that the row itself tells.
fn warning(board: &BoundBoard) -> Span {
    limits(board).map(Thresholds::warn_of_lease).max().unwrap_or_default()
}
