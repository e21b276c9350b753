//! Images of rows in a file.

use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, OptionalExtension};

use super::cell::{cell, to_sql};
use super::keys::{Keys, RowSql};
use crate::domain::value::Value;
use crate::store::image::{Change, Image, RowAt};
use crate::store::schema::{Table, quoted};

/// What SQLite can do with an image.
pub trait InFile: Sized {
    /// The row, if it is there.
    fn read(connection: &Connection, table: &Table, rowid: i64) -> rusqlite::Result<Option<Self>>;

    /// A condition that holds for exactly this row, whatever the collation of its columns, and
    /// its parameters, which are named after `prefix`.
    fn guard(&self, alias: &str, prefix: &str) -> (String, Vec<(String, SqlValue)>);

    /// The places of all values, for an insertion.
    fn places(&self, prefix: &str) -> (String, Vec<(String, SqlValue)>);
}

impl InFile for Image {
    fn read(connection: &Connection, table: &Table, rowid: i64) -> rusqlite::Result<Option<Image>> {
        let columns: Vec<String> = table.names.iter().map(quoted).collect();
        let is_it = RowSql::of(table).is("?1");
        let sql = format!("SELECT {} FROM {} WHERE {is_it}", columns.join(", "), quoted(&table.name));
        let mut statement = connection.prepare_cached(&sql)?;
        let row = statement.query_row([rowid], |row| {
            Ok(Image::new(&table.names, (0..table.names.len()).map(|at| cell(row, at))))
        });
        row.optional()
    }

    fn guard(&self, alias: &str, prefix: &str) -> (String, Vec<(String, SqlValue)>) {
        let conditions = self.iter().enumerate().map(|(at, (name, value))| {
            format!(
                "{alias}{} COLLATE BINARY IS {}",
                quoted(name),
                parameter(value, &format!("{prefix}{at}"))
            )
        });
        (conditions.collect::<Vec<_>>().join(" AND "), parameters(self, prefix))
    }

    fn places(&self, prefix: &str) -> (String, Vec<(String, SqlValue)>) {
        let places =
            self.iter().enumerate().map(|(at, (_, value))| parameter(value, &format!("{prefix}{at}")));
        (places.collect::<Vec<_>>().join(", "), parameters(self, prefix))
    }
}

fn parameters(image: &Image, prefix: &str) -> Vec<(String, SqlValue)> {
    image.iter().enumerate().map(|(at, (_, value))| (format!("{prefix}{at}"), to_sql(value))).collect()
}

/// The number of the row that changed; a change of a table that was built otherwise then has none.
pub fn rowid(change: &Change, table: &Table, keys: &Keys) -> Option<i64> {
    match &change.at {
        RowAt::Rowid(rowid) => table.has_rowid.then_some(*rowid),
        RowAt::Key(_) if table.has_rowid || table.key.is_empty() => None,
        RowAt::Key(key) => {
            let parts: Option<Vec<Value>> = table.key.iter().map(|name| key.get(name).cloned()).collect();
            parts.map(|parts| keys.number(&parts))
        }
    }
}

/// Where the row with a number is, in words that last.
pub fn row_at(table: &Table, number: i64, keys: &Keys) -> RowAt {
    if table.has_rowid {
        return RowAt::Rowid(number);
    }
    let parts = keys.parts(number).filter(|parts| parts.len() == table.key.len());
    RowAt::Key(parts.map_or_else(Image::empty, |parts| Image::new(&table.key, parts.into_iter())))
}

/// The number of the row that an image shows, which was read at `number` if rows have numbers.
pub fn number_of(table: &Table, row: &Image, number: i64, keys: &Keys) -> i64 {
    if table.has_rowid {
        return number;
    }
    let parts: Vec<Value> = table.key.iter().filter_map(|name| row.get(name).cloned()).collect();
    keys.number(&parts)
}

/// Sets a column to a value.
pub fn assignment(name: &str, value: &Value, place: &str) -> (String, (String, SqlValue)) {
    (format!("{} = {}", quoted(name), parameter(value, place)), (place.to_owned(), to_sql(value)))
}

/// A text that is not UTF-8 can only be bound as bytes.
fn parameter(value: &Value, place: &str) -> String {
    match value {
        Value::BadText(_) => format!("CAST({place} AS TEXT)"),
        _ => place.to_owned(),
    }
}
