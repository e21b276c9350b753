//! Many acts in one short transaction: rows that others hold are passed over, the rest is locked, read and compared at
//! once, and written by one statement for all rows that get the same values.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::actor::Actor;
use super::keys;
use super::row_counts::RowCounts;
use crate::domain::recovery::{Moved, Outcome, Refusal, permit};
use crate::domain::value::Value;
use crate::profile::format::Act;
use crate::store::StoreError;
use crate::store::act::{Acted, Intents, Note, Order, Pending, numbered, ordered};
use crate::store::driver::{BatchPart, Connection as _, Dialect, Driver, Failed, QueryRows as _, Row, Turn};
use crate::store::found::RowRef;
use crate::store::image::{Change, Image};
use crate::store::image_sql;
use crate::store::named_params::NamedParams;
use crate::store::schema::{Table, quoted};
use crate::store::seen::Seen;
use crate::store::statements::{RowEffect, shared_values, values};

/// Claims that one transaction takes at most.
pub(super) const MOST: usize = 500;

const ACTING: &str = "acting";

/// The values that differ from claim to claim.
const OWN: [&str; 8] = [":by", ":until", ":ttl_minutes", ":max_attempts", ":why", ":id", ":holder", ":kind"];

/// A claim that may be changed, by its place in the batch.
struct Eligible {
    at: usize,
    fresh: Seen,
    place: RowRef,
}

/// Rows that get the same values.
type SameValues = Vec<(Vec<Value>, Vec<usize>)>;

impl Actor {
    /// Changes all claims of a batch at once, if the act is a single statement that reaches no other rows; nothing, if
    /// they have to be done one by one.
    pub(super) fn act_at_once(
        &mut self,
        turn: &Turn,
        part: &BatchPart<'_, '_>,
        order: &Order<'_>,
        intents: &mut dyn Intents,
    ) -> Result<Vec<Acted>, StoreError> {
        let Some((act, table)) = self.simple_act(part, order) else { return Ok(Vec::new()) };
        self.on_link().run(ACTING, "SAVEPOINT claimtop_batch")?;
        let before = self.asked(ACTING, RowCounts::read)?;
        let (mut tried, eligible) = self.look_at_all(turn, part, order)?;
        let changes = self.change_all(&table, &act, &eligible, order, turn)?;
        let written = self.asked(ACTING, RowCounts::read)?.since(before);
        let named: Vec<Change> = changes.iter().flatten().cloned().collect();
        if written.exceeds(RowCounts::of(&named, |table| self.dependencies.counted(table))) {
            // Each by itself is told why it is not done.
            self.on_link().run(ACTING, "ROLLBACK TO claimtop_batch")?;
            return Ok(Vec::new());
        }
        let is_audited = self.audit_table().is_some();
        for (Eligible { at, fresh, .. }, change) in eligible.iter().zip(changes) {
            let Some(change) = change else { continue };
            let (number, changes) = (part.number(*at), vec![change]);
            let pending = Pending {
                seen: fresh,
                address: fresh.address(),
                changes: &changes,
                db_at: turn.now,
                transaction: turn.transaction.as_deref(),
            };
            intents.add(number, &pending);
            if is_audited {
                let (action, authorization) = (order.action.as_str(), order.authorization);
                let note = Note { action, address: &pending.address, authorization, changes: &changes };
                self.records.push((numbered(order.action_id, number), note.text()));
            }
            tried[*at] = Some(Acted { changes, ..Acted::nothing(Outcome::Applied) });
        }
        let missed = || Acted::nothing(Outcome::Moved(Moved::AtTheLastMoment));
        Ok(tried.into_iter().map(|tried| tried.unwrap_or_else(missed)).collect())
    }

    /// The act and its table, unless it needs a second look at each claim: it does more than change the one row.
    fn simple_act(&self, part: &BatchPart<'_, '_>, order: &Order<'_>) -> Option<(Act, Table)> {
        let first = part.all.first()?;
        let driver: &dyn Driver = self;
        let at = driver.board(&first.place.board)?;
        let act = ordered(at.profile, &at.board().name, order).ok()?;
        let table = self.reader.schema.table(&at.board().table)?;
        let effect = RowEffect::of(act);
        let is_simple = act.is_alone()
            && act.blocked_by.is_none()
            && !order.dry_run
            && table.expect_safe_for_acts().is_ok()
            && self.expect_safe_audit_table().is_ok()
            && !effect.renames(table)
            && (act.delete || !act.set.is_empty())
            && !self.dependencies.has_triggers(&table.name)
            && !self.dependencies.passes_on(&table.name, &effect);
        is_simple.then(|| (act.clone(), table.clone()))
    }

