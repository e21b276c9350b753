//! Undo: every row back as it was, if every row is still exactly what the act left behind.

use std::collections::BTreeMap;

use super::actor::{Actor, is_locked};
use super::cell::sent;
use super::error::PgError;
use super::image;
use super::link::Link;
use super::schema::quoted;
use super::watch::query;
use super::words::Words;
use crate::domain::recovery::Outcome;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::store::StoreError;
use crate::store::act::{Acted, ChangeRecorder};
use crate::store::image::{Change, Image, RowAt, Side};
use crate::store::schema::{Schema, Table};

impl Actor {
    /// Takes back the changes of an act, the last one first.
    pub fn undo(
        &mut self,
        changes: &[Change],
        dry_run: bool,
        record: &mut ChangeRecorder<'_>,
    ) -> Result<Acted, StoreError> {
        if changes.is_empty() {
            return Ok(Acted::nothing(Outcome::Applied));
        }
        let turn = self.begin()?;
        let acted = match self.put_all_back(changes, turn.now) {
            Ok(Ok(undone)) => {
                let transaction = Some(turn.transaction);
                let acted = Acted { changes: undone, transaction, ..Acted::nothing(Outcome::Applied) };
                match record(&acted) {
                    Err(problem) if !dry_run => Ok(Acted::nothing(Outcome::Refused(format!(
                        "the record could not be written: {problem}"
                    )))),
                    _ => Ok(acted),
                }
            }
            Ok(Err(what)) => Ok(Acted::nothing(Outcome::Moved(what))),
            Err(error) if is_locked(&error) => {
                Ok(Acted::nothing(Outcome::Moved(super::actor::BEING_CHANGED.into())))
            }
            Err(error) => Err(self.sentence(&error, "putting the rows back")),
        };
        self.end(acted, "", dry_run)
    }

    /// Puts every row back, or says which is not what the act left behind.
    ///
    /// A row may refer to another that comes after it, so those that the database refuses are tried
    /// again as long as others get through.
    fn put_all_back(
        &mut self,
        changes: &[Change],
        now: Moment,
    ) -> Result<Result<Vec<Change>, String>, PgError> {
        let mut undone = Vec::new();
        let mut left: Vec<&Change> = changes.iter().rev().collect();
        while !left.is_empty() {
            let mut refused = Vec::new();
            for &change in &left {
                match self.put_back(change, now) {
                    Ok(true) => undone.push(Change {
                        table: change.table.clone(),
                        at: change.at.clone(),
                        before: change.after.clone(),
                        after: change.before.clone(),
                    }),
                    Ok(false) => return Ok(Err(what_moved(change))),
                    Err(PgError::Server { code, .. }) if code.starts_with("23") => {
                        self.run(|link| link.batch("ROLLBACK TO claimtop_undo"))?;
                        refused.push(change);
                    }
                    Err(error) => return Err(error),
                }
            }
            if refused.len() == left.len() {
                let why = "the database refuses the row: somebody has claimed it since, or what it refers to is gone";
                return Ok(Err(why.into()));
            }
            left = refused;
        }
        Ok(Ok(undone))
    }

    /// Puts one row back, if it is what the act left behind.
    fn put_back(&mut self, change: &Change, now: Moment) -> Result<bool, PgError> {
        let Actor { reader, link: Some(link), .. } = self else { return Ok(false) };
        let (Some(table), RowAt::Key(key)) = (reader.schema.table(&change.table), &change.at) else {
            return Ok(false);
        };
        link.batch("SAVEPOINT claimtop_undo")?;
        match (&change.before, &change.after) {
            (Some(before), Some(after)) => reset(link, table, key, before, after),
            (Some(before), None) => {
                insert(link, table, before)?;
                // Not every table keeps two claims on one thing apart by itself.
                for watched in &reader.watched {
                    for watch in watched.boards.iter().filter(|watch| watch.table.name == table.name) {
                        let same = watch.board.id.iter().map(|id| {
                            let id_of = id.replace("c.", "other.");
                            format!("({id_of})::text = ({id})::text")
                        });
                        let same: Vec<String> = same.collect();
                        if !watch.board.id.iter().all(|id| id.starts_with("c.")) {
                            continue;
                        }
                        let mut words = watch.clock(now);
                        let guard = image::guard(table, before, "other", "was", &mut words);
                        let sql = format!(
                            "SELECT count(*)::text FROM {} WHERE ({}) AND EXISTS (SELECT FROM {} AS other WHERE {guard} AND {})",
                            watch.board.from,
                            watch.board.is_held(),
                            table.sql,
                            same.join(" AND ")
                        );
                        let rows = query(link, &words, &sql)?;
                        let count = rows.first().and_then(|row| row.get(0)?.parse::<u64>().ok());
                        if count.is_some_and(|count| count > 1) {
                            return Ok(false);
                        }
                    }
                }
                Ok(true)
            }
            (None, Some(after)) => delete(link, table, key, after),
            (None, None) => Ok(true),
        }
    }

