//! The index that a board lacks: without one every look reads all that ever was in its table.

use super::named_params::NamedParams;
use crate::postgres::link::{Row, Step};
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

/// Asks how a table would be read, without regard to what is cheaper: if it is read from end to end even so, then
/// because no index can spare that.
pub(super) fn questions(board: &BoundBoard, params: &NamedParams) -> [Step; 3] {
    let explain = format!("EXPLAIN (COSTS OFF) SELECT FROM {} WHERE {}", board.from, board.is_held());
    [
        Step::Batch("SET LOCAL enable_seqscan = off".into()),
        params.put_into(&explain).step(),
        Step::Batch("SET LOCAL enable_seqscan TO DEFAULT".into()),
    ]
}

impl IndexUse {
    /// What the plan says of a table of so many rows; nothing, unless those are more than are read in any case.
    pub(super) fn new(watch: &Watch, rows: f64, plan: &[Row], effort: Effort) -> IndexUse {
        let board = &watch.board;
        let Some(held) = board.held.as_ref().filter(|_| rows >= effort.slice as f64) else {
            return IndexUse::default();
        };
        let reads_all = plan.iter().filter_map(|row| row.get(0)).any(scans_claims);
        let own = |sql: &str| sql.replace("c.\"", "\"").replace('\n', " ").trim().to_owned();
        let ddl = || {
            let (table, by) = (&watch.table.sql, by(board)?);
            Some(format!("CREATE INDEX CONCURRENTLY ON {table} ({}) WHERE {}", own(by), own(held)))
        };
        // What depends on the clock or on another table cannot be a part of an index.
        let can_be_indexed = !board.moves() && !held.to_ascii_uppercase().contains("SELECT");
        let missing = if reads_all && can_be_indexed { ddl().into_iter().collect() } else { Vec::new() };
        IndexUse { reads_all, missing }
    }
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
