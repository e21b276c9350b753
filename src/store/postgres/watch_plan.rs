//! What the indexes of a board's tables can answer, as the server's planner sees it.

use super::indexes::{self, IndexUse};
use super::named_params::NamedParams;
use crate::domain::time::Moment;
use crate::postgres::error::PgError;
use crate::postgres::link::{Link, Row, Step};
use crate::store::bound::BoundBacklog;
use crate::store::driver::Row as _;
use crate::store::options::Effort;
use crate::store::server::{BacklogPlan, Watch, WatchPlan};

/// Whether an index begins with a column of a table.
const HAS_INDEX: &str = "SELECT EXISTS (SELECT FROM pg_index AS i JOIN pg_attribute AS a
     ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
     WHERE i.indrelid = ($1::text)::regclass AND i.indisvalid AND a.attname = $2::text)::text";

/// Learns it, in one round trip.
pub(super) fn plan(
    link: &mut Link,
    watch: &Watch,
    now: Moment,
    effort: Effort,
) -> Result<WatchPlan, PgError> {
    let (board, params) = (&watch.board, watch.clock(now));
    let mut backlog = BacklogPlan::up_to(effort);
    let holder = board.holder.as_ref().and_then(|holder| holder.column.as_deref());
    let mut steps = vec![
        Step::query(HAS_INDEX, &[Some(&watch.table.sql), holder]),
        explain(&params, &format!("SELECT FROM {}", board.from)),
    ];
    steps.extend(indexes::questions(board, &params));
    steps.extend(board.backlog.iter().flat_map(|asked| backlog_questions(asked, backlog.most, &params)));
    let mut answers = link.query_all(steps)?.into_iter();
    let mut next = || answers.next().unwrap_or_default();
    let holder_is_indexed = next().first().is_some_and(|row| row.is_true(0));
    let rows = Estimate::read(&next()).rows;
    let [_, scans, _] = [next(), next(), next()];
    let IndexUse { reads_all, missing } = IndexUse::new(watch, rows, &scans, effort);
    if let Some(asked) = &board.backlog {
        let estimates: Vec<Estimate> = answers.map(|answer| Estimate::read(&answer)).collect();
        plan_backlog(&mut backlog, asked, &estimates, effort);
    }
    Ok(WatchPlan { holder_is_indexed, reads_all, missing_indexes: missing, backlog })
}

/// What the planner expects of the whole table, of each state, and of the oldest job.
fn backlog_questions(backlog: &BoundBacklog, most: usize, params: &NamedParams) -> Vec<Step> {
    let states = backlog.states.values().map(|predicate| backlog.bounded(predicate, most));
    let whole = format!("SELECT FROM {}", backlog.from);
    let all = std::iter::once(whole).chain(states).chain(backlog.oldest_queued());
    all.map(|sql| explain(params, &sql)).collect()
}

/// What no index answers is counted in one pass over a table that is not too large, and else not at all.
fn plan_backlog(plan: &mut BacklogPlan, backlog: &BoundBacklog, estimates: &[Estimate], effort: Effort) {
    let [whole, rest @ ..] = estimates else { return };
    // The planner's own measure: reading a page costs 1, a row of it a hundredth of that.
    let cheap = 1_000.0 + plan.most as f64 / 5.0;
    let is_small = whole.rows <= effort.whole as f64;
    for (state, estimate) in backlog.states.keys().zip(rest) {
        if estimate.cost <= cheap {
            plan.bounded.push(state.clone());
        } else if is_small {
            plan.scanned.push(state.clone());
        }
    }
    let oldest = rest.get(backlog.states.len());
    plan.has_oldest = oldest.is_some_and(|oldest| is_small || oldest.cost <= cheap);
}

fn explain(params: &NamedParams, sql: &str) -> Step {
    params.put_into(&format!("EXPLAIN {sql}")).step()
}

/// What the planner expects of a statement.
struct Estimate {
    cost: f64,
    rows: f64,
}

impl Estimate {
    fn read(plan: &[Row]) -> Estimate {
        let first = plan.first().and_then(|row| row.get(0)).unwrap_or_default();
        // "... (cost=0.42..8.44 rows=1 width=0)"; what cannot be read is dear.
        let figure = |after: &str| {
            let rest = &first[first.rfind(after)? + after.len()..];
            rest.split([' ', ')']).next()?.parse().ok()
        };
        Estimate {
            cost: figure("..").unwrap_or(f64::INFINITY),
            rows: figure("rows=").unwrap_or(f64::INFINITY),
        }
    }
}