    /// Whether the rows of an act are as one of its images has them.
    pub fn matches(&mut self, changes: &[Change], side: Side) -> Result<bool, StoreError> {
        let schema = self.schema().clone();
        self.reader.aside("comparing", |link| {
            for change in changes {
                let wanted = match side {
                    Side::Before => &change.before,
                    Side::After => &change.after,
                };
                if by_name(&current(link, &schema, change)?) != by_name(wanted) {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }
}

/// The row of a change as it is now.
fn current(link: &mut Link, schema: &Schema, change: &Change) -> Result<Option<Image>, PgError> {
    let (Some(table), RowAt::Key(key)) = (schema.table(&change.table), &change.at) else { return Ok(None) };
    let mut words = Words::default();
    let condition = if key.0.is_empty() {
        let Some(image) = change.after.as_ref().or(change.before.as_ref()) else { return Ok(None) };
        image::guard(table, image, "c", "was", &mut words)
    } else {
        image::at(table, key, "c", &mut words)
    };
    let columns = image::columns(table, "c").join(", ");
    let rows = query(link, &words, &format!("SELECT {columns} FROM {} AS c WHERE {condition}", table.sql))?;
    Ok(rows.first().map(|row| image::read(table, row, 0)))
}

fn what_moved(change: &Change) -> String {
    match (&change.before, &change.after) {
        (Some(_), None) => "somebody has claimed it since".into(),
        _ => format!("a row of {} is no longer what the act left behind", change.table),
    }
}

/// Only the columns that the act set go back; all of them are compared.
fn reset(
    link: &mut Link,
    table: &Table,
    key: &Image,
    before: &Image,
    after: &Image,
) -> Result<bool, PgError> {
    let mut words = Words::default();
    let at = image::at(table, key, "c", &mut words);
    let guard = image::guard(table, after, "c", "left", &mut words);
    let (was, is) = (by_column(before), by_column(after));
    let mut set = Vec::new();
    for (name, value) in &was {
        if is.get(name) != Some(value) {
            let place = format!("was{}", set.len());
            let kind = table.column(name).map(|column| column.declared.as_str()).unwrap_or_default();
            words.add(&place, kind, sent(value));
            set.push(format!("{} = :{place}", quoted(name)));
        }
    }
    if set.is_empty() {
        return Ok(true);
    }
    let sql = format!("UPDATE {} AS c SET {} WHERE {at} AND {guard}", table.sql, set.join(", "));
    let put = words.put_into(&sql);
    Ok(link.execute(&put.sql, &put.values())? == 1)
}

fn insert(link: &mut Link, table: &Table, before: &Image) -> Result<(), PgError> {
    let mut words = Words::default();
    let (mut names, mut places) = (Vec::new(), Vec::new());
    for (at, (name, value)) in before.0.iter().enumerate() {
        let kind = table.column(name).map(|column| column.declared.as_str()).unwrap_or_default();
        words.add(&format!("was{at}"), kind, sent(value));
        names.push(quoted(name));
        places.push(format!(":was{at}"));
    }
    let sql = format!(
        "INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE VALUES ({})",
        table.sql,
        names.join(", "),
        places.join(", ")
    );
    let put = words.put_into(&sql);
    link.execute(&put.sql, &put.values()).map(|_| ())
}

fn delete(link: &mut Link, table: &Table, key: &Image, after: &Image) -> Result<bool, PgError> {
    let mut words = Words::default();
    let at = image::at(table, key, "c", &mut words);
    let guard = image::guard(table, after, "c", "left", &mut words);
    let put = words.put_into(&format!("DELETE FROM {} AS c WHERE {at} AND {guard}", table.sql));
    Ok(link.execute(&put.sql, &put.values())? == 1)
}

fn by_column(image: &Image) -> BTreeMap<&str, &Value> {
    image.0.iter().map(|(name, value)| (name.as_str(), value)).collect()
}

/// An image that comes out of the trail has its columns in another order.
fn by_name(image: &Option<Image>) -> Option<BTreeMap<&str, &Value>> {
    image.as_ref().map(by_column)
}
