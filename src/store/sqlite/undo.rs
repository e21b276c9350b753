//! Undo: every row back as it was, if every row is still exactly what the act left behind.

use rusqlite::config::DbConfig;
use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, ErrorCode};

use std::collections::BTreeMap;

use super::actor::Actor;
use super::image::{InFile, assignment, rowid};
use super::keys::RowSql;
use super::run::{bind_known, count, now_value};
use crate::domain::recovery::{Moved, Outcome};
use crate::domain::value::Value;
use crate::store::StoreError;
use crate::store::act::{Acted, ChangeRecorder, Undo, unrecorded};
use crate::store::image::{Change, Image, Side};
use crate::store::schema::{Table, quoted};

impl Actor {
    /// Takes back the changes of an act, the last one first.
    pub fn undo(
        &mut self,
        changes: &[Change],
        undo: Undo<'_>,
        record: &mut ChangeRecorder<'_>,
    ) -> Result<Acted, StoreError> {
        self.begin()?;
        let acted = self.undo_inside(changes, undo, record);
        self.end(acted, undo.is_rehearsal())
    }

    fn undo_inside(
        &mut self,
        changes: &[Change],
        undo: Undo<'_>,
        record: &mut ChangeRecorder<'_>,
    ) -> Result<Acted, StoreError> {
        let triggered = changes.iter().any(|change| self.schema.is_entangled(&change.table));
        let put_back =
            if triggered { self.without_triggers(changes) } else { self.put_all_back(changes, true) };
        let undone = match put_back.map_err(|error| self.reader.sentence(&error, "putting the rows back"))? {
            Ok(undone) => undone,
            Err(what) => return Ok(Acted::nothing(Outcome::Moved(what))),
        };
        let transaction = self.transaction_mark();
        let acted = Acted { changes: undone, transaction, ..Acted::nothing(Outcome::Applied) };
        let Some(note) = undo.note(&acted.changes) else { return Ok(acted) };
        if let Err(problem) = record(&acted) {
            return Ok(Acted::nothing(unrecorded(&problem)));
        }
        self.note(|| undo.action_id().into(), self.now(), &note)?;
        Ok(acted)
    }

