//! Which rows a set of statements touches, with their images before and after.
//!
//! The statements run twice: once to see which rows they reach, through triggers and foreign keys
//! too, and, taken back to a savepoint, a second time between two looks at those rows.

use rusqlite::Connection;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::image::InFile;
use crate::store::image::{Change, Image, RowAt};
use crate::store::schema::Schema;

/// Runs the statements; `None` if they say that they did not find what they were written for.
pub fn run(
    connection: &mut Connection,
    schema: &Schema,
    statements: impl Fn(&Connection) -> rusqlite::Result<bool>,
) -> rusqlite::Result<Option<Vec<Change>>> {
    let rows: Arc<Mutex<BTreeSet<(String, i64)>>> = Arc::default();
    let seen = Arc::clone(&rows);
    connection.update_hook(Some(move |_, _: &str, table: &str, rowid: i64| {
        if let Ok(mut rows) = seen.lock() {
            rows.insert((table.to_owned(), rowid));
        }
    }))?;
    connection.execute_batch("SAVEPOINT claimtop")?;
    let first = statements(connection);
    connection.execute_batch("ROLLBACK TO claimtop")?;
    connection.update_hook(None::<fn(rusqlite::hooks::Action, &str, &str, i64)>)?;
    if !first? {
        return Ok(None);
    }
    let rows = rows.lock().map(|rows| rows.clone()).unwrap_or_default();
    let images = |connection: &Connection| -> rusqlite::Result<Vec<Option<Image>>> {
        rows.iter()
            .map(|(table, rowid)| match schema.table(table) {
                Some(table) => Image::read(connection, table, *rowid),
                None => Ok(None),
            })
            .collect()
    };
    let before = images(connection)?;
    if !statements(connection)? {
        return Ok(None);
    }
    let after = images(connection)?;
    connection.execute_batch("RELEASE claimtop")?;
    let changes = rows.iter().zip(before.into_iter().zip(after)).map(|((table, rowid), (before, after))| {
        Change { table: table.clone(), at: RowAt::Rowid(*rowid), before, after }
    });
    Ok(Some(changes.filter(|change| change.before != change.after).collect()))
}
