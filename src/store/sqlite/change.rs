//! Runs the statements of an act on a file, and finds out which rows they changed.

use rusqlite::Connection;

use super::dialect::prepared;
use super::image::{read_row, row_at};
use super::keys::Keys;
use super::touched;
use crate::profile::format::Statement;
use crate::store::driver::{ActTarget, Changed, NotChanged};
use crate::store::image::Change;
use crate::store::named_params::NamedParams;
use crate::store::schema::Schema;
use crate::store::statements::Statements;

/// Runs the statements of an act, unless it does not change exactly the one row.
pub(super) fn change(
    writer: &mut Connection,
    schema: &Schema,
    keys: &Keys,
    target: &ActTarget<'_>,
    statements: &Statements,
) -> rusqlite::Result<Changed> {
    let &ActTarget { table, rowid, row } = target;
    let is_alone = statements.is_alone() && !statements.effect.renames(table);
    if !is_alone || schema.is_entangled(&table.name) {
        return touched::run(writer, schema, keys, |writer| run_all(writer, statements));
    }
    if execute(writer, &statements.act, &statements.params)? != 1 {
        return Ok(Err(NotChanged::NotTheRow));
    }
    let after = read_row(writer, table, rowid)?;
    let at = row_at(table, rowid, keys);
    Ok(Ok(vec![Change { table: table.name.clone(), at, before: Some(row.clone()), after }]))
}

/// Runs everything, as far as each statement finds the rows that it has to.
fn run_all(connection: &Connection, statements: &Statements) -> rusqlite::Result<Result<(), NotChanged>> {
    let beside = |all: &[Statement]| {
        for statement in all {
            let found = execute(connection, &statement.sql, &statements.params)?;
            if let Err(why) = NotChanged::unless_found(statement, found) {
                return Ok(Err(why));
            }
        }
        Ok(Ok(()))
    };
    if let Err(why) = beside(&statements.before)? {
        return Ok(Err(why));
    }
    if execute(connection, &statements.act, &statements.params)? != 1 {
        return Ok(Err(NotChanged::NotTheRow));
    }
    beside(&statements.also)
}

/// Runs a statement; how many rows it changed or, where it answers with rows, how many those are.
fn execute(connection: &Connection, sql: &str, params: &NamedParams) -> rusqlite::Result<u64> {
    let mut statement = prepared(connection, sql, params)?;
    if statement.column_count() > 0 {
        let (mut rows, mut found) = (statement.raw_query(), 0);
        while rows.next()?.is_some() {
            found += 1;
        }
        return Ok(found);
    }
    // What neither writes nor answers ends or divides the transaction: no act without its record.
    if statement.readonly() {
        let denied = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_AUTH);
        let why = "an act changes rows; it does not end transactions".to_owned();
        return Err(rusqlite::Error::SqliteFailure(denied, Some(why)));
    }
    Ok(statement.raw_execute()? as u64)
}
