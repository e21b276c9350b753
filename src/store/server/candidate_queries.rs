//! Which claims can be in trouble at all, as conditions that an index may answer.
//!
//! Each query is wider than the verdict, never narrower: what it lets through is judged row by row, so that there is one
//! definition of trouble and the database only spares us the healthy rows.

use super::sql::ServerSql;
use crate::domain::rules::{DeadlineRule, Thresholds};
use crate::domain::time::{Moment, Span};
use crate::domain::value::Value;
use crate::store::bound::{BoundBoard, BoundRegistry, TimeSql};
use crate::store::named_params::NamedParams;
use crate::store::schema::literal;

/// One way into trouble at an instant.
#[derive(Debug)]
pub(super) struct CandidateQuery {
    pub sql: String,
    pub params: NamedParams,
    /// It looks at the holder's row and at nothing else.
    pub is_of_holders: bool,
}

/// All ways into trouble on a board; nothing, if every claim has to be looked at.
pub(super) fn queries(
    board: &BoundBoard,
    sql: &'static dyn ServerSql,
    now: Moment,
) -> Option<Vec<CandidateQuery>> {
    if board.rules.doubt.is_some() {
        return None;
    }
    let mut all = CandidateQueries { sql, now, margin: Margin::Warning, queries: Vec::new(), names: 0 };
    all.deadline(board)?;
    all.own_times(board)?;
    if let Some(registry) = &board.registry {
        all.session(board, registry)?;
    }
    if let Some(disowned) = &board.disowned {
        all.push(format!("({disowned})"), NamedParams::default());
    }
    Some(all.queries)
}

/// That a claim is past its deadline, to be counted and not to be judged; nothing, where no condition says so.
pub(super) fn overdue(
    board: &BoundBoard,
    sql: &'static dyn ServerSql,
    now: Moment,
) -> Option<CandidateQuery> {
    // Of a holder's silence the claim's row knows nothing, and of a time in doubt nobody.
    if board.rules.deadline == DeadlineRule::Holder || board.rules.doubt.is_some() {
        return None;
    }
    let mut all = CandidateQueries { sql, now, margin: Margin::None, queries: Vec::new(), names: 0 };
    all.deadline(board)?;
    // What follows the first query are deadlines that cannot be read.
    (!all.queries.is_empty()).then(|| all.queries.swap_remove(0))
}

/// How far ahead of its deadline a claim counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Margin {
    /// From the time of its warning on, or a little before.
    Warning,
    None,
}

struct CandidateQueries {
    sql: &'static dyn ServerSql,
    now: Moment,
    margin: Margin,
    queries: Vec<CandidateQuery>,
    names: usize,
}

/// What one clock's tick or a rounded bound may hide.
const SLACK: Span = Span::seconds(2);

impl CandidateQueries {
    fn ahead(&self, warning: Span) -> Span {
        match self.margin {
            Margin::Warning => warning.plus(SLACK),
            Margin::None => Span::ZERO,
        }
    }

    /// The name of an instant that a time is compared with; nothing, if its values cannot be compared safely.
    fn bound(&mut self, time: &TimeSql, at: Moment, params: &mut NamedParams) -> Option<String> {
        let name = format!("claimtop_{}", self.names);
        self.names += 1;
        self.sql.add_bound(params, &name, time, at)?;
        Some(format!(":{name}"))
    }

    fn push(&mut self, sql: String, params: NamedParams) {
        self.queries.push(CandidateQuery { sql, params, is_of_holders: false });
    }

