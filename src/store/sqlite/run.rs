//! Running statements: binding what they ask for, and reading plain answers.

use rusqlite::Connection;
use rusqlite::types::Value as SqlValue;

use super::cell::bound;
use super::probe::Probe;
use crate::domain::time::{Moment, TimeUnit, Zone};
use crate::store::bound::BoundBoard;

/// `:now` as the profile's own expressions expect it.
pub fn now_value(board: &BoundBoard, now: Moment) -> SqlValue {
    time_value(board, board.rules.claim_now(now))
}

/// An instant as the board's own columns hold it.
pub fn time_value(board: &BoundBoard, moment: Moment) -> SqlValue {
    time_in(board.unit, board.zone.own.unwrap_or_default(), moment)
}

/// An instant as columns of a unit hold it, texts without a zone in `zone`.
pub fn time_in(unit: TimeUnit, zone: Zone, moment: Moment) -> SqlValue {
    match unit {
        TimeUnit::UnixS | TimeUnit::UnixMs | TimeUnit::UnixUs | TimeUnit::UnixNs => {
            bound(moment.micros(), unit)
        }
        // What SQLite's own datetime() writes: texts are compared as texts, so the form matters.
        TimeUnit::TextUtc => SqlValue::Text(zone.text(moment)),
        TimeUnit::Timestamptz | TimeUnit::Timestamp => SqlValue::Text(moment.rfc3339()),
    }
}

pub fn all_bindings(
    probe: &Probe,
    suffix: &str,
    board: &BoundBoard,
    now: Moment,
    edges: Option<(i64, i64)>,
) -> Vec<(String, SqlValue)> {
    let mut all = probe.bindings(suffix, board, now, edges);
    all.push((":now".into(), now_value(board, now)));
    all
}

/// Binds those of the values that the statement asks for.
pub fn bind_known(
    statement: &mut rusqlite::Statement<'_>,
    values: &[(String, SqlValue)],
) -> rusqlite::Result<()> {
    for (name, value) in values {
        if let Some(at) = statement.parameter_index(name)? {
            statement.raw_bind_parameter(at, value)?;
        }
    }
    Ok(())
}

pub fn count(connection: &Connection, sql: &str, values: &[(String, SqlValue)]) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached(sql)?;
    bind_known(&mut statement, values)?;
    let mut rows = statement.raw_query();
    let count: i64 = rows.next()?.map_or(Ok(0), |row| row.get(0))?;
    Ok(count.max(0) as u64)
}

pub fn select(
    connection: &Connection,
    sql: &str,
    values: &[(String, SqlValue)],
    mut each: impl FnMut(i64),
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(sql)?;
    bind_known(&mut statement, values)?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        each(row.get(0)?);
    }
    Ok(())
}

/// Whether a table has more than `rows` rows.
pub fn is_larger(connection: &Connection, from: &str, rows: usize) -> rusqlite::Result<bool> {
    let limit = i64::try_from(rows).unwrap_or(i64::MAX);
    let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {from} LIMIT {})", limit.saturating_add(1));
    Ok(count(connection, &sql, &[])? > rows as u64)
}
