//! Running statements: binding what they ask for, and reading plain answers.

use rusqlite::Connection;

use super::dialect::bind;
use super::probe::Probe;
use crate::domain::time::Moment;
use crate::store::bound::BoundBoard;
use crate::store::named_params::NamedParams;
use crate::store::sqlite::dialect::SqliteDialect;

/// What a probe's statement may name: its own times, and the clock.
pub(super) fn all_bindings(
    probe: &Probe,
    suffix: &str,
    board: &BoundBoard,
    now: Moment,
    edges: Option<(i64, i64)>,
) -> NamedParams {
    let mut all = probe.bindings(suffix, board, now, edges);
    all.extend(board.clock(&SqliteDialect, now));
    all
}

pub(super) fn count(connection: &Connection, sql: &str, params: &NamedParams) -> rusqlite::Result<u64> {
    let mut counted: i64 = 0;
    select(connection, sql, params, |count| counted = count)?;
    Ok(counted.max(0).unsigned_abs())
}

/// Hands on the number that each row begins with.
pub(super) fn select(
    connection: &Connection,
    sql: &str,
    params: &NamedParams,
    mut each: impl FnMut(i64),
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, params)?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        each(row.get(0)?);
    }
    Ok(())
}

/// Whether a table has more than `rows` rows.
pub(super) fn is_larger(connection: &Connection, from: &str, rows: usize) -> rusqlite::Result<bool> {
    let limit = i64::try_from(rows).unwrap_or(i64::MAX);
    let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {from} LIMIT {})", limit.saturating_add(1));
    Ok(count(connection, &sql, &NamedParams::default())? > rows as u64)
}
