//! Rows of a file by their numbers.

use rusqlite::{Connection, OptionalExtension};

use super::cell::cell;
use super::keys::{Keys, RowSql};
use crate::domain::value::Value;
use crate::store::image::{Image, RowAt};
use crate::store::schema::{Table, quoted};

/// The row with a number, if it is there.
pub(super) fn read_row(
    connection: &Connection,
    table: &Table,
    rowid: i64,
) -> rusqlite::Result<Option<Image>> {
    let columns: Vec<String> = table.names.iter().map(quoted).collect();
    let is_it = RowSql::of(table).is("?1");
    let sql = format!("SELECT {} FROM {} WHERE {is_it}", columns.join(", "), quoted(&table.name));
    let mut statement = connection.prepare_cached(&sql)?;
    let row = statement.query_row([rowid], |row| {
        Ok(Image::new(&table.names, (0..table.names.len()).map(|at| cell(row, at))))
    });
    row.optional()
}

/// Where the row with a number is, in words that last.
pub(super) fn row_at(table: &Table, number: i64, keys: &Keys) -> RowAt {
    if table.has_rowid {
        return RowAt::Rowid(number);
    }
    let parts = keys.parts(number).filter(|parts| parts.len() == table.key.len());
    RowAt::Key(parts.map_or_else(Image::empty, |parts| Image::new(&table.key, parts.into_iter())))
}

/// The number of the row that an image shows, which was read at `number` if rows have numbers.
pub(super) fn number_of(table: &Table, row: &Image, number: i64, keys: &Keys) -> i64 {
    if table.has_rowid {
        return number;
    }
    let parts: Vec<Value> = table.key.iter().filter_map(|name| row.get(name).cloned()).collect();
    keys.number(&parts)
}
