//! From holder to holder: the claims whose holder is not in the registry.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Rows};
use std::cmp::Ordering;

use super::cell::{owned, to_sql};
use super::keys::RowSql;
use super::plan::{first_holders, holders_after};
use super::run::select;
use crate::domain::value::Value;
use crate::store::bound::{BoundBoard, BoundRegistry};
use crate::store::named_params::NamedParams;

/// Reading past so many claims of one holder costs as much as a search for the next holder.
const READ_PER_SEARCH: usize = 8;

/// Visits the holders in the order of their index and collects the claims of those that are not registered.
///
/// Where a holder has many claims, the index is searched for the next holder; where it has few, reading on costs less.
pub(super) fn hop(connection: &Connection, board: &BoundBoard, rows: &mut Vec<i64>) -> rusqlite::Result<()> {
    let (Some(registry), Some(holder)) = (&board.registry, &board.holder) else { return Ok(()) };
    let Some(column) = holder.column.as_deref() else { return Ok(()) };
    let Some(missing) = missing_holders(connection, board, registry, column)? else {
        return leap(connection, board, registry, rows);
    };
    let row = RowSql::claims(board).number();
    let claims_of = format!("SELECT {row} FROM {} WHERE {} = ?1", board.from, holder.text);
    let mut claims_of = connection.prepare_cached(&claims_of)?;
    for holder in missing {
        let mut found = claims_of.query([to_sql(&holder)])?;
        while let Some(row) = found.next()? {
            rows.push(row.get(0)?);
        }
    }
    // No holder at all is nobody in the registry.
    let nobody = format!("SELECT {row} FROM {} WHERE {} IS NULL", board.from, holder.text);
    select(connection, &nobody, &NamedParams::default(), |rowid| rows.push(rowid))
}

/// The holders that are not registered; nothing if one of them is a text that cannot be bound.
fn missing_holders(
    connection: &Connection,
    board: &BoundBoard,
    registry: &BoundRegistry,
    column: &str,
) -> rusqlite::Result<Option<Vec<Value>>> {
    let registered = format!("SELECT 1 FROM {} WHERE {} = ?1", registry.from, registry.id.text);
    let mut registered = connection.prepare_cached(&registered)?;
    let names = format!("SELECT {id} FROM {} ORDER BY {id}", registry.from, id = registry.id.text);
    let mut names = connection.prepare_cached(&names)?;
    let mut names = RegisteredNames { rows: names.query([])?, name: None };
    let mut first = connection.prepare_cached(&first_holders(board, column))?;
    let mut after = connection.prepare_cached(&holders_after(board, column))?;
    let (mut missing, mut here) = (Vec::new(), Value::Null);
    // How many claims of a holder are read before the next one is searched for.
    let mut patience = READ_PER_SEARCH;
    loop {
        let mut found = match &here {
            Value::Null => first.query([])?,
            holder => after.query([to_sql(holder)])?,
        };
        let mut of_this_holder = 0;
        loop {
            let Some(row) = found.next()? else { return Ok(Some(missing)) };
            let next = row.get_ref(0)?;
            if is_same(&here, next) {
                of_this_holder += 1;
                if of_this_holder > patience {
                    patience = 1;
                    break;
                }
                continue;
            }
            if of_this_holder > 0 {
                patience = READ_PER_SEARCH;
            }
            (here, of_this_holder) = (owned(next), 1);
            if matches!(here, Value::BadText(_)) {
                return Ok(None);
            }
            // The database compares by rules of its own, so only it can say that one is missing.
            if !names.have(&here)? && !registered.exists([to_sql(&here)])? {
                missing.push(here.clone());
            }
        }
    }
}

fn is_same(value: &Value, cell: ValueRef<'_>) -> bool {
    match (value, cell) {
        (Value::Text(text), ValueRef::Text(bytes)) => text.as_bytes() == bytes,
        (Value::Text(_), _) | (Value::Null, _) => false,
        (value, cell) => *value == owned(cell),
    }
}

/// The names in a registry, read along with the holders.
struct RegisteredNames<'a> {
    rows: Rows<'a>,
    /// The one that was read last.
    name: Option<Vec<u8>>,
}

impl RegisteredNames<'_> {
    /// Whether a holder is surely among them. Where it is not found, the order may be another one.
    fn have(&mut self, holder: &Value) -> rusqlite::Result<bool> {
        // Many sessions that hold nothing are not worth reading.
        const MOST: usize = 64;
        let Value::Text(holder) = holder else { return Ok(false) };
        for _ in 0..MOST {
            match self.name.as_deref().map(|name| name.cmp(holder.as_bytes())) {
                Some(Ordering::Equal) => return Ok(true),
                Some(Ordering::Greater) => return Ok(false),
                Some(Ordering::Less) | None => {}
            }
            let Some(row) = self.rows.next()? else { return Ok(false) };
            if let ValueRef::Text(bytes) = row.get_ref(0)? {
                let name = self.name.get_or_insert_default();
                name.clear();
                name.extend_from_slice(bytes);
            }
        }
        Ok(false)
    }
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
