//! Undo: every row back as it was, if every row is still exactly what the act left behind.

use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, ErrorCode};

use super::actor::{Acted, Actor};
use super::image::{Change, Image, Side, assignment};
use super::schema::{Schema, Table, quoted};
use crate::domain::recovery::Outcome;
use crate::store::StoreError;

/// Writes the record of an undo that is ready to be committed.
pub type UndoRecorder<'a> = dyn FnMut(&Acted) -> Result<(), String> + 'a;

impl Actor {
    /// Takes back the changes of an act, the last one first.
    pub fn undo(
        &mut self,
        changes: &[Change],
        dry_run: bool,
        record: &mut UndoRecorder<'_>,
    ) -> Result<Acted, StoreError> {
        self.begin()?;
        let acted = self.undo_inside(changes, dry_run, record);
        self.end(acted, dry_run)
    }

    fn undo_inside(
        &mut self,
        changes: &[Change],
        dry_run: bool,
        record: &mut UndoRecorder<'_>,
    ) -> Result<Acted, StoreError> {
        let mut undone = Vec::new();
        for change in changes.iter().rev() {
            let put_back = put_back(&self.writer, &self.schema, change);
            match put_back {
                Ok(Some(rowid)) => undone.push(Change {
                    table: change.table.clone(),
                    rowid,
                    before: change.after.clone(),
                    after: change.before.clone(),
                }),
                Ok(None) => return Ok(nothing(Outcome::Moved(what_moved(change)))),
                Err(error) => match error.sqlite_error_code() {
                    Some(ErrorCode::ConstraintViolation) => {
                        let why = "the database refuses the row: somebody has claimed it since, or what it refers to is gone";
                        return Ok(nothing(Outcome::Moved(why.into())));
                    }
                    _ => return Err(self.reader.sentence(&error, "putting the row back")),
                },
            }
        }
        let acted = Acted { outcome: Outcome::Applied, changes: undone, preview: Vec::new() };
        if !dry_run && let Err(problem) = record(&acted) {
            return Ok(nothing(Outcome::Refused(format!("the record could not be written: {problem}"))));
        }
        Ok(acted)
    }

    /// Whether the rows of an act are as one of its images has them.
    pub fn matches(&mut self, changes: &[Change], side: Side) -> Result<bool, StoreError> {
        for change in changes {
            let Some(table) = self.schema.table(&change.table) else { return Ok(false) };
            let wanted = match side {
                Side::Before => &change.before,
                Side::After => &change.after,
            };
            let is = self.write("comparing", |writer| Image::read(writer, table, change.rowid))?;
            if is != *wanted {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn nothing(outcome: Outcome) -> Acted {
    Acted { outcome, changes: Vec::new(), preview: Vec::new() }
}

fn what_moved(change: &Change) -> String {
    match (&change.before, &change.after) {
        (Some(_), None) => "somebody has claimed it since".into(),
        _ => format!("a row of {} is no longer what the act left behind", change.table),
    }
}

/// Puts one row back; the rowid it has then, or nothing if it is not what the act left behind.
fn put_back(connection: &Connection, schema: &Schema, change: &Change) -> rusqlite::Result<Option<i64>> {
    let Some(table) = schema.table(&change.table) else { return Ok(None) };
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => reset(connection, table, change.rowid, before, after),
        (Some(before), None) => insert(connection, table, before),
        (None, Some(after)) => delete(connection, table, change.rowid, after),
        (None, None) => Ok(Some(change.rowid)),
    }
}

/// Only the columns that the act set go back; all of them are compared.
fn reset(
    connection: &Connection,
    table: &Table,
    rowid: i64,
    before: &Image,
    after: &Image,
) -> rusqlite::Result<Option<i64>> {
    let (guard, mut values) = after.guard("", ":left");
    let mut set = Vec::new();
    for ((name, was), (_, is)) in before.0.iter().zip(&after.0) {
        if was != is {
            let (sql, value) = assignment(name, was, &format!(":was{}", set.len()));
            set.push(sql);
            values.push(value);
        }
    }
    values.push((":rowid".into(), SqlValue::Integer(rowid)));
    let sql =
        format!("UPDATE {} SET {} WHERE rowid = :rowid AND {guard}", quoted(&table.name), set.join(", "));
    Ok((execute(connection, &sql, &values)? == 1).then_some(rowid))
}

fn insert(connection: &Connection, table: &Table, before: &Image) -> rusqlite::Result<Option<i64>> {
    let names: Vec<String> = before.0.iter().map(|(name, _)| quoted(name)).collect();
    let (places, values) = before.places(":was");
    let sql = format!("INSERT INTO {} ({}) VALUES ({places})", quoted(&table.name), names.join(", "));
    Ok((execute(connection, &sql, &values)? == 1).then(|| connection.last_insert_rowid()))
}

fn delete(
    connection: &Connection,
    table: &Table,
    rowid: i64,
    after: &Image,
) -> rusqlite::Result<Option<i64>> {
    let (guard, mut values) = after.guard("", ":left");
    values.push((":rowid".into(), SqlValue::Integer(rowid)));
    let sql = format!("DELETE FROM {} WHERE rowid = :rowid AND {guard}", quoted(&table.name));
    Ok((execute(connection, &sql, &values)? == 1).then_some(rowid))
}

fn execute(connection: &Connection, sql: &str, values: &[(String, SqlValue)]) -> rusqlite::Result<usize> {
    let mut statement = connection.prepare(sql)?;
    super::run::bind_known(&mut statement, values)?;
    statement.raw_execute()
}
