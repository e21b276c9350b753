//! What the indexes of a board's tables can answer, as the server's planner sees it.

use super::connection::query;
use super::indexes::{IndexUse, index_use};
use super::named_params::NamedParams;
use crate::domain::time::Moment;
use crate::postgres::error::PgError;
use crate::postgres::link::Link;
use crate::store::driver::Row as _;
use crate::store::options::Effort;
use crate::store::server::{BacklogPlan, Watch, WatchPlan};

/// Learns it.
pub(super) fn plan(
    link: &mut Link,
    watch: &Watch,
    now: Moment,
    effort: Effort,
) -> Result<WatchPlan, PgError> {
    let IndexUse { reads_all, missing } = index_use(link, watch, now, effort)?;
    Ok(WatchPlan {
        holder_is_indexed: holder_is_indexed(link, watch)?,
        reads_all,
        missing_indexes: missing,
        backlog: backlog(link, watch, now, effort)?,
    })
}

fn holder_is_indexed(link: &mut Link, watch: &Watch) -> Result<bool, PgError> {
    let column = watch.board.holder.as_ref().and_then(|holder| holder.column.as_deref());
    let Some(column) = column else { return Ok(false) };
    let sql = "SELECT EXISTS (SELECT FROM pg_index AS i JOIN pg_attribute AS a
         ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
         WHERE i.indrelid = ($1::text)::regclass AND i.indisvalid AND a.attname = $2::text)::text";
    let rows = link.query(sql, &[Some(&watch.table.sql), Some(column)])?;
    Ok(rows.first().is_some_and(|row| row.is_true(0)))
}

/// What no index answers is counted in one pass over a table that is not too large, and else not at all.
fn backlog(link: &mut Link, watch: &Watch, now: Moment, effort: Effort) -> Result<BacklogPlan, PgError> {
    let mut plan = BacklogPlan::up_to(effort);
    let Some(backlog) = &watch.board.backlog else { return Ok(plan) };
    let params = watch.clock(now);
    // The planner's own measure: reading a page costs 1, a row of it a hundredth of that.
    let cheap = 1_000.0 + plan.most as f64 / 5.0;
    let rows = estimate(link, &params, &format!("SELECT FROM {}", backlog.from))?.rows;
    let is_small = rows <= effort.whole as f64;
    for (state, predicate) in &backlog.states {
        if estimate(link, &params, &backlog.bounded(predicate, plan.most))?.cost <= cheap {
            plan.bounded.push(state.clone());
        } else if is_small {
            plan.scanned.push(state.clone());
        }
    }
    if let Some(sql) = backlog.oldest_queued() {
        plan.has_oldest = is_small || estimate(link, &params, &sql)?.cost <= cheap;
    }
    Ok(plan)
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
