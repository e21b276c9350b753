//! The jobs that nobody holds, state by state: counted as far as that is cheap.
//!
//! A queue may hold millions, and only somebody who waits for it wants to know how many exactly: a
//! state is counted up to a bound, by an index; beyond there are "more than". What no index answers is
//! counted in one pass over a table that is not too large, and else not at all.

use std::collections::BTreeMap;

use super::named_params::NamedParams;
use super::watch::{Watch, query};
use crate::domain::time::Moment;
use crate::postgres::error::PgError;
use crate::postgres::link::{Link, Row};
use crate::store::bound::BoundBacklog;
use crate::store::driver::Row as _;
use crate::store::options::Effort;

/// How a backlog is counted.
#[derive(Debug, Default, Clone)]
pub(super) struct Plan {
    /// States that are counted up to `most`, each by itself.
    bounded: Vec<String>,
    /// States that are counted together, by reading the table.
    scanned: Vec<String>,
    has_oldest: bool,
    most: usize,
}

/// A backlog, counted.
#[derive(Debug, Default, Clone)]
pub(super) struct CountedBacklog {
    pub states: BTreeMap<String, u64>,
    /// The states of which there are more.
    pub more: Vec<String>,
    pub oldest_queued: Option<Moment>,
}

/// One look counts no state further than this: some milliseconds' work.
const MOST: usize = 100_000;

impl Plan {
    pub(super) fn make(link: &mut Link, watch: &Watch, now: Moment, effort: Effort) -> Result<Plan, PgError> {
        let mut plan = Plan { most: effort.whole.min(MOST), ..Plan::default() };
        let Some(backlog) = &watch.board.backlog else { return Ok(plan) };
        let params = watch.clock(now);
        // The planner's own measure: reading a page costs 1, a row of it a hundredth of that.
        let cheap = 1_000.0 + plan.most as f64 / 5.0;
        let rows = estimate(link, &params, &format!("SELECT FROM {}", backlog.from))?.rows;
        let is_small = rows <= effort.whole as f64;
        for (state, predicate) in &backlog.states {
            if estimate(link, &params, &bounded(backlog, predicate, plan.most))?.cost <= cheap {
                plan.bounded.push(state.clone());
            } else if is_small {
                plan.scanned.push(state.clone());
            }
        }
        if let Some(sql) = oldest(backlog) {
            plan.has_oldest = is_small || estimate(link, &params, &format!("SELECT {sql}"))?.cost <= cheap;
        }
        Ok(plan)
    }

    pub(super) fn count(
        &self,
        link: &mut Link,
        watch: &Watch,
        now: Moment,
    ) -> Result<CountedBacklog, PgError> {
        let mut counted = CountedBacklog::default();
        let Some(backlog) = &watch.board.backlog else { return Ok(counted) };
        let params = watch.clock(now);
        let predicate = |state: &String| backlog.states.get(state).map_or("FALSE", String::as_str);
        let mut columns: Vec<String> = self
            .bounded
            .iter()
            .map(|state| format!("({})::text", bounded(backlog, predicate(state), self.most)))
            .collect();
        columns.extend(oldest(backlog).filter(|_| self.has_oldest));
        if !columns.is_empty() {
            let rows = query(link, &params, &format!("SELECT {}", columns.join(", ")))?;
            for (at, state) in self.bounded.iter().enumerate() {
                let count = count(&rows, at);
                if count > self.most as u64 {
                    counted.more.push(state.clone());
                }
                counted.states.insert(state.clone(), count.min(self.most as u64));
            }
            if let (true, Some(oldest), Some(row)) = (self.has_oldest, &backlog.oldest, rows.first()) {
                let cell = row.time(self.bounded.len(), &oldest.cell.declared);
                counted.oldest_queued = oldest.read(&cell).at();
            }
        }
        if !self.scanned.is_empty() {
            let columns: Vec<String> = self
                .scanned
                .iter()
                .map(|state| format!("(count(*) FILTER (WHERE ({})))::text", predicate(state)))
                .collect();
            let sql = format!("SELECT {} FROM {}", columns.join(", "), backlog.from);
            let rows = query(link, &params, &sql)?;
            for (at, state) in self.scanned.iter().enumerate() {
                counted.states.insert(state.clone(), count(&rows, at));
            }
        }
        Ok(counted)
    }
}

/// How many jobs of a state there are, up to one more than `most`.
fn bounded(backlog: &BoundBacklog, predicate: &str, most: usize) -> String {
    let limit = most.saturating_add(1);
    format!(
        "SELECT count(*) FROM (SELECT FROM {} WHERE ({predicate}) LIMIT {limit}) AS counted",
        backlog.from
    )
}

/// Since when the first of the queue waits, as a column.
fn oldest(backlog: &BoundBacklog) -> Option<String> {
    let oldest = backlog.oldest.as_ref().filter(|oldest| oldest.bound_type.is_some())?;
    let queued = backlog.states.get("queued")?;
    Some(format!("(SELECT (min({}))::text FROM {} WHERE ({queued}))", oldest.selected, backlog.from))
}

fn count(rows: &[Row], at: usize) -> u64 {
    rows.first().map_or(0, |row| row.count(at))
}

/// What the planner expects of a statement.
pub(super) struct Estimate {
    cost: f64,
    pub(super) rows: f64,
}

pub(super) fn estimate(link: &mut Link, params: &NamedParams, sql: &str) -> Result<Estimate, PgError> {
    let rows = query(link, params, &format!("EXPLAIN {sql}"))?;
    let first = rows.first().and_then(|row| row.get(0)).unwrap_or_default();
    // "... (cost=0.42..8.44 rows=1 width=0)"; what cannot be read is dear.
    let figure = |after: &str| {
        let rest = &first[first.rfind(after)? + after.len()..];
        rest.split([' ', ')']).next()?.parse().ok()
    };
    Ok(Estimate {
        cost: figure("..").unwrap_or(f64::INFINITY),
        rows: figure("rows=").unwrap_or(f64::INFINITY),
    })
}
