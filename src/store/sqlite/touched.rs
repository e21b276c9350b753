//! Which rows a set of statements touches, with their images before and after.
//!
//! The statements run twice: once to see which rows they reach, through triggers and foreign keys
//! too, and, taken back to a savepoint, a second time between two looks at those rows.

use rusqlite::Connection;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::image::{read_row, row_at};
use super::keys::Keys;
use super::open;
use crate::store::driver::{Changed, NotChanged};
use crate::store::image::{Change, Image};
use crate::store::schema::{Schema, Table, literal, quoted};

/// Tables, and the numbers of rows in them.
type Reached = Arc<Mutex<BTreeSet<(String, i64)>>>;

/// Runs the statements, unless they say that they did not find what they were written for.
pub(super) fn run(
    connection: &mut Connection,
    schema: &Schema,
    keys: &Keys,
    statements: impl Fn(&Connection) -> rusqlite::Result<Result<(), NotChanged>>,
) -> rusqlite::Result<Changed> {
    let rows = Reached::default();
    let seen = Arc::clone(&rows);
    connection.update_hook(Some(move |_, _: &str, table: &str, rowid: i64| {
        if let Ok(mut rows) = seen.lock() {
            rows.insert((table.to_owned(), rowid));
        }
    }))?;
    connection.execute_batch("SAVEPOINT claimtop")?;
    let first = watch_keyed_tables(connection, schema, &rows).and_then(|()| statements(connection));
    let taken_back = connection.execute_batch("ROLLBACK TO claimtop");
    connection.update_hook(None::<fn(rusqlite::hooks::Action, &str, &str, i64)>)?;
    // A full disk ends the whole transaction and the savepoint with it: the first error is the one to report.
    let found = first?;
    taken_back?;
    if let Err(why) = found {
        return Ok(Err(why));
    }
    let rows = rows.lock().map(|rows| rows.clone()).unwrap_or_default();
    let images = |connection: &Connection| -> rusqlite::Result<Vec<Option<Image>>> {
        rows.iter()
            .map(|(table, rowid)| match schema.table(table) {
                Some(table) => read_row(connection, table, *rowid),
                None => Ok(None),
            })
            .collect()
    };
    let before = images(connection)?;
    if let Err(why) = statements(connection)? {
        return Ok(Err(why));
    }
    let after = images(connection)?;
    connection.execute_batch("RELEASE claimtop")?;
    let changes =
        rows.iter().zip(before.into_iter().zip(after)).filter_map(|((table, rowid), (before, after))| {
            let at = row_at(schema.table(table)?, *rowid, keys);
            Some(Change { table: table.clone(), at, before, after })
        });
    Ok(Ok(changes.filter(|change| change.before != change.after).collect()))
}

/// SQLite's hook does not see tables without rowids. Temporary triggers do, those of this connection
/// alone; they are gone with the savepoint in which they are made.
fn watch_keyed_tables(connection: &mut Connection, schema: &Schema, rows: &Reached) -> rusqlite::Result<()> {
    let keyed: Vec<&Table> =
        schema.tables().filter(|table| !table.has_rowid && !table.key.is_empty()).collect();
    if keyed.is_empty() {
        return Ok(());
    }
    let seen = Arc::clone(rows);
    let flags = rusqlite::functions::FunctionFlags::SQLITE_UTF8;
    connection.create_scalar_function("claimtop_touched", 2, flags, move |context| {
        if let Ok(mut rows) = seen.lock() {
            rows.insert((context.get(0)?, context.get(1)?));
        }
        Ok(0)
    })?;
    let sql: String = keyed.into_iter().flat_map(triggers).collect();
    open::with_leave(connection, |connection| connection.execute_batch(&sql))
}

/// A trigger for each way in which a row of a table can change.
fn triggers(table: &Table) -> [String; 3] {
    let touched = |row: &str| {
        let key: Vec<String> = table.key.iter().map(|name| format!("{row}.{}", quoted(name))).collect();
        format!("SELECT claimtop_touched({}, claimtop_row({}));", literal(&table.name), key.join(", "))
    };
    let trigger = |event: &str, body: String| {
        let name = quoted(&format!("claimtop {event} {}", table.name));
        let table = quoted(&table.name);
        format!("CREATE TEMP TRIGGER {name} AFTER {event} ON main.{table} BEGIN {body} END;")
    };
    [
        trigger("INSERT", touched("NEW")),
        trigger("DELETE", touched("OLD")),
        trigger("UPDATE", touched("OLD") + &touched("NEW")),
    ]
}
