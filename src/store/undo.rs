//! Undo: every row back as it was, if every row is still exactly what the act left behind.

use std::collections::{BTreeMap, BTreeSet};

use super::act::{Acted, ChangeRecorder, Undo, unrecorded};
use super::actor::Actor;
use super::driver::{Failed, QueryRows, Row, RowComparison, Turn};
use super::image::{Change, Image, RowAt, Side};
use super::image_sql::{current, guard, is_locked_as};
use super::named_params::NamedParams;
use super::protocol::unless_locked;
use super::schema::{Table, quoted};
use super::watched::BoardAt;
use super::{StoreError, suspend::uninterrupted};
use crate::domain::recovery::{Moved, Outcome};
use crate::domain::time::Moment;

/// What came of putting one row back.
enum Back {
    /// It is back, at this place; deleted ones have none.
    At(Option<RowAt>),
    /// It stays as it is: a log that this role may only add to.
    Left,
    /// It is not what the act left behind.
    Moved,
}

/// Whether a row that is not what the act left behind ends the undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strictness {
    Exact,
    /// Triggers fire along and may have put it back: only whether they forbid something counts.
    TriggersFire,
}

const PUTTING_BACK: &str = "putting the rows back";

impl Actor {
    /// Takes back the changes of an act, the last one first.
    pub fn undo(
        &mut self,
        changes: &[Change],
        undo: Undo<'_>,
        record: &mut ChangeRecorder<'_>,
    ) -> Result<Acted, StoreError> {
        let _uninterrupted = uninterrupted();
        let turn = self.driver.begin()?;
        let acted = unless_locked(self.undo_inside(&turn, changes, undo, record));
        self.end(acted, undo.action_id(), undo.is_rehearsal())
    }

    fn undo_inside(
        &mut self,
        turn: &Turn,
        changes: &[Change],
        undo: Undo<'_>,
        record: &mut ChangeRecorder<'_>,
    ) -> Result<Acted, Failed> {
        let undone = match self.put_back_around_triggers(changes, turn.now)? {
            Ok(undone) => undone,
            Err(what) => return Ok(Acted::nothing(Outcome::Moved(what))),
        };
        let transaction = turn.transaction.clone();
        let acted = Acted { changes: undone, transaction, ..Acted::nothing(Outcome::Applied) };
        let Some(note) = undo.note(&acted.changes) else { return Ok(acted) };
        if let Err(problem) = record(&acted) {
            return Ok(Acted::nothing(unrecorded(&problem)));
        }
        self.note(undo.action_id(), turn.now, &note)?;
        Ok(acted)
    }

    /// What triggers did is among the changes: fired again they would do it once more. So they are silenced where
    /// the engine can. Still they may forbid the undo, so it is rehearsed with them first.
    fn put_back_around_triggers(
        &mut self,
        changes: &[Change],
        now: Moment,
    ) -> Result<Result<Vec<Change>, Moved>, Failed> {
        // Putting one row back may put others back as well, so they are all compared before.
        if changes.len() > 1
            && let Some(moved) = self.moved_among(changes)?
        {
            return Ok(Err(what_moved(moved)));
        }
        let has_triggers = changes.iter().any(|change| self.driver.has_triggers(&change.table));
        if !has_triggers || !self.driver.silence_triggers(true)? {
            return self.put_all_back(changes, Strictness::Exact, now);
        }
        self.driver.silence_triggers(false)?;
        self.connection().run(PUTTING_BACK, "SAVEPOINT claimtop_rehearsal")?;
        let rehearsed = self.put_all_back(changes, Strictness::TriggersFire, now);
        self.connection()
            .run(PUTTING_BACK, "ROLLBACK TO claimtop_rehearsal; RELEASE SAVEPOINT claimtop_rehearsal")?;
        if let Err(what) = rehearsed? {
            return Ok(Err(what));
        }
        self.driver.silence_triggers(true)?;
        let put_back = self.put_all_back(changes, Strictness::Exact, now);
        self.driver.silence_triggers(false)?;
        put_back
    }

