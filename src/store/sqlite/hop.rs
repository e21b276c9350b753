//! From holder to holder: the claims whose holder is not in the registry.

use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, OptionalExtension};
use std::collections::HashSet;

use super::cell::{cell, to_sql};
use super::keys::RowSql;
use super::plan::next_holder;
use super::run::select;
use crate::domain::value::Value;
use crate::store::bound::{BoundBoard, BoundRegistry};
use crate::store::named_params::NamedParams;

/// Visits the holders one by one and collects the claims of those that are not registered.
///
/// The way along the index costs a step a holder; where there are about as many holders as
/// claims, reading the index from end to end costs less.
pub(super) fn hop(
    connection: &Connection,
    board: &BoundBoard,
    rows: &mut Vec<i64>,
    claims: u64,
) -> rusqlite::Result<()> {
    let (Some(registry), Some(holder)) = (&board.registry, &board.holder) else { return Ok(()) };
    let Some(column) = holder.column.as_deref() else { return Ok(()) };
    let row = RowSql::claims(board).number();
    let claims_of = format!("SELECT {row} FROM {} WHERE {} = ?1", board.from, holder.text);
    let mut claims_of = connection.prepare_cached(&claims_of)?;
    let mut collect = |holder: &SqlValue| -> rusqlite::Result<()> {
        let mut found = claims_of.query([holder])?;
        while let Some(row) = found.next()? {
            rows.push(row.get(0)?);
        }
        Ok(())
    };

    let first = format!("SELECT min({}) FROM {}", holder.text, board.from);
    let known = known_sessions(connection, registry)?;
    let registered = format!("SELECT 1 FROM {} WHERE {} = ?1", registry.from, registry.id.text);
    let mut registered = connection.prepare_cached(&registered)?;
    let mut next = connection.prepare_cached(&next_holder(board, column))?;
    let mut steps_left = (claims / 60).max(64);
    let mut here = connection.prepare_cached(&first)?.query_row([], |row| Ok(cell(row, 0)))?;
    while here != Value::Null && steps_left > 0 {
        if matches!(here, Value::BadText(_)) {
            return leap(connection, board, registry, rows);
        }
        let listed = matches!(&here, Value::Text(name) if known.contains(name));
        let place = to_sql(&here);
        // The database compares by rules of its own, so only it can say that one is missing.
        if !listed && !registered.exists([&place])? {
            collect(&place)?;
        }
        here = next.query_row([&place], |row| Ok(cell(row, 0))).optional()?.unwrap_or(Value::Null);
        steps_left -= 1;
    }
    if here != Value::Null {
        let rest = format!(
            "SELECT h.holder FROM (SELECT DISTINCT {holder} AS holder FROM {from} WHERE {holder} >= ?1) AS h \
             LEFT JOIN {registry} ON {id} = h.holder WHERE {id} IS NULL",
            holder = holder.text,
            from = board.from,
            registry = registry.from,
            id = registry.id.text,
        );
        let mut rest = connection.prepare_cached(&rest)?;
        let mut missing = rest.query([to_sql(&here)])?;
        while let Some(row) = missing.next()? {
            match cell(row, 0) {
                Value::BadText(_) => return leap(connection, board, registry, rows),
                holder => collect(&to_sql(&holder))?,
            }
        }
    }
    // No holder at all is nobody in the registry.
    let nobody = format!("SELECT {row} FROM {} WHERE {} IS NULL", board.from, holder.text);
    select(connection, &nobody, &NamedParams::default(), |rowid| rows.push(rowid))
}

/// The same by one scan of all claims. A text that is not UTF-8 cannot be bound as one, so from such a
/// holder there is no next step.
fn leap(
    connection: &Connection,
    board: &BoundBoard,
    registry: &BoundRegistry,
    rows: &mut Vec<i64>,
) -> rusqlite::Result<()> {
    rows.clear();
    let row = RowSql::claims(board).number();
    let missing = format!("SELECT {row} FROM {} WHERE {} IS NULL", board.joined(), registry.id.text);
    select(connection, &missing, &NamedParams::default(), |rowid| rows.push(rowid))
}

/// The names of the sessions, where they are texts and few enough to be kept in memory.
fn known_sessions(connection: &Connection, registry: &BoundRegistry) -> rusqlite::Result<HashSet<String>> {
    const MOST: usize = 20_000;
    let sql = format!("SELECT {} FROM {} LIMIT {MOST}", registry.id.text, registry.from);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    let mut known = HashSet::new();
    while let Some(row) = rows.next()? {
        if let Ok(name) = row.get(0) {
            known.insert(name);
        }
    }
    Ok(known)
}
