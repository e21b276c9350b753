//! Undo: every row back as it was, if every row is still exactly what the act left behind.

mod back;

use std::collections::{BTreeMap, BTreeSet};

use self::back::{Back, acted_on, by_column, delete, insert, reset, stamped};
use super::actor::{Actor, is_locked};
use super::cascade::written;
use super::error::PgError;
use super::image;
use super::link::Link;
use super::named_params::NamedParams;
use super::watch::query;
use crate::domain::recovery::{Moved, Outcome};
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::store::StoreError;
use crate::store::act::{Acted, ChangeRecorder, Undo, unrecorded};
use crate::store::image::{Change, Image, RowAt, Side};
use crate::store::schema::Schema;

impl Actor {
    /// Takes back the changes of an act, the last one first.
    pub fn undo(
        &mut self,
        changes: &[Change],
        undo: Undo<'_>,
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
                match undo.note(&acted.changes).map(|note| (note, record(&acted))) {
                    Some((_, Err(problem))) => Ok(Acted::nothing(unrecorded(&problem))),
                    Some((note, Ok(()))) => {
                        let noted = self.note(undo.action_id(), turn.now, &note);
                        noted.map(|()| acted)
                    }
                    None => Ok(acted),
                }
            }
            Ok(Err(what)) => Ok(Acted::nothing(Outcome::Moved(what))),
            Err(error) if is_locked(&error) => Ok(Acted::nothing(Outcome::Moved(Moved::RowLocked))),
            Err(error) => Err(self.sentence(&error, "putting the rows back")),
        };
        self.end(acted, undo.action_id(), undo.is_rehearsal())
    }

    /// Puts every row back, or says which is not what the act left behind.
    ///
    /// A row may refer to another that comes after it, so those that the database refuses are tried
    /// again as long as others get through.
    fn put_all_back(
        &mut self,
        changes: &[Change],
        now: Moment,
    ) -> Result<Result<Vec<Change>, Moved>, PgError> {
        // Putting one row back may put others back as well, so they are all compared before.
        if changes.len() > 1
            && let Some(moved) = self.moved_among(changes)?
        {
            return Ok(Err(what_moved(moved)));
        }
        // What nobody can tell is left, and said again.
        let (untold, mut left): (Vec<&Change>, Vec<&Change>) =
            changes.iter().partition(|change| change.is_untold());
        left.reverse();
        let untold = untold.into_iter().map(|change| change.table.clone()).collect();
        let watched = self.watched_for_triggers(&left)?;
        let mut undone = Vec::new();
        while !left.is_empty() {
            let mut refused = Vec::new();
            for &change in &left {
                match self.put_back(change, now) {
                    Ok(Back::As(after)) => undone.push(self.turned(change, after)),
                    Ok(Back::Left) => {}
                    // A foreign key or a trigger has put it back already.
                    Ok(Back::Moved) if changes.len() > 1 && self.is(change, Side::Before)? => {
                        undone.push(self.turned(change, change.before.clone()));
                    }
                    Ok(Back::Moved) => return Ok(Err(what_moved(change))),
                    // A constraint, or a trigger that forbids it.
                    Err(PgError::Server { code, .. }) if code.starts_with("23") || code == "P0001" => {
                        self.run(|link| link.batch("ROLLBACK TO claimtop_undo"))?;
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
        for change in &mut undone {
            self.read_after(change)?;
        }
        let untold = self.also_written(watched, changes, untold)?;
        undone.extend(untold.iter().map(|table| Change::untold(table)));
        Ok(Ok(undone))
    }

    /// Rows written so far, if triggers may write more.
    fn watched_for_triggers(
        &mut self,
        changes: &[&Change],
    ) -> Result<Option<BTreeMap<String, u64>>, PgError> {
        let Actor { reader, link: Some(link), .. } = self else { return Ok(None) };
        let has_triggers = changes.iter().any(|change| reader.dependencies.has_triggers(&change.table));
        if has_triggers { written(link, &reader.schema).map(Some) } else { Ok(None) }
    }

    /// The tables that nobody can tell, and those that only triggers have written to since.
    fn also_written(
        &mut self,
        before: Option<BTreeMap<String, u64>>,
        changes: &[Change],
        mut untold: BTreeSet<String>,
    ) -> Result<BTreeSet<String>, PgError> {
        let Some(before) = before else { return Ok(untold) };
        let Actor { reader, link: Some(link), .. } = self else { return Ok(untold) };
        for (table, count) in written(link, &reader.schema)? {
            let is_ours = changes.iter().any(|change| change.table == table);
            if !is_ours && count > before.get(&table).copied().unwrap_or(0) {
                untold.insert(table);
            }
        }
        Ok(untold)
    }

    /// The change that takes another back, of which this is left.
    fn turned(&self, change: &Change, after: Option<Image>) -> Change {
        let at = after.as_ref().map(|after| key_of(&self.reader.schema, change, after));
        let at = at.unwrap_or_else(|| change.at.clone());
        Change { table: change.table.clone(), at, before: change.after.clone(), after }
    }

    /// A row that is not what the act left behind.
    fn moved_among<'a>(&mut self, changes: &'a [Change]) -> Result<Option<&'a Change>, PgError> {
        let mut compared: Vec<(&str, &RowAt)> = Vec::new();
        for change in changes.iter().rev() {
            // Where nothing tells rows apart, only the attempt shows.
            let is_told_apart = matches!(&change.at, RowAt::Key(key) if !key.is_empty());
            let row = (change.table.as_str(), &change.at);
            // Of a row that changed twice, the last change is what was left behind.
            if !is_told_apart || compared.contains(&row) {
                continue;
            }
            compared.push(row);
            if !self.is(change, Side::After)? {
                return Ok(Some(change));
            }
        }
        Ok(None)
    }

    /// Whether the row of a change is as one of its images has it.
    fn is(&mut self, change: &Change, side: Side) -> Result<bool, PgError> {
        let Actor { reader, link: Some(link), .. } = self else { return Ok(false) };
        let (wanted, other) = match side {
            Side::Before => (&change.before, &change.after),
            Side::After => (&change.after, &change.before),
        };
        let known = wanted.as_ref().or(other.as_ref());
        let at = match wanted {
            // Its key may be among what changed.
            Some(wanted) => key_of(&reader.schema, change, wanted),
            None => change.at.clone(),
        };
        let change = Change { at, ..change.clone() };
        Ok(by_name(&current(link, &reader.schema, &change, known)?) == by_name(wanted))
    }

    /// A trigger may have changed the row once more after it was put back.
    fn read_after(&mut self, change: &mut Change) -> Result<(), PgError> {
        let Actor { reader, link: Some(link), .. } = self else { return Ok(()) };
        let Some(after) =
            change.after.clone().filter(|_| reader.dependencies.changes_rows_again(&change.table))
        else {
            return Ok(());
        };
        let at = key_of(&reader.schema, change, &after);
        let again = Change { at, ..change.clone() };
        change.after = current(link, &reader.schema, &again, Some(&after))?.or(Some(after));
        Ok(())
    }

    /// Puts one row back, if it is what the act left behind.
    fn put_back(&mut self, change: &Change, now: Moment) -> Result<Back, PgError> {
        let Actor { reader, link: Some(link), .. } = self else { return Ok(Back::Moved) };
        let (Some(table), RowAt::Key(key)) = (reader.schema.certain(&change.table), &change.at) else {
            return Ok(Back::Moved);
        };
        link.batch("SAVEPOINT claimtop_undo")?;
        match (&change.before, &change.after) {
            (Some(before), Some(after)) => {
                let stamped = stamped(link, table, &acted_on(&reader.watched, table))?;
                reset(link, table, key, (before, after), &stamped)
            }
            (Some(before), None) => {
                let image = insert(link, table, before)?;
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
                        let mut params = watch.clock(now);
                        let guard = image::guard(table, before, "other", "was", &mut params);
                        let sql = format!(
                            "SELECT count(*)::text FROM {} WHERE ({}) AND EXISTS (SELECT FROM {} AS other WHERE {guard} AND {})",
                            watch.board.from,
                            watch.board.is_held(),
                            table.sql,
                            same.join(" AND ")
                        );
                        let rows = query(link, &params, &sql)?;
                        let count = rows.first().and_then(|row| row.get(0)?.parse::<u64>().ok());
                        if count.is_some_and(|count| count > 1) {
                            return Ok(Back::Moved);
                        }
                    }
                }
                Ok(Back::As(image))
            }
            (None, Some(after)) => delete(link, table, key, after),
            (None, None) => Ok(Back::Left),
        }
    }

    /// Whether the rows of an act are as one of its images has them.
    pub fn matches(&mut self, changes: &[Change], side: Side) -> Result<bool, StoreError> {
        let schema = self.schema().clone();
        self.reader.aside("comparing", |link| {
            for change in changes {
                let (wanted, other) = match side {
                    Side::Before => (&change.before, &change.after),
                    Side::After => (&change.after, &change.before),
                };
                let known = wanted.as_ref().or(other.as_ref());
                if by_name(&current(link, &schema, change, known)?) != by_name(wanted) {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }
}

/// The row of a change as it is now. Where nothing tells rows apart, the one that is as `known`.
fn current(
    link: &mut Link,
    schema: &Schema,
    change: &Change,
    known: Option<&Image>,
) -> Result<Option<Image>, PgError> {
    let (Some(table), RowAt::Key(key)) = (schema.certain(&change.table), &change.at) else { return Ok(None) };
    let mut params = NamedParams::default();
    let condition = if key.is_empty() {
        let Some(image) = known else { return Ok(None) };
        image::guard(table, image, "c", "was", &mut params)
    } else {
        image::at(table, key, "c", &mut params)
    };
    let columns = image::columns(table, "c").join(", ");
    let rows = query(link, &params, &format!("SELECT {columns} FROM {} AS c WHERE {condition}", table.sql))?;
    Ok(rows.first().map(|row| image::read(table, row, 0)))
}

/// Where a row is if it is as an image has it.
fn key_of(schema: &Schema, change: &Change, image: &Image) -> RowAt {
    match schema.certain(&change.table) {
        Some(table) => RowAt::Key(image::key(table, image)),
        None => change.at.clone(),
    }
}

fn what_moved(change: &Change) -> Moved {
    match (&change.before, &change.after) {
        (Some(_), None) => Moved::ClaimedSince,
        _ => Moved::ChangedSince { table: change.table.clone() },
    }
}

/// An image that comes out of the trail has its columns in another order.
fn by_name(image: &Option<Image>) -> Option<BTreeMap<&str, &Value>> {
    image.as_ref().map(by_column)
}
