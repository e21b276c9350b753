//! The attempts that document 003's system writes down: what came since the last look.

use rusqlite::Connection;

use super::cell::cell;
use super::reader::Reader;
use crate::store::StoreError;
use crate::store::attempts::{Attempt, Attempts, MOST, TABLE};

impl Reader {
    /// What came after the number up to which somebody has read; without one, none of the attempts but
    /// the number of the last. Nothing where no such table is.
    pub fn attempts(&mut self, after: Option<i64>) -> Result<Option<Attempts>, StoreError> {
        self.follow_the_path()?;
        if self.watched.iter().all(|watched| watched.name != "finalization") {
            return Ok(None);
        }
        self.in_one_transaction("reading attempts", |reader, _, _| {
            let schema = super::schema::read(&reader.connection)?;
            let Some(table) = schema.table(TABLE) else { return Ok(None) };
            if ["claimed", "message"].iter().any(|name| table.column(name).is_none()) {
                return Ok(None);
            }
            // Attempts that go by a UUID have a number all the same: that of their row.
            let number = match table.column("id") {
                Some(_) => "id",
                None if table.has_rowid => "rowid",
                None => return Ok(None),
            };
            read(&reader.connection, number, after).map(Some)
        })
    }
}

fn read(connection: &Connection, number: &str, after: Option<i64>) -> rusqlite::Result<Attempts> {
    let last: i64 =
        connection
            .query_row(&format!("SELECT coalesce(max({number}), 0) FROM {TABLE}"), [], |row| row.get(0))?;
    // Numbers that start anew mean another table; its rows are counted from here.
    let Some(after) = after.filter(|after| *after <= last) else {
        return Ok(Attempts { new: Vec::new(), up_to: last });
    };
    let sql = format!(
        "SELECT {number}, claimed, message FROM {TABLE} WHERE {number} > ?1 ORDER BY {number} LIMIT {MOST}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([after])?;
    let mut attempts = Attempts { new: Vec::new(), up_to: after };
    while let Some(row) = rows.next()? {
        attempts.up_to = row.get(0)?;
        let claimed = cell(row, 1).int().is_some_and(|flag| flag != 0);
        attempts.new.push(Attempt { claimed, message: cell(row, 2).text() });
    }
    Ok(attempts)
}
