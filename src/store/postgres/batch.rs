//! Many acts in one short transaction: rows that others hold are passed over, the rest is changed by one
//! statement that carries what was seen of each.

mod apart;
mod made;
mod partition_locks;
mod unlocked;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use self::made::Made;
use super::actor::{Actor, BeginQuestion};
use super::dependencies::Dependencies;
use super::dialect::PostgresDialect;
use super::look;
use super::many::{each, held, is_as_seen, is_its, is_where_seen, lock_sessions, name};
use super::named_params::Put;
use super::own_row::rests_on_its_row;
use super::schema::quoted;
use crate::domain::recovery::{Moved, Outcome, Refusal, permit};
use crate::postgres::error::PgError;
use crate::postgres::link::{Link, Row};
use crate::profile::format::Act;
use crate::store::StoreError;
use crate::store::act::{Acted, Intents, Order, ordered};
use crate::store::driver::{ActTarget, BatchPart, Row as _, Turn};
use crate::store::image::Image;
use crate::store::look::ReadEngine;
use crate::store::schema::{Column, Table};
use crate::store::seen::Seen;
use crate::store::side_effects::SideEffects;
use crate::store::statements::{Guarded, RowEffect, guarded};
use crate::store::watched;

impl Actor {
    /// Begins a transaction for as many of the claims as one takes, or finds out of which there is nothing left to do.
    pub(super) fn begin_part<'a, 'b>(
        &mut self,
        all: &'a mut [&'b Seen],
    ) -> Result<(Turn, BatchPart<'a, 'b>), StoreError> {
        let partitions = self.partitions(all);
        let question = partitions.as_ref().map(|partitions| &partitions.question);
        let (turn, answer) = self.begin_asking(question.unwrap_or(&BeginQuestion::default()))?;
        self.records.clear();
        match self.leading(all, partitions.as_ref(), &answer) {
            Ok(part) => Ok((turn, part)),
            Err(error) => {
                // A connection that is gone has taken everything back.
                let _ = self.ask_link(Link::rollback);
                Err(error)
            }
        }
    }

    /// Changes all claims of a batch at once, if the act is a single statement.
    pub(super) fn act_at_once(
        &mut self,
        turn: &Turn,
        part: &BatchPart<'_, '_>,
        order: &Order<'_>,
        intents: &mut dyn Intents,
    ) -> Result<Vec<Acted>, StoreError> {
        let all = part.all;
        let Some(first) = all.first() else { return Ok(Vec::new()) };
        let Some((watched, watch)) = watched::find(&self.reader.watched, &first.place.board) else {
            return Ok(all.iter().map(|_| moved(Moved::TablesChanged)).collect());
        };
        let act = match ordered(&watched.profile, &watch.board.name, order) {
            Ok(act) => act.clone(),
            Err(refusal) => return Ok(all.iter().map(|_| refused(refusal.clone())).collect()),
        };
        if !act.is_alone() {
            return Ok(Vec::new());
        }
        let table = watch.table.clone();
        let rests_on_its_row = rests_on_its_row(watch)
            && !self.reader.dependencies.reach_beyond(&watch.table.name, &RowEffect::of(&act));
        let hold = match rests_on_its_row {
            true if self.is_crowded => LockTiming::First,
            true => LockTiming::AsItGoes,
            false => LockTiming::Taken,
        };
        let looks = match hold {
            LockTiming::Taken => self.look_at_all(turn, all, order)?,
            LockTiming::First | LockTiming::AsItGoes => self.remember(turn, all, order),
        };
        let mut made = Made::new(self, turn, order, table, first, part.passed, intents);
        let mut eligible = Vec::new();
        for (at, look) in looks.into_iter().enumerate() {
            made.tried.push(match look {
                SecondLook::Eligible(fresh) => {
                    eligible.push((at, fresh));
                    None
                }
                SecondLook::Over(tried) => Some(tried),
            });
        }
        self.change_apart(&mut made, &eligible, &act, hold)?;
        if hold != LockTiming::Taken {
            self.explain_missed(&mut made, &eligible, &act)?;
        }
        let (tried, records) = made.ready();
        self.records = records;
        Ok(tried)
    }

    /// Locks what can be locked without waiting, and looks at that again.
    fn look_at_all(
        &mut self,
        turn: &Turn,
        all: &[&Seen],
        order: &Order<'_>,
    ) -> Result<Vec<SecondLook<'static>>, StoreError> {
        let Actor { reader, link, .. } = self;
        let said = |error: PgError| reader.options.sentence(&error, "looking at the claims");
        let Some(watch) = all.first().and_then(|first| look::at(&reader.watched, &first.place)) else {
            return Ok(all.iter().map(|_| SecondLook::Over(moved(Moved::TablesChanged))).collect());
        };
        let sessions = lock_sessions(link, watch, all).map_err(said)?;
        let mut fresh = look::lock_and_look(link, watch, all, turn.now).map_err(said)?;
        let address = |seen: &Seen| seen.judged.claim.key.address();
        let others: Vec<&Seen> =
            all.iter().copied().filter(|seen| !fresh.contains_key(&address(seen))).collect();
        let still_held = if others.is_empty() {
            HashSet::new()
        } else {
            held(link, watch, turn, &others).map_err(said)?
        };
        let look = |seen: &&Seen| {
            let Some(fresh) = fresh.remove(&address(seen)) else {
                let is_held = still_held.contains(&name(seen));
                return SecondLook::Over(moved(if is_held {
                    Moved::RowLocked
                } else {
                    Moved::NoLongerClaimed
                }));
            };
            let holder = fresh.judged.claim.holder.as_ref();
            if fresh.session.is_some() && !holder.is_some_and(|holder| sessions.contains(holder)) {
                return SecondLook::Over(moved(Moved::SessionLocked));
            }
            SecondLook::at(seen, Cow::Owned(fresh), order)
        };
        Ok(all.iter().map(look).collect())
    }

    /// The statement that changes them all and returns of each its number and these columns; none, if there is
    /// nothing to set.
    fn changing(
        &self,
        made: &Made<'_>,
        eligible: &[(usize, Cow<'_, Seen>)],
        act: &Act,
        hold: LockTiming,
        columns: &[(usize, &Column)],
    ) -> Option<Put> {
        let (_, first) = eligible.first()?;
        let watch = self.watch(first)?;
        let (from, params) = each(watch, eligible, act, made.order, made.turn);
        let (locked, from, conditions) = match hold {
            LockTiming::Taken => (String::new(), from, format!("{} AND {}", is_its(watch), is_as_seen())),
            LockTiming::AsItGoes => {
                (String::new(), from, format!("{} AND {}", is_where_seen(), is_its(watch)))
            }
            // A look at each by itself: no plan is as cheap as going where each row was.
            LockTiming::First => (
                format!(
                    "WITH claimtop_locked AS MATERIALIZED (SELECT claimtop_row.*, c.* FROM {from}, LATERAL \
                     (SELECT c.tableoid AS claimtop_part, c.ctid AS claimtop_place FROM {} AS c WHERE {} \
                      AND {} FOR UPDATE OF c SKIP LOCKED) AS c) ",
                    watch.table.sql,
                    is_where_seen(),
                    is_its(watch)
                ),
                "claimtop_locked AS claimtop_row".into(),
                "c.ctid = claimtop_row.claimtop_place AND c.tableoid = claimtop_row.claimtop_part".into(),
            ),
        };
        let rows = Guarded { table: &watch.table, alias: "c", from: &from, conditions: &conditions };
        let sql = guarded(&PostgresDialect, act, &rows, made.order.action.as_str()).ok()?;
        let columns = columns.iter().map(|(_, column)| format!(", c.{}::text", quoted(&column.name)));
        let returned = format!("claimtop_row.claimtop_n::text{}", columns.collect::<String>());
        Some(params.put_into(&format!("{locked}{sql} RETURNING {returned}")))
    }

    /// Changes all of them by one statement.
    fn change_all(
        &mut self,
        made: &mut Made<'_>,
        eligible: &[(usize, Cow<'_, Seen>)],
        act: &Act,
        hold: LockTiming,
    ) -> Result<(), PgError> {
        let (table, effect) = (made.table.clone(), RowEffect::of(act));
        let others = others(&table, &effect, &self.reader.dependencies);
        let Some(put) = self.changing(made, eligible, act, hold, &others) else { return Ok(()) };
        // What is left of a claim's row, and which claim it is.
        let left = |row: &Row| {
            let number = row.get(0)?.parse::<usize>().ok()?.checked_sub(1)?;
            let (at, fresh) = eligible.get(number)?;
            let now = |(at, (place, column)): (usize, &(usize, &Column))| {
                (*place, row.value(at + 1, &column.declared))
            };
            let after = (!act.delete).then(|| fresh.row.with(others.iter().enumerate().map(now)));
            Some((number, *at, fresh, after))
        };
        if !self.reader.dependencies.reach_beyond(&table.name, &effect) {
            let mut added = Ok(());
            self.ask_link(|link| {
                link.each_after(hold.opening(), &put.sql, &put.values(), |row| {
                    if let (Ok(()), Some((_, at, fresh, after))) = (&added, left(row)) {
                        added = made.add(at, fresh, after, Vec::new(), SideEffects::default());
                    }
                })
            })?;
            return added;
        }
        self.ask_link(|link| link.batch(hold.opening()))?;
        let before: Vec<&Image> = eligible.iter().map(|(_, fresh)| &fresh.row).collect();
        let cascade = self.cascade_of(&table, effect, &before)?;
        let rows = self.ask_link(|link| link.query(&put.sql, &put.values()))?;
        let mut afters = BTreeMap::new();
        for (number, _, _, after) in rows.iter().filter_map(left) {
            if afters.insert(number, after).is_some() {
                return Err(two_rows());
            }
        }
        let mut followed = self.after_cascade(cascade, &mut afters)?;
        let still_held = self.held_still(made, eligible)?;
        for (number, after) in afters {
            let (at, fresh) = &eligible[number];
            let followed = followed.remove(&number).unwrap_or_default();
            let target = ActTarget { table: &table, rowid: 0, row: &fresh.row };
            let effects = SideEffects::beside(&self.reader.boards(), &PostgresDialect, &target, &followed);
            let effects = SideEffects { still_held: still_held.contains(&name(fresh)), ..effects };
            made.add(*at, fresh, after, followed, effects)?;
        }
        Ok(())
    }

    /// Those of the claims that are held although they were just taken: a trigger may have put them back.
    fn held_still(
        &mut self,
        made: &Made<'_>,
        eligible: &[(usize, Cow<'_, Seen>)],
    ) -> Result<HashSet<Vec<Option<String>>>, PgError> {
        let Actor { reader, link, .. } = self;
        let all: Vec<&Seen> = eligible.iter().map(|(_, fresh)| &**fresh).collect();
        match all.first().and_then(|first| look::at(&reader.watched, &first.place)) {
            Some(watch)
                if made.order.action.frees() && reader.dependencies.has_triggers(&watch.table.name) =>
            {
                held(link, watch, made.turn, &all)
            }
            _ => Ok(HashSet::new()),
        }
    }
}

/// Two rows for one claim: neither may be.
fn two_rows() -> PgError {
    PgError::server("21000", "an id is not the name of one row alone")
}

/// The columns that may not be what they were, each with its place in an image. What triggers do to a row only
/// its columns tell, all of them.
fn others<'a>(table: &'a Table, effect: &RowEffect, dependencies: &Dependencies) -> Vec<(usize, &'a Column)> {
    let may_change = |column: &Column| match effect {
        RowEffect::Deleted => false,
        RowEffect::Changed(set) => {
            let is_set = set.iter().any(|name| table.column(name).is_some_and(|set| set.name == column.name));
            is_set
                || dependencies.stamps(&table.name, &column.name)
                || dependencies.reach_beyond(&table.name, effect)
        }
    };
    table.written().enumerate().filter(|(_, column)| may_change(column)).collect()
}

/// When the rows are locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LockTiming {
    /// They are.
    Taken,
    /// By the statement that changes them, those first that can be without waiting.
    First,
    /// As they are changed; one that somebody else holds is waited for, but hardly longer than it takes to
    /// renew a claim.
    AsItGoes,
}

/// What a second look came to.
#[allow(clippy::large_enum_variant, reason = "nearly all are eligible, and seldom looked at anew")]
enum SecondLook<'a> {
    Eligible(Cow<'a, Seen>),
    Over(Acted),
}

impl<'a> SecondLook<'a> {
    /// By what was seen, and what is there now.
    fn at(seen: &Seen, fresh: Cow<'a, Seen>, order: &Order<'_>) -> SecondLook<'a> {
        if let Some(what) = seen.moved(&fresh) {
            return SecondLook::Over(moved(what));
        }
        let judged = &fresh.judged;
        match permit(order.action, &judged.claim, &judged.verdict, fresh.conclusion, order.authorization) {
            Ok(()) => SecondLook::Eligible(fresh),
            Err(refusal) => SecondLook::Over(refused(refusal)),
        }
    }
}

fn moved(what: Moved) -> Acted {
    Acted::nothing(Outcome::Moved(what))
}

fn refused(why: Refusal) -> Acted {
    Acted::nothing(Outcome::Refused(why))
}
