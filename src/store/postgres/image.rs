//! Images of rows in a table.

use super::cell::{cell, sent};
use super::link::Row;
use super::named_params::NamedParams;
use super::schema::quoted;
use crate::store::image::{Change, Image, RowAt};
use crate::store::schema::Table;

/// Every column that can be written, as text, of the row called `alias`.
pub fn columns(table: &Table, alias: &str) -> Vec<String> {
    table.written().map(|column| format!("{alias}.{}::text", quoted(&column.name))).collect()
}

/// The image in the columns of `row` that begin at `first`.
pub fn read(table: &Table, row: &Row, first: usize) -> Image {
    let columns = table.written().enumerate();
    Image::new(&table.names, columns.map(|(at, column)| cell(row, first + at, &column.declared)))
}

/// A condition that finds the row by what tells it apart; nothing, if nothing does.
pub fn at(table: &Table, key: &Image, alias: &str, params: &mut NamedParams) -> String {
    let conditions = key.iter().enumerate().map(|(at, (name, value))| {
        let kind = table.column(name).map(|column| column.declared.as_str()).unwrap_or_default();
        params.add(&format!("at{at}"), kind, sent(value));
        format!("{alias}.{} = :at{at}", quoted(name))
    });
    let all: Vec<String> = conditions.collect();
    if all.is_empty() { "TRUE".into() } else { all.join(" AND ") }
}

/// A change of one row of a table.
pub fn change(table: &Table, before: Option<Image>, after: Option<Image>) -> Change {
    let key = after.as_ref().or(before.as_ref()).map(|image| key(table, image)).unwrap_or_else(Image::empty);
    Change { table: table.name.clone(), at: RowAt::Key(key), before, after }
}

/// What tells this row of the table apart.
pub fn key(table: &Table, image: &Image) -> Image {
    image.part(&table.key)
}
