//! Many acts in one short transaction: rows that others hold are passed over, the rest is changed by one
//! statement that carries what was seen of each.

mod apart;
mod leading;
mod unlocked;

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use self::apart::Changed;
use self::leading::{Lead, Leading};
use super::act::{guarded, lot, written};
use super::actor::{Actor, BEING_CHANGED, SESSION_BEING_CHANGED, Turn};
use super::audit_table;
use super::error::PgError;
use super::image;
use super::link::Link;
use super::look;
use super::many::{each, held, lock_sessions, name};
use crate::domain::recovery::{Outcome, permit};
use crate::profile::format::Act;
use crate::store::StoreError;
use crate::store::act::{
    AT_THE_LAST_MOMENT, Acted, Batch, Collect, Flush, NO_LONGER_CLAIMED, Note, Order, Pending,
    TABLES_CHANGED, Tried, numbered,
};
use crate::store::image::{Change, Image, RowAt};
use crate::store::seen::Seen;

impl Actor {
    /// Does the order to claims of one board, as many as fit into one short transaction, at least one.
    pub fn act_batch(
        &mut self,
        all: &[&Seen],
        order: &Order<'_>,
        _: Duration,
        collect: &mut Collect<'_>,
        flush: &mut Flush<'_>,
    ) -> Result<Batch, StoreError> {
        let turn = self.begin()?;
        let began = Instant::now();
        let tried = self.leading(&turn, all).and_then(|leading| match leading {
            Lead::Take(leading) => {
                let tried = self.try_all(&turn, &leading, order, collect)?;
                Ok(Ok((tried, leading.left.iter().filter(|left| **left).count())))
            }
            Lead::GoTo(place) => Ok(Err(place)),
        });
        let (tried, asked) = match tried {
            Ok(Ok((tried, asked))) => (self.commit_all(&turn, order, tried, flush), asked),
            Ok(Err(place)) => {
                let _ = self.run(Link::rollback);
                return Ok(Batch { tried: Vec::new(), held: None, log: None, go_to: Some(place) });
            }
            Err(error) => {
                // A connection that is gone has taken everything back.
                let _ = self.run(Link::rollback);
                return Err(error);
            }
        };
        let gone = tried.iter().filter(|tried| tried.outcome.why().is_some_and(is_gone)).count();
        // Those that were known to be gone have cost next to nothing.
        let passed = tried.len() - asked;
        self.stride = self.stride.after(began.elapsed(), asked, gone - passed.min(gone));
        Ok(Batch { tried, held: None, log: None, go_to: None })
    }

    fn try_all(
        &mut self,
        turn: &Turn,
        leading: &Leading<'_, '_>,
        order: &Order<'_>,
        collect: &mut Collect<'_>,
    ) -> Result<Vec<Tried>, StoreError> {
        let all = leading.all;
        let Some(first) = all.first() else { return Ok(Vec::new()) };
        let Some(watch) = self.watch(first) else {
            return Ok(all.iter().map(|_| moved(TABLES_CHANGED)).collect());
        };
        let profile = &self.reader.watched[first.place.profile].profile;
        let act = match written(profile, watch, order.action) {
            Ok(act) => act.clone(),
            Err(refusal) => return Ok(all.iter().map(|_| refused(&refusal)).collect()),
        };
        let alone = act.before.is_empty() && act.also.is_empty() && act.blocked_by.is_none();
        if !alone {
            return self.one_by_one(turn, leading, order, collect);
        }
        let hold =
            if watch.rests_on_its_row() && !self.reader.ties.reach_beyond(&watch.table.name, &lot(&act)) {
                Hold::ToTake
            } else {
                Hold::Taken
            };
        let looks = match hold {
            Hold::ToTake => self.remember(turn, leading, order),
            Hold::Taken => self.look_at_all(turn, leading, order)?,
        };
        let (mut results, mut eligible) = (Vec::new(), Vec::new());
        for (at, look) in looks.into_iter().enumerate() {
            results.push(match look {
                Look::Eligible(fresh) => {
                    eligible.push((at, *fresh));
                    None
                }
                Look::Over(tried) => Some(tried),
            });
        }
        let mut changed = self.change_apart(turn, &eligible, &act, order, hold)?;
        if hold == Hold::ToTake {
            self.explain_missed(turn, &eligible, order, &mut changed)?;
        }
        let mut eligible = eligible.into_iter();
        let (profile, board) = self.names(first);
        let table = self.watch(first).map(|watch| watch.table.name.clone()).unwrap_or_default();
        let has_audit_table = self.has_audit_table();
        let mut notes = Vec::new();
        let mut tried = Vec::new();
        for result in results {
            if let Some(over) = result {
                tried.push(over);
                continue;
            }
            let Some((at, mut fresh)) = eligible.next() else { continue };
            let (key, after, followed) = match changed.remove(&at) {
                Some(Changed::To { key, after, followed }) => (key, after, followed),
                Some(Changed::Not(over)) => {
                    tried.push(over);
                    continue;
                }
                None => {
                    tried.push(moved(AT_THE_LAST_MOMENT));
                    continue;
                }
            };
            let before = Some(std::mem::replace(&mut fresh.row, Image(Vec::new())));
            let mut changes = vec![Change { table: table.clone(), at: key, before, after }];
            changes.extend(followed);
            let pending = Pending {
                profile: &profile,
                board: &board,
                address: self.address(&fresh),
                changes: &changes,
                db_at: turn.now,
                transaction: Some(turn.transaction.clone()),
                seen: &fresh,
            };
            collect(at + 1, &pending);
            if has_audit_table {
                let (action, address, word) = (order.action.as_str(), &pending.address, order.word);
                let note = audit_table::text(&Note { action, address, word, changes: &changes });
                let note = note.map_err(|error| self.sentence(&error, "writing the record"))?;
                notes.push((numbered(order.action_id, at + 1), note));
            }
            tried.push(Tried { outcome: Outcome::Applied, changes });
        }
        if !notes.is_empty() {
            let at = turn.now.rfc3339();
            let written = self.run(|link| audit_table::insert_all(link, &at, &notes));
            written.map_err(|error| self.sentence(&error, "writing the record"))?;
        }
        Ok(tried)
    }

