//! Rows by lists of values: those that refer to others, and the same ones again.

use std::collections::HashMap;

use super::{CascadeStep, MOST};
use crate::postgres::error::PgError;
use crate::postgres::link::{Link, Row};
use crate::store::image::Image;
use crate::store::image_sql;
use crate::store::postgres::cell::sent;
use crate::store::postgres::connection::query;
use crate::store::postgres::dependencies::ForeignKey;
use crate::store::postgres::dialect::PostgresDialect;
use crate::store::postgres::named_params::{NamedParams, array};
use crate::store::postgres::schema::quoted;
use crate::store::schema::Table;

/// What tells a row of a table apart, as text.
pub(super) fn name(table: &Table, row: &Image) -> String {
    let key = row.part(&table.key);
    if key.is_empty() { format!("{row:?}") } else { format!("{key:?}") }
}

/// The rows that refer to those of a step, each with the number of that in the step; locked where we may, and
/// nobody is waited for.
pub(super) fn referring(
    link: &mut Link,
    from: &Table,
    by: &ForeignKey,
    step: &CascadeStep,
) -> Result<Vec<(usize, Image)>, PgError> {
    let rows: Vec<&Image> = step.rows.iter().map(|cascade_row| &cascade_row.row).collect();
    let (listed, mut params) = listed(&step.table, by.referenced.iter().map(String::as_str), &rows);
    let numbers: Vec<String> = (0..rows.len()).map(|number| number.to_string()).collect();
    params.add("claimtop_n", "text[]", Some(array(numbers.iter().map(Some))));
    let same = by.columns.iter().zip(&listed.values);
    let same: Vec<String> = same.map(|(own, value)| format!("c.{} = {value}", quoted(own))).collect();
    let sql = format!(
        "SELECT claimtop_row.n, {} FROM {} AS c JOIN unnest(:claimtop_n, {}) AS claimtop_row(n, {}) ON {} LIMIT {}{}",
        image_sql::columns(&PostgresDialect, from, "c"),
        from.sql,
        listed.arrays.join(", "),
        listed.names.join(", "),
        same.join(" AND "),
        MOST + 1,
        if by.can_lock { " FOR UPDATE OF c NOWAIT" } else { "" }
    );
    let rows = query(link, &params, &sql)?;
    let read = |row: &Row| Some((row.get(0)?.parse().ok()?, image_sql::read(from, row, 1)));
    Ok(rows.iter().filter_map(read).collect())
}

/// The rows with the keys of these as they are now, by their names. What nothing tells apart is not found.
pub(super) fn read_again(
    link: &mut Link,
    table: &Table,
    rows: &[&Image],
) -> Result<HashMap<String, Image>, PgError> {
    if rows.is_empty() || table.key.is_empty() {
        return Ok(HashMap::new());
    }
    let (listed, params) = listed(table, table.key.iter(), rows);
    let same = table.key.iter().zip(&listed.values);
    let same: Vec<String> = same.map(|(own, value)| format!("c.{} = {value}", quoted(own))).collect();
    let sql = format!(
        "SELECT {} FROM {} AS c JOIN unnest({}) AS claimtop_row({}) ON {}",
        image_sql::columns(&PostgresDialect, table, "c"),
        table.sql,
        listed.arrays.join(", "),
        listed.names.join(", "),
        same.join(" AND ")
    );
    let rows = query(link, &params, &sql)?;
    Ok(rows.iter().map(|row| image_sql::read(table, row, 0)).map(|row| (name(table, &row), row)).collect())
}

/// Columns of rows as arrays that are sent along.
struct KeyArrays {
    arrays: Vec<String>,
    names: Vec<String>,
    /// The value of each in its type.
    values: Vec<String>,
}

fn listed<'a>(
    table: &Table,
    columns: impl Iterator<Item = &'a str>,
    rows: &[&Image],
) -> (KeyArrays, NamedParams) {
    let mut params = NamedParams::default();
    let mut listed = KeyArrays { arrays: Vec::new(), names: Vec::new(), values: Vec::new() };
    for (at, column) in columns.enumerate() {
        let values = rows.iter().map(|row| row.get(column).and_then(sent));
        params.add(&format!("claimtop_k{at}"), "text[]", Some(array(values)));
        let kind = table.column(column).map_or("text", |column| &column.declared);
        listed.arrays.push(format!(":claimtop_k{at}"));
        listed.names.push(format!("k{at}"));
        listed.values.push(format!("(claimtop_row.k{at})::{kind}"));
    }
    (listed, params)
}