    fn deadline(&mut self, board: &BoundBoard) -> Option<()> {
        let due = self.now.plus(self.ahead(warning(board)));
        let mut params = NamedParams::default();
        match board.rules.deadline {
            DeadlineRule::Lease => {
                let time = board.deadline.as_ref()?;
                let due = self.bound(time, due, &mut params)?;
                let t = &time.comparable;
                self.push(format!("{t} <= {due}"), params);
                let mut params = NamedParams::default();
                let last = self.bound(time, Moment::LATEST, &mut params)?;
                let beyond = self.sql.ends_too_late(time, &last);
                self.push(format!("({t} IS NULL OR {beyond})"), params);
            }
            DeadlineRule::Timeout => {
                let (since, timeout) = (board.claimed_at.as_ref()?, board.timeout.as_ref()?);
                let bound = self.bound(since, due, &mut params)?;
                let over = self.sql.is_timed_out(board, since, timeout, &bound)?;
                self.push(format!("({over})"), params);
                // A timeout beyond reason cannot be read.
                let seconds = self.sql.timeout_seconds(timeout, &board.timeout_type);
                let odd = format!("(({timeout}) IS NULL OR {seconds} > 1000000000)");
                self.push(odd, NamedParams::default());
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

    /// The sign of life against the time to live of each kind; only of those that are not in the registry, if one is
    /// given.
    fn ttl(&mut self, board: &BoundBoard, outside: Option<&BoundRegistry>) -> Option<()> {
        let mut params = NamedParams::default();
        let otherwise = self.older_than(board, &board.rules.thresholds, &mut params)?;
        let mut by_kind = String::new();
        for (kind, limits) in &board.rules.kinds {
            let condition = self.older_than(board, limits, &mut params)?;
            by_kind += &format!(" WHEN {} THEN {condition}", self.sql.exact(&literal(kind)));
        }
        let sql = match &board.kind {
            Some(kind) if !by_kind.is_empty() => {
                format!("CASE {}{by_kind} ELSE {otherwise} END", self.sql.exact(kind))
            }
            _ => format!("({otherwise})"),
        };
        match outside {
            Some(registry) => self.push(format!("(({}) IS NULL AND {sql})", registry.id.text), params),
            None => self.push(sql, params),
        }
        Some(())
    }

    /// That the last sign of life is older than the time to live.
    fn older_than(
        &mut self,
        board: &BoundBoard,
        limits: &Thresholds,
        params: &mut NamedParams,
    ) -> Option<String> {
        let Some(ttl) = limits.ttl else {
            // Without a time to live it has to be looked at, and is never late.
            return Some(if self.margin == Margin::Warning { "TRUE" } else { "FALSE" }.into());
        };
        let edge = self.now.plus(self.ahead(limits.warn_of(ttl))).minus(ttl);
        let mut parts = Vec::new();
        for time in [&board.claimed_at, &board.beat_at].into_iter().flatten() {
            let edge = self.bound(time, edge, params)?;
            parts.push(format!("({t} IS NULL OR {t} <= {edge})", t = time.comparable));
        }
        Some(if parts.is_empty() { "FALSE".into() } else { parts.join(" AND ") })
    }

    /// Times of the claim's own that are missing, ahead of the clock, no dates, or silent.
    fn own_times(&mut self, board: &BoundBoard) -> Option<()> {
        for (time, must_be) in [(&board.claimed_at, true), (&board.beat_at, board.claimed_at.is_none())] {
            let Some(time) = time else { continue };
            let mut params = NamedParams::default();
            let odd = self.odd(board, time, &mut params)?;
            self.push(odd, params);
            if must_be {
                self.push(format!("{} IS NULL", time.comparable), NamedParams::default());
            }
        }
        let has_lease = matches!(board.rules.deadline, DeadlineRule::Lease | DeadlineRule::Timeout);
        if let (true, Some(beat)) = (has_lease, &board.beat_at) {
            let shortest = limits(board).map(|limits| limits.silent_after).min().unwrap_or_default();
            let mut params = NamedParams::default();
            let edge = self.bound(beat, self.now.plus(SLACK).minus(shortest), &mut params)?;
            self.push(format!("{} <= {edge}", beat.comparable), params);
        }
        Some(())
    }

    /// That a sign of life is ahead of the clock, or lies before all time.
    fn odd(&mut self, board: &BoundBoard, time: &TimeSql, params: &mut NamedParams) -> Option<String> {
        let ahead = self.now.plus(board.rules.clock_noise).minus(SLACK);
        let edge = self.bound(time, ahead, params)?;
        let first = self.bound(time, Moment::EARLIEST, params)?;
        Some(format!("({t} > {edge} OR {t} < {first})", t = time.comparable))
    }

    fn session(&mut self, board: &BoundBoard, registry: &BoundRegistry) -> Option<()> {
        let mut params = NamedParams::default();
        let near = match board.rules.deadline {
            DeadlineRule::Holder => limits(board).map(|limits| limits.warn_of(limits.orphan_after)).max(),
            DeadlineRule::Lease
            | DeadlineRule::Timeout
            | DeadlineRule::Ttl
            | DeadlineRule::Never
            | DeadlineRule::Endless => None,
        };
        let near = self.now.plus(near.unwrap_or_default()).plus(SLACK);
        let shortest = limits(board).map(|limits| limits.orphan_after).min().unwrap_or_default();
        let id = &registry.id.text;
        // Who need not register, and has not, has no times there either.
        let null = |time: &str| match registry.required {
            true => format!("{time} IS NULL"),
            false => format!("(({id}) IS NOT NULL AND {time} IS NULL)"),
        };
        let mut ways = Vec::new();
        if registry.required {
            ways.push(format!("({id}) IS NULL"));
        } else {
            self.gone(board, registry);
        }
        if let Some(beat) = &registry.beat_at {
            ways.push(null(&beat.comparable));
            ways.push(self.odd(board, beat, &mut params)?);
        }
        match (&registry.stale_at, &registry.beat_at) {
            (Some(stale_at), _) => {
                let s = &stale_at.comparable;
                let gone = self.bound(stale_at, near, &mut params)?;
                let last = self.bound(stale_at, Moment::LATEST, &mut params)?;
                ways.push(format!("{} OR {s} <= {gone} OR {s} > {last}", null(s)));
            }
            (None, Some(beat)) => {
                let gone = self.bound(beat, near.minus(shortest), &mut params)?;
                ways.push(format!("{} <= {gone}", beat.comparable));
            }
            (None, None) => {}
        }
        if !ways.is_empty() {
            let sql = format!("({})", ways.join(" OR "));
            self.queries.push(CandidateQuery { sql, params, is_of_holders: true });
        }
        Some(())
    }

    /// The claims of holders that were registered before.
    fn gone(&mut self, board: &BoundBoard, registry: &BoundRegistry) {
        let Some(holder) = &board.holder else { return };
        let gone = registry.remembered.gone(&registry.table);
        if gone.is_empty() {
            return;
        }
        let gone: Vec<Value> = gone.into_iter().map(Value::Text).collect();
        for some in gone.chunks(self.sql.values_at_once()) {
            let mut params = NamedParams::default();
            let sql = self.sql.is_one_of(&self.sql.selected(&holder.text), "text", some, &mut params);
            self.push(sql, params);
        }
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