    /// Locks what can be locked without waiting, and looks at that again.
    fn look_at_all(
        &mut self,
        turn: &Turn,
        leading: &Leading<'_, '_>,
        order: &Order<'_>,
    ) -> Result<Vec<Look>, StoreError> {
        let Leading { all, left } = leading;
        let Actor { reader, link: Some(link), .. } = self else {
            return Ok(all.iter().map(|_| Look::Over(moved(TABLES_CHANGED))).collect());
        };
        let said = |error: PgError| reader.options.sentence(&error, "looking at the claims");
        let Some(watch) = all.first().and_then(|first| look::at(&reader.watched, first.place)) else {
            return Ok(all.iter().map(|_| Look::Over(moved(TABLES_CHANGED))).collect());
        };
        let wanted: Vec<&Seen> =
            all.iter().zip(left).filter(|(_, is_left)| **is_left).map(|(seen, _)| *seen).collect();
        let sessions = lock_sessions(link, watch, &wanted).map_err(said)?;
        let mut fresh = look::lock_and_look(link, watch, &wanted, turn.now).map_err(said)?;
        let address = |seen: &Seen| seen.judged.claim.key.address();
        let others: Vec<&Seen> =
            wanted.into_iter().filter(|seen| !fresh.contains_key(&address(seen))).collect();
        let still_held = if others.is_empty() {
            HashSet::new()
        } else {
            held(link, watch, turn, &others).map_err(said)?
        };
        let look = |(seen, is_left): (&&Seen, &bool)| {
            if !is_left {
                return Look::Over(moved(NO_LONGER_CLAIMED));
            }
            let Some(fresh) = fresh.remove(&address(seen)) else {
                let is_held = still_held.contains(&name(seen));
                return Look::Over(moved(if is_held { BEING_CHANGED } else { NO_LONGER_CLAIMED }));
            };
            let holder = fresh.judged.claim.holder.as_ref();
            if fresh.session.is_some() && !holder.is_some_and(|holder| sessions.contains(holder)) {
                return Look::Over(moved(SESSION_BEING_CHANGED));
            }
            Look::at(seen, fresh, order)
        };
        Ok(all.iter().zip(left).map(look).collect())
    }

