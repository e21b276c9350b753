//! Images of rows as SQL: read, compared, and found again.

use super::driver::{Connection, Dialect, Failed, QueryRows, Row, RowComparison};
use super::image::{Change, Image};
use super::named_params::NamedParams;
use super::schema::{Table, quoted};

/// Every column that can be written, of the row called `alias`, for [`read`].
pub(super) fn columns(dialect: &dyn Dialect, table: &Table, alias: &str) -> String {
    table.written().map(|column| dialect.image_column(column, alias)).collect::<Vec<_>>().join(", ")
}

/// The image in the columns of `row` that begin at `first`.
pub(super) fn read(table: &Table, row: &dyn Row, first: usize) -> Image {
    let columns = table.written().enumerate();
    Image::new(&table.names, columns.map(|(at, column)| row.value(first + at, &column.declared)))
}

/// A condition that holds for exactly this row; its values are named after `prefix`.
pub(super) fn guard(
    dialect: &dyn Dialect,
    table: &Table,
    image: &Image,
    alias: &str,
    prefix: &str,
    params: &mut NamedParams,
) -> String {
    let conditions = image.iter().enumerate().map(|(at, (name, value))| {
        let column = table.column(name).map_or(name, |column| &column.name);
        let param = format!("{prefix}{at}");
        let place = dialect.place(&param, value);
        params.add_value(&param, "", value.clone());
        dialect.holds_exactly(&format!("{alias}.{}", quoted(column)), &place)
    });
    conditions.collect::<Vec<_>>().join(" AND ")
}

/// The same for the statement that changes the row, unless the driver compares it itself.
pub(super) fn guard_in_statement(
    dialect: &dyn Dialect,
    table: &Table,
    image: &Image,
    alias: &str,
    prefix: &str,
    params: &mut NamedParams,
) -> Option<String> {
    let is_its = dialect.row_comparison() == RowComparison::InStatement;
    is_its.then(|| guard(dialect, table, image, alias, prefix, params))
}

/// The row of a change as it is now. Where nothing tells rows apart, the one that is as `known`.
pub(super) fn current(
    connection: &mut dyn Connection,
    table: &Table,
    change: &Change,
    known: Option<&Image>,
) -> Result<Option<Image>, Failed> {
    read_row(connection, table, change, known, "")
}

/// Whether the row of a change is as an image has it, locked from here on; an error if somebody else holds it.
pub(super) fn is_locked_as(
    connection: &mut dyn Connection,
    table: &Table,
    change: &Change,
    image: &Image,
) -> Result<bool, Failed> {
    let lock = connection.dialect().exclusive_lock("c").unwrap_or_default();
    let is = read_row(connection, table, change, None, &lock)?;
    Ok(is.is_some_and(|is| is.by_name() == image.by_name()))
}

fn read_row(
    connection: &mut dyn Connection,
    table: &Table,
    change: &Change,
    known: Option<&Image>,
    lock: &str,
) -> Result<Option<Image>, Failed> {
    let dialect = connection.dialect();
    let mut params = NamedParams::default();
    let condition = match (dialect.is_at(table, &change.at, "c", &mut params), known) {
        (Some(condition), _) => condition,
        (None, Some(known)) if change.has_no_key() => guard(dialect, table, known, "c", "was", &mut params),
        (None, _) => return Ok(None),
    };
    let columns = columns(dialect, table, "c");
    let sql = format!("SELECT {columns} FROM {} AS c WHERE {condition} {lock}", table.sql);
    connection.first("comparing", &sql, &params, |row| read(table, row, 0))
}