    /// Locks what can be locked without waiting, and looks at that again: what is over for a claim, and the others.
    fn look_at_all(
        &mut self,
        turn: &Turn,
        part: &BatchPart<'_, '_>,
        order: &Order<'_>,
    ) -> Result<(Vec<Option<Acted>>, Vec<Eligible>), Failed> {
        let board = part.all.first().map(|first| first.place.board.clone());
        let sessions = self.lock_sessions(part.all)?;
        let mut look = self.look(turn.now);
        let Some(watch) = board.and_then(|board| look.board(&board)) else {
            let moved = || Some(Acted::nothing(Outcome::Moved(Moved::TablesChanged)));
            return Ok((part.all.iter().map(|_| moved()).collect(), Vec::new()));
        };
        let bound = watch.bound();
        let places: Vec<Option<RowRef>> =
            part.all.iter().map(|seen| keys::place_of(&bound.key, &seen.row)).collect();
        // In the order of their keys, so that nobody who does the same waits in a circle.
        let mut wanted: Vec<RowRef> = places.iter().flatten().cloned().collect();
        wanted.sort();
        let mut params = NamedParams::default();
        let among = look.connection.dialect().is_among(bound, &wanted, &mut params);
        let key: Vec<String> = bound.key.iter().map(|name| format!("c.{}", quoted(name))).collect();
        let sql =
            format!("SELECT {} FROM {} WHERE {among} FOR UPDATE SKIP LOCKED", key.join(", "), bound.from);
        let locked = look.connection.all("locking the claims", &sql, &params, |row| {
            let values = (0..key.len()).map(|at| row.value(at, ""));
            keys::place_of(&bound.key, &Image::new(&bound.key, values))
        })?;
        let locked: HashSet<RowRef> = locked.into_iter().flatten().collect();
        let there: Vec<RowRef> = wanted.into_iter().filter(|place| locked.contains(place)).collect();
        let address = |seen: &Seen| seen.judged.claim.key.address();
        let mut fresh: HashMap<String, Seen> =
            look.seen_among(watch, &there)?.into_iter().map(|seen| (address(&seen), seen)).collect();
        let (mut tried, mut eligible) = (Vec::new(), Vec::new());
        for (at, (seen, place)) in part.all.iter().zip(places).enumerate() {
            let outcome = match (fresh.remove(&address(seen)), place) {
                (Some(fresh), Some(place)) => match second_look(seen, &fresh, &sessions, order) {
                    None => {
                        eligible.push(Eligible { at, fresh, place });
                        None
                    }
                    over => over,
                },
                (_, Some(place)) if locked.contains(&place) => Some(Outcome::Moved(Moved::NoLongerClaimed)),
                _ => Some(Outcome::Moved(Moved::RowLocked)),
            };
            tried.push(outcome.map(Acted::nothing));
        }
        Ok((tried, eligible))
    }