    /// One statement for all of them; what is left of each, by its number.
    fn change_all(
        &mut self,
        turn: &Turn,
        eligible: &[(usize, Seen)],
        act: &Act,
        order: &Order<'_>,
        hold: Hold,
    ) -> Result<BTreeMap<usize, Changed>, PgError> {
        let mut left = BTreeMap::new();
        let Some((_, first)) = eligible.first() else { return Ok(left) };
        let zone = self.zone().to_owned();
        let Some(watch) = self.watch(first) else { return Ok(left) };
        let (from, words) = each(watch, eligible, act, order, turn, &zone);
        let key: Vec<String> = watch
            .board
            .id
            .iter()
            .zip(&watch.board.id_types)
            .enumerate()
            .map(|(at, (id, kind))| format!("({id}) = claimtop_row.claimtop_key{at}::{kind}"))
            .collect();
        let seen = format!("{} AND c.xmin::text = claimtop_row.claimtop_version", key.join(" AND "));
        let (locked, from, conditions) = match hold {
            Hold::Taken => (String::new(), from, seen),
            Hold::ToTake => (
                format!(
                    "WITH claimtop_locked AS MATERIALIZED (SELECT claimtop_row.*, c.tableoid AS claimtop_part, \
                     c.ctid AS claimtop_place FROM {from} JOIN {} AS c ON {seen} FOR UPDATE OF c SKIP LOCKED) ",
                    watch.table.sql
                ),
                "claimtop_locked AS claimtop_row".into(),
                "c.ctid = claimtop_row.claimtop_place AND c.tableoid = claimtop_row.claimtop_part".into(),
            ),
        };
        let sql = match guarded(act, &watch.table, "c", &from, &conditions, order.action.as_str()) {
            Ok(sql) => format!("{locked}{sql}, claimtop_row.claimtop_n::text"),
            // Nothing to set: none of them is changed.
            Err(_) => return Ok(left),
        };
        let table = watch.table.clone();
        let mut wake = None;
        let put = words.put_into(&sql);
        let lot = lot(act);
        let rows = if self.reader.ties.reach_beyond(&table.name, &lot) {
            self.run(|link| link.batch(apart::BEFORE_ROWS))?;
            let before: Vec<&Image> = eligible.iter().map(|(_, fresh)| &fresh.row).collect();
            wake = self.wake_of(&table, lot, &before)?;
            self.run(|link| link.query(&put.sql, &put.values()))?
        } else {
            self.run(|link| link.query_after(apart::BEFORE_ROWS, &put.sql, &put.values()))?
        };
        let width = table.written().count();
        let mut afters = BTreeMap::new();
        for row in &rows {
            let Some(number) = row.get(width).and_then(|text| text.parse::<usize>().ok()) else { continue };
            let after = (!act.delete).then(|| image::read(&table, row, 0));
            // Two rows for one claim: neither may be.
            if afters.insert(number, after).is_some() {
                return Err(PgError::server("21000", "an id is not the name of one row alone"));
            }
        }
        let mut followed = self.after_wake(wake, &mut afters)?;
        for (number, after) in afters {
            let Some((at, fresh)) = eligible.get(number) else { continue };
            let key = RowAt::Key(image::key(&table, after.as_ref().unwrap_or(&fresh.row)));
            let followed = followed.remove(&number).unwrap_or_default();
            left.insert(*at, Changed::To { key, after, followed });
        }
        Ok(left)
    }

    /// Acts that are more than one statement, each so that it can be taken back without the others.
    fn one_by_one(
        &mut self,
        turn: &Turn,
        leading: &Leading<'_, '_>,
        order: &Order<'_>,
        collect: &mut Collect<'_>,
    ) -> Result<Vec<Tried>, StoreError> {
        let mut tried = Vec::new();
        for (at, (seen, is_left)) in leading.all.iter().zip(&leading.left).enumerate() {
            if !is_left {
                tried.push(moved(NO_LONGER_CLAIMED));
                continue;
            }
            let id = numbered(order.action_id, at + 1);
            let order = Order { action_id: &id, ..order.clone() };
            let acted = self.apart(|actor| {
                actor.act_inside(turn, seen, &order, &mut |pending| {
                    collect(at + 1, pending);
                    Ok(())
                })
            })?;
            tried.push(Tried::of(acted));
        }
        Ok(tried)
    }

    fn commit_all(
        &mut self,
        turn: &Turn,
        order: &Order<'_>,
        tried: Vec<Tried>,
        flush: &mut Flush<'_>,
    ) -> Vec<Tried> {
        let any = tried.iter().any(|acted| acted.outcome == Outcome::Applied);
        if !any {
            let _ = self.run(Link::rollback);
            return tried;
        }
        if let Err(problem) = flush() {
            let _ = self.run(Link::rollback);
            let refused = || Outcome::Refused(format!("the record could not be written: {problem}"));
            return tried.into_iter().map(|acted| acted.unless_applied(refused())).collect();
        }
        match self.run(Link::commit) {
            Ok(()) => tried,
            Err(error) => {
                // All of them share one fate; the transaction tells it.
                let first = numbered(order.action_id, 1);
                let done = tried.iter().find(|acted| acted.outcome == Outcome::Applied);
                let changes = done.map(|acted| acted.changes.as_slice()).unwrap_or_default();
                let outcome = self.became_of(&error, &first, Some(&turn.transaction), changes);
                match outcome {
                    Outcome::Applied => tried,
                    other => tried.into_iter().map(|acted| acted.unless_applied(other.clone())).collect(),
                }
            }
        }
    }
}

/// Whether the rows are locked already, or by the statement that changes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    Taken,
    ToTake,
}

/// What a second look came to.
enum Look {
    Eligible(Box<Seen>),
    Over(Tried),
}

impl Look {
    /// By what was seen, and what is there now.
    fn at(seen: &Seen, fresh: Seen, order: &Order<'_>) -> Look {
        if let Some(what) = seen.moved(&fresh) {
            return Look::Over(moved(&what));
        }
        let judged = &fresh.judged;
        match permit(order.action, &judged.claim, &judged.verdict, fresh.conclusion, order.word) {
            Ok(()) => Look::Eligible(Box::new(fresh)),
            Err(refusal) => Look::Over(refused(&refusal)),
        }
    }
}

fn moved(what: &str) -> Tried {
    Tried::of(Acted::nothing(Outcome::Moved(what.into())))
}

fn refused(why: &str) -> Tried {
    Tried::of(Acted::nothing(Outcome::Refused(why.into())))
}

/// Whether it was somebody else's doing that there is nothing left to do.
fn is_gone(why: &str) -> bool {
    matches!(why, BEING_CHANGED | NO_LONGER_CLAIMED)
}