    /// Puts every row back, or says which is not what the act left behind.
    ///
    /// A row may refer to another that comes after it, so those that the database refuses are tried
    /// again as long as others get through.
    fn put_all_back(
        &mut self,
        changes: &[Change],
        strictness: Strictness,
        now: Moment,
    ) -> Result<Result<Vec<Change>, Moved>, Failed> {
        // Rows that cannot be attributed stay; their tables are reported again.
        let (untold, mut left): (Vec<&Change>, Vec<&Change>) =
            changes.iter().partition(|change| change.is_untold());
        left.reverse();
        let mut untold: BTreeSet<String> = untold.into_iter().map(|change| change.table.clone()).collect();
        let written = self.rows_written_by_triggers(&left)?;
        let mut undone = Vec::new();
        while !left.is_empty() {
            let mut refused = Vec::new();
            for &change in &left {
                match self.try_to_put_back(change, now)? {
                    None => refused.push(change),
                    Some(Back::At(at)) => undone.push(self.turned(change, at)?),
                    Some(Back::Left) => {}
                    // A foreign key or a trigger has put it back already.
                    Some(Back::Moved) if changes.len() > 1 && self.is(change, Side::Before)? => {
                        undone.push(Change { at: self.at_before(change), ..change.turned() });
                    }
                    Some(Back::Moved) if strictness == Strictness::TriggersFire => {}
                    Some(Back::Moved) => return Ok(Err(what_moved(change))),
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
        for (table, count) in self.driver.rows_written()? {
            let is_ours = changes.iter().any(|change| change.table == table);
            if !is_ours && written.as_ref().is_some_and(|w| count > w.get(&table).copied().unwrap_or(0)) {
                untold.insert(table);
            }
        }
        undone.extend(untold.iter().map(|table| Change::untold(table)));
        Ok(Ok(undone))
    }

    /// Rows written so far, if triggers may write more.
    fn rows_written_by_triggers(
        &mut self,
        changes: &[&Change],
    ) -> Result<Option<BTreeMap<String, u64>>, Failed> {
        let has_triggers = changes.iter().any(|change| self.driver.has_triggers(&change.table));
        if has_triggers { self.driver.rows_written().map(Some) } else { Ok(None) }
    }

    /// The change that takes another back, now that its row is at a place.
    fn turned(&mut self, change: &Change, at: Option<RowAt>) -> Result<Change, Failed> {
        let turned = change.turned();
        let (Some(at), Some(table)) = (at, self.driver.certain(&change.table)) else {
            return Ok(Change { after: None, ..turned });
        };
        let change = Change { at, ..turned };
        // A trigger may have changed the row.
        let after = current(&mut *self.connection(), &table, &change, change.after.as_ref())?;
        Ok(Change { after: after.or(change.after.clone()), ..change })
    }

    fn at_before(&self, change: &Change) -> RowAt {
        match (self.driver.certain(&change.table), &change.before) {
            (Some(table), Some(before)) => self.driver.dialect().at_of(&table, before, &change.at),
            _ => change.at.clone(),
        }
    }

    /// A row that is not what the act left behind.
    fn moved_among<'a>(&mut self, changes: &'a [Change]) -> Result<Option<&'a Change>, Failed> {
        let mut compared: Vec<(&str, &RowAt)> = Vec::new();
        for change in changes.iter().rev() {
            let row = (change.table.as_str(), &change.at);
            // Where nothing tells rows apart, only the attempt shows. Of a row that changed twice, the last change is
            // what was left behind. The number of a deleted row may be another row's by now: that is no obstacle.
            let is_number_of_none = change.after.is_none() && matches!(change.at, RowAt::Rowid(_));
            if change.has_no_key() || is_number_of_none || compared.contains(&row) {
                continue;
            }
            compared.push(row);
            if !self.is(change, Side::After)? {
                return Ok(Some(change));
            }
        }
        Ok(None)
    }

    /// A trigger may have changed the row once more after it was put back.
    fn read_after(&mut self, change: &mut Change) -> Result<(), Failed> {
        if !self.driver.changes_rows_again(&change.table) {
            return Ok(());
        }
        if let (Some(after), Some(table)) = (&change.after, self.driver.certain(&change.table)) {
            change.at = self.driver.dialect().at_of(&table, after, &change.at);
            let again = current(&mut *self.connection(), &table, change, change.after.as_ref())?;
            change.after = again.or(change.after.take());
        }
        Ok(())
    }

    /// Puts one row back so that the others can still be; nothing, if the database refuses it.
    fn try_to_put_back(&mut self, change: &Change, now: Moment) -> Result<Option<Back>, Failed> {
        self.connection().run(PUTTING_BACK, "SAVEPOINT claimtop_undo")?;
        match self.put_back(change, now) {
            Ok(back) => {
                self.connection().run(PUTTING_BACK, "RELEASE SAVEPOINT claimtop_undo")?;
                Ok(Some(back))
            }
            Err(Failed::Other(StoreError::RowRefused { .. })) if self.driver.goes_on() => {
                self.connection()
                    .run(PUTTING_BACK, "ROLLBACK TO claimtop_undo; RELEASE SAVEPOINT claimtop_undo")?;
                Ok(None)
            }
            Err(failed) => Err(failed),
        }
    }

    /// Puts one row back, if it is what the act left behind.
    fn put_back(&mut self, change: &Change, now: Moment) -> Result<Back, Failed> {
        let Some(table) = self.driver.certain(&change.table) else { return Ok(Back::Moved) };
        match (&change.before, &change.after) {
            (Some(before), Some(after)) => self.reset(&table, change, before, after),
            (Some(before), None) => match self.driver.insert(&table, &change.at, before)? {
                Some(at) if !self.is_claimed_twice(&table, &at, before, now)? => Ok(Back::At(Some(at))),
                _ => Ok(Back::Moved),
            },
            (None, Some(after)) => self.delete(&table, change, after),
            (None, None) => Ok(Back::Left),
        }
    }

    /// Only the columns that the act changed go back; all of them are compared.
    fn reset(
        &mut self,
        table: &Table,
        change: &Change,
        before: &Image,
        after: &Image,
    ) -> Result<Back, Failed> {
        let dialect = self.driver.dialect();
        let mut params = NamedParams::default();
        let Some(condition) = self.is_as_left(table, change, after, &mut params)? else {
            return Ok(Back::Moved);
        };
        // Columns that only the database's own triggers write: this role may not, and no act does.
        let stamped = self.driver.unwritable_columns(table)?;
        let acted_on = self.acted_on(table);
        let is_stamped = |name: &str| stamped.iter().any(|one| one == name) && !acted_on.contains(name);
        let is = after.by_name();
        let (mut set, mut differs) = (Vec::new(), false);
        // What the engine would set by itself has to be named, although it is what it was.
        let stamping = self.driver.stamped_columns(table);
        let is_stamping = |name: &str| stamping.iter().any(|one| one == name);
        for (name, was) in before.by_name() {
            let is_other = is.get(name) != Some(&was) && !is_stamped(name);
            differs |= is_other;
            if is_other || is_stamping(name) {
                let param = format!("was{}", set.len());
                set.push(format!("{} = {}", quoted(name), dialect.place(&param, was)));
                params.add_value(&param, declared(table, name), was.clone());
            }
        }
        if !differs {
            return Ok(Back::Left);
        }
        let sql = format!("UPDATE {} AS c SET {} WHERE {condition}", table.sql, set.join(", "));
        let count = self.connection().execute(PUTTING_BACK, &sql, &params)?;
        let at = dialect.at_of(table, before, &change.at);
        Ok(if count == 1 { Back::At(Some(at)) } else { Back::Moved })
    }

    fn delete(&mut self, table: &Table, change: &Change, after: &Image) -> Result<Back, Failed> {
        if !self.driver.may_delete(table)? {
            return Ok(Back::Left);
        }
        let mut params = NamedParams::default();
        let Some(condition) = self.is_as_left(table, change, after, &mut params)? else {
            return Ok(Back::Moved);
        };
        let sql = self.driver.dialect().delete_one(table, &condition);
        let count = self.connection().execute(PUTTING_BACK, &sql, &params)?;
        Ok(if count == 1 { Back::At(None) } else { Back::Moved })
    }

    /// That a row, as `c`, is where the act left it and as it left it; nothing, if it is not.
    fn is_as_left(
        &mut self,
        table: &Table,
        change: &Change,
        after: &Image,
        params: &mut NamedParams,
    ) -> Result<Option<String>, Failed> {
        let dialect = self.driver.dialect();
        let is_it = dialect.is_at(table, &change.at, "c", params);
        if dialect.row_comparison() == RowComparison::InClient {
            let is_left = is_it.is_some() && is_locked_as(&mut *self.connection(), table, change, after)?;
            return Ok(is_it.filter(|_| is_left));
        }
        let is_as_left = guard(dialect, table, after, "c", "left", params);
        Ok(match is_it {
            Some(is_it) => Some(format!("{is_it} AND {is_as_left}")),
            // Rows that nothing tells apart are all the same.
            None if change.has_no_key() => Some(is_as_left),
            None => None,
        })
    }

    /// The columns of a table that the profiles' acts set.
    fn acted_on(&self, table: &Table) -> BTreeSet<String> {
        let boards = self.driver.boards();
        let of_table =
            boards.iter().filter(|at| at.board().table == table.name).filter_map(|at| at.written());
        let acts = of_table.flat_map(|board| {
            [&board.reclaim, &board.release, &board.extend, &board.requeue].into_iter().flatten()
        });
        acts.flat_map(|act| act.set.keys().cloned()).collect()
    }

    /// Whether somebody has claimed the thing of a row that was put back: not every table keeps two claims on one
    /// thing apart.
    fn is_claimed_twice(
        &mut self,
        table: &Table,
        at: &RowAt,
        row: &Image,
        now: Moment,
    ) -> Result<bool, Failed> {
        let mut look = self.driver.look(now);
        let dialect = look.connection.dialect();
        for board in look.boards.iter().map(BoardAt::board) {
            if !board.table.eq_ignore_ascii_case(&table.name) || !board.is_addressable() {
                continue;
            }
            let mut params = board.clock(dialect, now);
            let is_it = dialect
                .is_at(table, at, "c", &mut params)
                .unwrap_or_else(|| guard(dialect, table, row, "c", "was", &mut params));
            let ids: Vec<String> = board.id.iter().map(|id| dialect.selected(id)).collect();
            let sql = format!("SELECT {} FROM {} WHERE {is_it}", ids.join(", "), board.from);
            let parts = |row: &dyn Row| {
                let types = board.id_types.iter().enumerate();
                types.map(|(at, kind)| row.value(at, kind)).collect::<Vec<_>>()
            };
            let Some(key) = look.connection.first(PUTTING_BACK, &sql, &params, parts)? else { continue };
            let mut params = board.clock(dialect, now);
            let same = dialect.has_key(board, &key, &mut params);
            let (count, from, held) = (dialect.selected("count(*)"), &board.from, board.is_held());
            let sql = format!("SELECT {count} FROM {from} WHERE ({held}) AND {same}");
            if look.connection.count(PUTTING_BACK, &sql, &params)? > 1 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn declared<'a>(table: &'a Table, column: &str) -> &'a str {
    table.column(column).map(|column| column.declared.as_str()).unwrap_or_default()
}

fn what_moved(change: &Change) -> Moved {
    match (&change.before, &change.after) {
        (Some(_), None) => Moved::ClaimedSince,
        _ => Moved::ChangedSince { table: change.table.clone() },
    }
}
