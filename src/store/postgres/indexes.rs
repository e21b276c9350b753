//! The index that a board lacks: without one every look reads all that ever was in its table.

use super::connection::query;
use super::watch_plan::estimate;
use crate::domain::time::Moment;
use crate::postgres::error::PgError;
use crate::postgres::link::Link;
use crate::store::bound::{BoundBoard, TimeSql};
use crate::store::options::Effort;
use crate::store::server::Watch;

/// What the indexes of a table do for a look at its claims.
#[derive(Debug, Default)]
pub(super) struct IndexUse {
    /// Nothing: every look reads the table from end to end.
    pub reads_all: bool,
    /// The statements that would add what is missed.
    pub missing: Vec<String>,
}

/// Finds out, once the table is larger than what is read in any case.
pub(super) fn index_use(
    link: &mut Link,
    watch: &Watch,
    now: Moment,
    effort: Effort,
) -> Result<IndexUse, PgError> {
    let board = &watch.board;
    let Some(held) = &board.held else { return Ok(IndexUse::default()) };
    let params = watch.clock(now);
    let every_row = format!("SELECT FROM {}", board.from);
    if estimate(link, &params, &every_row)?.rows < effort.slice as f64 {
        return Ok(IndexUse::default());
    }
    // If a table is read from end to end even so, then because no index can spare that.
    link.batch("SET LOCAL enable_seqscan = off")?;
    let plan = query(link, &params, &format!("EXPLAIN (COSTS OFF) {every_row} WHERE {held}"));
    if plan.is_ok() {
        link.batch("SET LOCAL enable_seqscan TO DEFAULT")?;
    }
    let reads_all = plan?.iter().filter_map(|row| row.get(0)).any(scans_claims);
    let own = |sql: &str| sql.replace("c.\"", "\"").replace('\n', " ").trim().to_owned();
    let ddl = || {
        let (table, by) = (&watch.table.sql, by(board)?);
        Some(format!("CREATE INDEX CONCURRENTLY ON {table} ({}) WHERE {}", own(by), own(held)))
    };
    // What depends on the clock or on another table cannot be a part of an index.
    let can_be_indexed = !board.moves() && !held.to_ascii_uppercase().contains("SELECT");
    let missing = if reads_all && can_be_indexed { ddl().into_iter().collect() } else { Vec::new() };
    Ok(IndexUse { reads_all, missing })
}

/// What a look asks for first among the claims.
fn by(board: &BoundBoard) -> Option<&str> {
    let column = |time: &'_ TimeSql| time.cell.column.is_some();
    let times = [&board.deadline, &board.claimed_at].into_iter().flatten();
    let time = times.into_iter().find(|time| column(time)).map(|time| time.cell.text.as_str());
    time.or_else(|| board.id.first().map(String::as_str))
}

/// Whether a line of a plan reads the table of the claims, `c`, or a part of it called `c_1`, in full.
fn scans_claims(line: &str) -> bool {
    let Some((_, table)) = line.split_once("Seq Scan on ") else { return false };
    table.rsplit(' ').next().is_some_and(|alias| {
        alias.strip_prefix('c').is_some_and(|rest| {
            rest.is_empty() || rest.strip_prefix('_').is_some_and(|part| part.parse::<u32>().is_ok())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_table_of_the_claims_counts_whatever_it_is_called() {
        for line in
            ["Seq Scan on jobs c", "  ->  Parallel Seq Scan on \"Jobs c x\" c", "Seq Scan on p_1 c_12"]
        {
            assert!(scans_claims(line), "{line}");
        }
        for line in ["Index Scan using c on jobs c", "Seq Scan on sessions s", "Seq Scan on c s", "Filter: c"]
        {
            assert!(!scans_claims(line), "{line}");
        }
    }
}
