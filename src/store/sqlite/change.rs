//! Runs the statements of an act on a file, and finds out which rows they changed.

use rusqlite::Connection;

use super::dialect::prepared;
use super::error::is_lacking;
use super::image::{read_row, row_at};
use super::keys::Keys;
use super::touched;
use crate::store::driver::Target;
use crate::store::image::Change;
use crate::store::named_params::NamedParams;
use crate::store::schema::Schema;
use crate::store::statements::Statements;

/// Runs the statements of an act; nothing, if it did not change exactly the one row.
pub fn change(
    writer: &mut Connection,
    schema: &Schema,
    keys: &Keys,
    target: &Target<'_>,
    statements: &Statements,
) -> rusqlite::Result<Option<Vec<Change>>> {
    let &Target { table, rowid, row } = target;
    let is_alone = statements.is_alone() && !statements.effect.renames(table);
    if !is_alone || schema.is_entangled(&table.name) {
        return touched::run(writer, schema, keys, |writer| run_all(writer, statements));
    }
    if execute(writer, &statements.act, &statements.params)? != 1 {
        return Ok(None);
    }
    let after = read_row(writer, table, rowid)?;
    let at = row_at(table, rowid, keys);
    Ok(Some(vec![Change { table: table.name.clone(), at, before: Some(row.clone()), after }]))
}

/// Runs everything; `false` unless the act changed exactly one row.
fn run_all(connection: &Connection, statements: &Statements) -> rusqlite::Result<bool> {
    let params = &statements.params;
    for sql in &statements.before {
        execute(connection, sql, params)?;
    }
    if execute(connection, &statements.act, params)? != 1 {
        return Ok(false);
    }
    for sql in &statements.also {
        match execute(connection, sql, params) {
            // A log that this version of the system does not keep.
            Err(error) if is_lacking(&error) => {}
            other => {
                other?;
            }
        }
    }
    Ok(true)
}

fn execute(connection: &Connection, sql: &str, params: &NamedParams) -> rusqlite::Result<usize> {
    let mut statement = prepared(connection, sql, params)?;
    // What neither writes nor answers ends or divides the transaction: no act without its record.
    if statement.readonly() && statement.column_count() == 0 {
        let denied = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_AUTH);
        let why = "an act changes rows; it does not end transactions".to_owned();
        return Err(rusqlite::Error::SqliteFailure(denied, Some(why)));
    }
    statement.raw_execute()
}
