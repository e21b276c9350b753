//! What surrounds the claims of a board: the sessions that hold them, and the jobs nobody holds.

use std::time::{Duration, Instant};

use super::backlog::{CountedBacklog, Plan};
use super::dialect::PostgresDialect;
use super::named_params::{NamedParams, stamp};
use super::watch::{Watch, query};
use crate::domain::claim::{Session, Worker};
use crate::domain::snapshot::Sessions;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::postgres::error::PgError;
use crate::postgres::link::Link;
use crate::store::bound::BoundRegistry;
use crate::store::driver::Row as _;
use crate::store::holders;

#[derive(Debug, Default, Clone)]
pub(super) struct Surroundings {
    pub sessions: Option<Sessions>,
    pub backlog: CountedBacklog,
    /// When a backlog that took long to count is counted again.
    next: Option<Instant>,
}

/// A backlog that takes longer than this to count, against all plans, is counted at most for a fiftieth
/// of the time.
const BURDEN: Duration = Duration::from_millis(20);
const SHARE: u32 = 50;

impl Surroundings {
    pub(super) fn look(
        link: &mut Link,
        watch: &Watch,
        plan: &Plan,
        now: Moment,
        before: &Surroundings,
    ) -> Result<Surroundings, PgError> {
        let mut around = before.clone();
        if before.next.is_none_or(|next| next <= Instant::now()) {
            let started = Instant::now();
            around.backlog = plan.count(link, watch, now)?;
            let took = started.elapsed();
            around.next = (took > BURDEN).then(|| Instant::now() + took * SHARE);
        }
        if let Some(registry) = &watch.board.registry {
            let counted = count_sessions(link, watch, registry, now)?;
            // Where no time can be trusted, nobody knows who lives.
            let is_known = watch.board.rules.doubt.is_none();
            let unknown = Sessions { alive: 0, stale: 0, ..counted.clone() };
            around.sessions = Some(if is_known { counted } else { unknown });
        }
        Ok(around)
    }
}

/// Every session of a board's registry, with what it says of its process.
pub(super) fn sessions(
    link: &mut Link,
    watch: &Watch,
    registry: &BoundRegistry,
) -> Result<Vec<(Value, Session, Worker)>, PgError> {
    let columns = holders::columns(&watch.board, registry, &PostgresDialect);
    let rows = link.query(&format!("SELECT {columns} FROM {}", registry.from), &[])?;
    Ok(rows.iter().map(|row| holders::read(row, 0, registry)).collect())
}

fn count_sessions(
    link: &mut Link,
    watch: &Watch,
    registry: &BoundRegistry,
    now: Moment,
) -> Result<Sessions, PgError> {
    let board = &watch.board;
    let table = registry.table.clone();
    let Some((since, after)) = registry.given_up(board.rules.thresholds.orphan_after) else {
        // Nobody is ever given up.
        let rows = link.query(&format!("SELECT count(*)::text FROM {}", registry.from), &[])?;
        let total = rows.first().and_then(|row| row.get(0)?.parse().ok()).unwrap_or(0);
        return Ok(Sessions { registry: table, total, alive: total, stale: 0 });
    };
    let cut = board.rules.session_now(now).minus(after);
    if since.bound_type.is_none() {
        // Texts: read one by one.
        let sessions = sessions(link, watch, registry)?;
        let total = sessions.len() as u64;
        let at = |session: &Session| match &session.stale_at {
            Some(reading) => reading.at(),
            None => session.beat_at.at(),
        };
        let readable = sessions.iter().filter_map(|(_, session, _)| at(session));
        let (stale, alive): (Vec<Moment>, Vec<Moment>) = readable.partition(|at| *at < cut);
        return Ok(Sessions { registry: table, total, alive: alive.len() as u64, stale: stale.len() as u64 });
    }
    let (first, last) = (Moment::EARLIEST, Moment::LATEST);
    let mut params = NamedParams::default();
    for (name, at) in [("cut", cut), ("first", first), ("last", last)] {
        match since.bound_type {
            Some("timestamp" | "timestamptz") => params.add(name, "timestamptz", Some(stamp(at))),
            _ => {
                let scaled = i128::from(at.micros()) * i128::from(since.unit.per_second()) / 1_000_000;
                params.add(name, "numeric", Some(scaled.to_string()));
            }
        }
    }
    let t = &since.selected;
    // What lies outside the calendar is no time; both ends of PostgreSQL's are.
    let readable = match since.bound_type {
        Some("timestamp" | "timestamptz") => {
            format!("({t} BETWEEN :first AND :last OR {t} IN ('infinity', '-infinity'))")
        }
        _ => format!("({t} BETWEEN :first AND :last)"),
    };
    let sql = format!(
        "SELECT count(*)::text, (count(*) FILTER (WHERE {t} < :cut AND {readable}))::text, \
         (count(*) FILTER (WHERE {readable}))::text FROM {}",
        registry.from
    );
    let rows = query(link, &params, &sql)?;
    let count = |at: usize| rows.first().map_or(0, |row| row.count(at));
    let (total, stale, readable) = (count(0), count(1), count(2));
    Ok(Sessions { registry: table, total, alive: readable.saturating_sub(stale), stale })
}