    /// The sessions of the claims, locked, less those that somebody else holds.
    fn lock_sessions(&mut self, all: &[&Seen]) -> Result<HashSet<String>, Failed> {
        let lock = self.dialect.shared_locks();
        let driver: &dyn Driver = self;
        let at = all.first().and_then(|first| driver.board(&first.place.board));
        let Some(registry) = at.and_then(|at| at.board().registry.as_ref()) else {
            return Ok(HashSet::new());
        };
        let mut holders: Vec<&str> =
            all.iter().filter_map(|seen| seen.judged.claim.holder.as_deref()).collect();
        holders.sort_unstable();
        holders.dedup();
        if holders.is_empty() {
            return Ok(HashSet::new());
        }
        let mut params = NamedParams::default();
        let mut places = Vec::new();
        for (at, holder) in holders.into_iter().enumerate() {
            params.add(&format!("holder{at}"), &registry.id.declared, Some(holder));
            places.push(format!(":holder{at}"));
        }
        let (from, id) = (&registry.from, &registry.id.text);
        let sql = format!("SELECT {id} FROM {from} WHERE {id} IN ({}) ORDER BY 1 {lock}", places.join(", "));
        let found = self.on_link().all("locking the sessions", &sql, &params, |row| row.text(0))?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Writes all of them; what is left of each, or nothing if it is not what was seen after all.
    fn change_all(
        &mut self,
        table: &Table,
        act: &Act,
        eligible: &[Eligible],
        order: &Order<'_>,
        turn: &Turn,
    ) -> Result<Vec<Option<Change>>, Failed> {
        let mut changes: Vec<Option<Change>> = eligible.iter().map(|_| None).collect();
        for (values, some) in self.evaluate_all(table, act, eligible, order, turn)? {
            let places: Vec<RowRef> = some.iter().map(|at| eligible[*at].place.clone()).collect();
            let Some(is_among) = self.among(&eligible[some[0]].fresh, &places) else { continue };
            let (among, mut params) = is_among;
            let sql = if act.delete {
                self.dialect.delete_one(table, &among)
            } else {
                let mut set = Vec::new();
                for (number, (column, value)) in act.set.keys().zip(values).enumerate() {
                    let declared = table.column(column).map_or("", |column| column.declared.as_str());
                    params.add_value(&format!("set{number}"), declared, value);
                    set.push(format!("{} = :set{number}", quoted(column)));
                }
                format!("UPDATE {} AS c SET {} WHERE {among}", table.sql, set.join(", "))
            };
            let found = self.on_link().execute(ACTING, &sql, &params)?;
            if found != some.len() as u64 {
                let (source_name, doing) = (self.reader.options.name(), ACTING.into());
                let said = format!("{found} rows were found where {} are locked", some.len());
                return Err(StoreError::Server { source_name, said, doing }.into());
            }
            for at in some {
                let row = eligible[at].fresh.row.clone();
                changes[at] = Some(Change::of(table, Some(row), None));
            }
        }
        if !act.delete {
            self.read_after(table, eligible, &mut changes)?;
        }
        Ok(changes)
    }

    /// What the changed rows are now.
    fn read_after(
        &mut self,
        table: &Table,
        eligible: &[Eligible],
        changes: &mut [Option<Change>],
    ) -> Result<(), Failed> {
        let changed: Vec<&Eligible> = eligible
            .iter()
            .zip(changes.iter())
            .filter(|(_, change)| change.is_some())
            .map(|(one, _)| one)
            .collect();
        let places: Vec<RowRef> = changed.iter().map(|one| one.place.clone()).collect();
        let Some((among, params)) = changed.first().and_then(|first| self.among(&first.fresh, &places))
        else {
            return Ok(());
        };
        let columns = image_sql::columns(self.dialect, table, "c");
        let sql = format!("SELECT {columns} FROM {} AS c WHERE {among}", table.sql);
        let rows = self.on_link().all(ACTING, &sql, &params, |row| image_sql::read(table, row, 0))?;
        let mut after: HashMap<RowRef, Image> =
            rows.into_iter().filter_map(|row| Some((keys::place_of(&table.key, &row)?, row))).collect();
        for (one, change) in eligible.iter().zip(changes.iter_mut()) {
            if let Some(change) = change {
                change.after = after.remove(&one.place);
            }
        }
        Ok(())
    }

    /// The values that each row gets, by the rows that get the same; only of rows that are what was seen.
    fn evaluate_all(
        &mut self,
        table: &Table,
        act: &Act,
        eligible: &[Eligible],
        order: &Order<'_>,
        turn: &Turn,
    ) -> Result<SameValues, Failed> {
        let has_own = act.set.values().any(|sql| OWN.iter().any(|name| sql.contains(name)));
        // Where a value is a claim's own, it is asked for by itself.
        let parts: Vec<Vec<usize>> = match has_own {
            true => (0..eligible.len()).map(|at| vec![at]).collect(),
            false if eligible.is_empty() => Vec::new(),
            false => vec![(0..eligible.len()).collect()],
        };
        let columns = image_sql::columns(self.dialect, table, "c");
        let selected: String = act.set.values().map(|sql| format!(", ({sql}\n)")).collect();
        let width = table.names.len();
        let mut groups: SameValues = Vec::new();
        for part in parts {
            let places: Vec<RowRef> = part.iter().map(|at| eligible[*at].place.clone()).collect();
            let fresh = &eligible[part[0]].fresh;
            let Some((among, mut params)) = self.among(fresh, &places) else { continue };
            params.extend(self.values_of(fresh, order, turn, has_own));
            let sql =
                format!("SELECT {columns}{selected} FROM {} AS c WHERE {among} FOR UPDATE NOWAIT", table.sql);
            let read = |row: &dyn Row| {
                let values: Vec<Value> = (0..act.set.len()).map(|at| row.value(width + at, "")).collect();
                (image_sql::read(table, row, 0), values)
            };
            let rows = self.on_link().all(ACTING, &sql, &params, read)?;
            let mut by_place: BTreeMap<RowRef, (Image, Vec<Value>)> = rows
                .into_iter()
                .filter_map(|(image, values)| Some((keys::place_of(&table.key, &image)?, (image, values))))
                .collect();
            for at in part {
                let Some((image, values)) = by_place.remove(&eligible[at].place) else { continue };
                if image != eligible[at].fresh.row {
                    continue;
                }
                match groups.iter_mut().find(|(known, _)| *known == values) {
                    Some((_, some)) => some.push(at),
                    None => groups.push((values, vec![at])),
                }
            }
        }
        Ok(groups)
    }

    /// The values that the act's expressions may name, for one claim or for all.
    fn values_of(&self, fresh: &Seen, order: &Order<'_>, turn: &Turn, has_own: bool) -> NamedParams {
        let driver: &dyn Driver = self;
        let Some(at) = driver.board(&fresh.place.board) else { return NamedParams::default() };
        match has_own {
            true => values(self.dialect, at.board(), fresh, order),
            false => shared_values(self.dialect, at.board(), order, turn.now),
        }
    }

    /// That a row of the board of a claim, as `c`, is at one of these places.
    fn among(&self, seen: &Seen, places: &[RowRef]) -> Option<(String, NamedParams)> {
        let driver: &dyn Driver = self;
        let at = driver.board(&seen.place.board)?;
        let mut params = NamedParams::default();
        let among = self.dialect.is_among(at.board(), places, &mut params);
        Some((among, params))
    }

    /// Writes what the table of records keeps of the batch.
    pub(super) fn write_records(&mut self, turn: &Turn) -> Result<(), Failed> {
        let records = std::mem::take(&mut self.records);
        let Some(table) = self.audit_table() else { return Ok(()) };
        for some in records.chunks(100) {
            let mut params = NamedParams::default();
            params.add("at", "", Some(turn.now.rfc3339()));
            let mut rows = Vec::new();
            for (number, (id, record)) in some.iter().enumerate() {
                params.add(&format!("id{number}"), "", Some(id.as_str()));
                params.add(&format!("record{number}"), "", Some(record.as_str()));
                rows.push(format!("(:id{number}, :at, :record{number})"));
            }
            let sql = format!("INSERT INTO {} (action_id, at, record) VALUES {}", table.sql, rows.join(", "));
            self.on_link().execute("writing the record", &sql, &params)?;
        }
        Ok(())
    }
}

/// What is over for a claim, by what was seen of it and what is there now.
fn second_look(seen: &Seen, fresh: &Seen, sessions: &HashSet<String>, order: &Order<'_>) -> Option<Outcome> {
    let holder = fresh.judged.claim.holder.as_ref();
    if fresh.session.is_some() && !holder.is_some_and(|holder| sessions.contains(holder)) {
        return Some(Outcome::Moved(Moved::SessionLocked));
    }
    if let Some(what) = seen.moved(fresh) {
        return Some(Outcome::Moved(what));
    }
    let judged = &fresh.judged;
    let permitted =
        permit(order.action, &judged.claim, &judged.verdict, fresh.conclusion, order.authorization);
    permitted.err().map(|refusal: Refusal| Outcome::Refused(refusal))
}