    /// What triggers did is among the changes: fired again they would do it once more. Still they may
    /// forbid the undo, so it is rehearsed with them first.
    fn without_triggers(&mut self, changes: &[Change]) -> rusqlite::Result<Result<Vec<Change>, Moved>> {
        self.writer.execute_batch("SAVEPOINT rehearsal")?;
        let rehearsed = self.put_all_back(changes, false);
        self.writer.execute_batch("ROLLBACK TO rehearsal; RELEASE rehearsal")?;
        if let Err(what) = rehearsed? {
            return Ok(Err(what));
        }
        self.writer.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        let put_back = self.put_all_back(changes, true);
        self.writer.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, true)?;
        put_back
    }

    /// Puts every row back, or says which is not what the act left behind.
    ///
    /// A row may refer to another that comes after it, so those that the database refuses are tried
    /// again as long as others get through.
    fn put_all_back(
        &self,
        changes: &[Change],
        exactly: bool,
    ) -> rusqlite::Result<Result<Vec<Change>, Moved>> {
        let mut undone = Vec::new();
        let mut left: Vec<&Change> = changes.iter().rev().collect();
        while !left.is_empty() {
            let mut refused = Vec::new();
            for &change in &left {
                match self.put_back(change) {
                    Ok(Some(rowid)) => undone.push(Change {
                        table: change.table.clone(),
                        at: self.row_at(&change.table, rowid),
                        before: change.after.clone(),
                        after: change.before.clone(),
                    }),
                    Ok(None) if exactly => return Ok(Err(what_moved(change))),
                    Ok(None) => {}
                    Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                        refused.push(change);
                    }
                    Err(error) => return Err(error),
                }
            }
            if refused.len() == left.len() {
                return Ok(Err(Moved::NotAccepted));
            }
            left = refused;
        }
        Ok(Ok(undone))
    }

    /// Puts one row back; the rowid it has then, or nothing if it is not what the act left behind.
    fn put_back(&self, change: &Change) -> rusqlite::Result<Option<i64>> {
        let Some(table) = self.schema.table(&change.table) else { return Ok(None) };
        let Some(rowid) = rowid(change, table, &self.reader.keys) else { return Ok(None) };
        match (&change.before, &change.after) {
            (Some(before), Some(after)) => reset(&self.writer, table, rowid, before, after),
            (Some(before), None) => self.insert(table, rowid, before),
            (None, Some(after)) => delete(&self.writer, table, rowid, after),
            (None, None) => Ok(Some(rowid)),
        }
    }

    fn insert(&self, table: &Table, rowid: i64, before: &Image) -> rusqlite::Result<Option<i64>> {
        let boards = || {
            let boards = self.reader.watched.iter().flat_map(|watched| &watched.boards);
            boards.map(|watch| &watch.board).filter(|board| board.table.eq_ignore_ascii_case(&table.name))
        };
        let mut names: Vec<String> = before.iter().map(|(name, _)| quoted(name)).collect();
        let (mut places, mut values) = before.places(":was");
        values.push((":rowid".into(), SqlValue::Integer(rowid)));
        if table.has_rowid {
            // The number may be another row's by now, which matters where it is the claim's name.
            let is_its_name =
                boards().any(|board| board.id.iter().any(|id| id.eq_ignore_ascii_case("c.rowid")));
            let taken = format!("SELECT 1 FROM {} WHERE rowid = :rowid", quoted(&table.name));
            let place =
                if is_its_name { ":rowid".into() } else { format!("iif(EXISTS ({taken}), NULL, :rowid)") };
            names.insert(0, "rowid".into());
            places = format!("{place}, {places}");
        }
        let sql = format!("INSERT INTO {} ({}) VALUES ({places})", quoted(&table.name), names.join(", "));
        if execute(&self.writer, &sql, &values)? != 1 {
            return Ok(None);
        }
        let rowid = if table.has_rowid { self.writer.last_insert_rowid() } else { rowid };
        // Not every table keeps two claims on one thing apart by itself.
        for board in boards().filter(|board| board.is_addressable()) {
            let is_it = RowSql::claims(board).is(":rowid");
            let same =
                board.id.iter().map(|id| format!("{id} IS (SELECT {id} FROM {} WHERE {is_it})", board.from));
            let same = same.collect::<Vec<_>>().join(" AND ");
            let held = board.is_held();
            let sql = format!("SELECT count(*) FROM {} WHERE {held} AND {same}", board.from);
            let now = now_value(board, self.now());
            let values = [(":rowid".into(), SqlValue::Integer(rowid)), (":now".into(), now)];
            if count(&self.writer, &sql, &values)? > 1 {
                return Ok(None);
            }
        }
        Ok(Some(rowid))
    }

    /// Whether the rows of an act are as one of its images has them.
    pub fn matches(&mut self, changes: &[Change], side: Side) -> Result<bool, StoreError> {
        for change in changes {
            let Some(table) = self.schema.table(&change.table) else { return Ok(false) };
            let Some(rowid) = rowid(change, table, &self.reader.keys) else { return Ok(false) };
            let wanted = match side {
                Side::Before => &change.before,
                Side::After => &change.after,
            };
            let is = self.write("comparing", |writer| Image::read(writer, table, rowid))?;
            if by_name(&is) != by_name(wanted) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn what_moved(change: &Change) -> Moved {
    match (&change.before, &change.after) {
        (Some(_), None) => Moved::ClaimedSince,
        _ => Moved::ChangedSince { table: change.table.clone() },
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
    for ((name, was), (_, is)) in before.iter().zip(after.iter()) {
        if was != is {
            let (sql, value) = assignment(name, was, &format!(":was{}", set.len()));
            set.push(sql);
            values.push(value);
        }
    }
    values.push((":rowid".into(), SqlValue::Integer(rowid)));
    let is_it = RowSql::of(table).is(":rowid");
    let sql = format!("UPDATE {} SET {} WHERE {is_it} AND {guard}", quoted(&table.name), set.join(", "));
    Ok((execute(connection, &sql, &values)? == 1).then_some(rowid))
}

fn delete(
    connection: &Connection,
    table: &Table,
    rowid: i64,
    after: &Image,
) -> rusqlite::Result<Option<i64>> {
    let (guard, mut values) = after.guard("", ":left");
    values.push((":rowid".into(), SqlValue::Integer(rowid)));
    let is_it = RowSql::of(table).is(":rowid");
    let sql = format!("DELETE FROM {} WHERE {is_it} AND {guard}", quoted(&table.name));
    Ok((execute(connection, &sql, &values)? == 1).then_some(rowid))
}

fn execute(connection: &Connection, sql: &str, values: &[(String, SqlValue)]) -> rusqlite::Result<usize> {
    let mut statement = connection.prepare(sql)?;
    bind_known(&mut statement, values)?;
    statement.raw_execute()
}

/// An image that comes out of the trail has its columns in another order.
fn by_name(image: &Option<Image>) -> Option<BTreeMap<&str, &Value>> {
    image.as_ref().map(|image| image.iter().collect())
}
