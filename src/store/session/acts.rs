//! What is done with a session as a whole: seen with everything it holds, rehearsed, ended.
//!
//! The end is an act like any other: the registry's row must be exactly what was seen, nothing may
//! be held by it any more, and one row is changed or none.

use super::{END, Ends, Holding, Registered};
use crate::domain::board_id::BoardId;
use crate::domain::recovery::{Action, Authorization, Moved, Outcome, permit_end};
use crate::domain::value::Value;
use crate::profile::format::Role;
use crate::store::act::{Acted, ChangeRecorder, Note, Order, unrecorded};
use crate::store::actor::Actor;
use crate::store::bound::{BoundBoard, BoundRegistry};
use crate::store::driver::{ActTarget, Dialect, Failed, QueryRows, Row, Turn};
use crate::store::holders;
use crate::store::image_sql;
use crate::store::look::Look;
use crate::store::named_params::NamedParams;
use crate::store::protocol::unless_locked;
use crate::store::seen::{Place, Seen};
use crate::store::statements::Statements;
use crate::store::watched::BoardAt;
use crate::store::{StoreError, suspend::uninterrupted};

const LOOKING: &str = "looking at the session";

/// Whether the end of a session stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndManner {
    ForGood,
    Rehearsal,
}

impl Actor {
    /// A session and all it holds, on every board of every profile.
    pub fn held_by(&mut self, session: &str) -> Result<Holding, StoreError> {
        let _uninterrupted = uninterrupted();
        self.examine_and_look(LOOKING, |look| held_by(look, session))
    }

    /// Ends exactly the session that was seen, if it holds nothing any more.
    pub fn end_session(
        &mut self,
        seen: &Registered,
        authorization: &Authorization,
        action_id: &str,
        record: &mut ChangeRecorder<'_>,
    ) -> Result<Acted, StoreError> {
        let _uninterrupted = uninterrupted();
        let turn = self.driver.begin()?;
        let acted = self.end_inside(&turn, seen, authorization, EndManner::ForGood).and_then(|acted| {
            if acted.outcome != Outcome::Applied {
                return Ok(acted);
            }
            if let Err(problem) = record(&acted) {
                return Ok(Acted::nothing(unrecorded(&problem)));
            }
            let note = Note { action: END, address: &seen.address(), authorization, changes: &acted.changes };
            self.note(action_id, turn.now, &note)?;
            Ok(acted)
        });
        self.end(acted, action_id, false)
    }

    /// What a release of the session would do, claim by claim and then to its own rows. All of it
    /// happens in one transaction that is taken back, for its end is possible only after the rest.
    pub fn rehearse_session(
        &mut self,
        holding: &Holding,
        authorization: &Authorization,
    ) -> Result<(Vec<Acted>, Vec<Acted>), StoreError> {
        let _uninterrupted = uninterrupted();
        let turn = self.driver.begin()?;
        let rehearsed = self.rehearse_inside(&turn, holding, authorization);
        let ended = self.driver.rollback();
        rehearsed.and_then(|acted| ended.map(|()| acted))
    }

    fn rehearse_inside(
        &mut self,
        turn: &Turn,
        holding: &Holding,
        authorization: &Authorization,
    ) -> Result<(Vec<Acted>, Vec<Acted>), StoreError> {
        let (mut released, mut ended) = (Vec::new(), Vec::new());
        for seen in &holding.claims {
            let order = Order { action: Action::Release, authorization, action_id: "", dry_run: true };
            released.push(self.apart(|actor| actor.act_inside(turn, seen, &order, &mut |_| Ok(())))?);
        }
        for session in &holding.registered {
            let end =
                |actor: &mut Actor| actor.end_inside(turn, session, authorization, EndManner::Rehearsal);
            ended.push(self.apart(end)?);
        }
        Ok((released, ended))
    }

    fn end_inside(
        &mut self,
        turn: &Turn,
        seen: &Registered,
        authorization: &Authorization,
        manner: EndManner,
    ) -> Result<Acted, StoreError> {
        unless_locked(self.end_step_by_step(turn, seen, authorization, manner))
    }

    /// The steps of the safety protocol for a session's own row.
    fn end_step_by_step(
        &mut self,
        turn: &Turn,
        seen: &Registered,
        authorization: &Authorization,
        manner: EndManner,
    ) -> Result<Acted, Failed> {
        let moved = |what: Moved| Ok(Acted::nothing(Outcome::Moved(what)));
        if self.driver.board(&seen.place.board).is_none() {
            return moved(Moved::TablesChanged);
        }
        if let Some(Err(refusal)) = self.driver.table(&seen.table).map(|table| table.expect_safe_for_acts()) {
            return Ok(Acted::nothing(Outcome::Refused(refusal)));
        }
        let mut look = self.driver.look(turn.now);
        lock(&mut look, seen)?;
        let Some(fresh) = registered(&mut look, &seen.place.board, Which::Seen(seen))? else {
            return moved(Moved::SessionGone);
        };
        if fresh.row != seen.row || fresh.version != seen.version {
            return moved(seen.moved(&fresh));
        }
        let held = holds(&mut look, &fresh)?;
        drop(look);
        if held > 0 {
            return moved(Moved::HoldsClaims(held));
        }
        let id = fresh.id.text().unwrap_or_default();
        if let Err(refusal) = permit_end(&id, fresh.is_stale, &fresh.worker, authorization) {
            return Ok(Acted::nothing(Outcome::Refused(refusal)));
        }
        let (Some(at), Some(table)) =
            (self.driver.board(&fresh.place.board), self.driver.table(&fresh.table))
        else {
            return moved(Moved::TablesChanged);
        };
        let statements =
            match Statements::of_session(self.driver.dialect(), &at, &table, &fresh, authorization) {
                Ok(statements) => statements,
                Err(refusal) => return Ok(Acted::nothing(Outcome::Refused(refusal))),
            };
        let preview = statements.preview();
        let statements = match manner {
            EndManner::ForGood => Ok(statements),
            EndManner::Rehearsal => statements.rehearsed(),
        };
        let statements = match statements {
            Ok(statements) => statements,
            Err(refusal) => return Ok(Acted { preview, ..Acted::nothing(Outcome::Refused(refusal)) }),
        };
        let target = ActTarget { table: &table, rowid: fresh.place.rowid, row: &fresh.row };
        Ok(match self.change(&target, &statements)? {
            Ok(changes) => {
                let transaction = turn.transaction.clone();
                Acted { changes, preview, transaction, ..Acted::nothing(Outcome::Applied) }
            }
            Err(outcome) => Acted { preview, ..Acted::nothing(outcome) },
        })
    }
}

fn held_by(look: &mut Look<'_>, session: &str) -> Result<Holding, Failed> {
    let mut holding = Holding { session: session.into(), claims: Vec::new(), registered: Vec::new() };
    let (mut registries, mut rows): (Vec<String>, Vec<(String, String)>) = (Vec::new(), Vec::new());
    for at in locks_first(look) {
        let (board, id) = (at.board(), &at.board().board_id);
        if let (true, Some(condition)) = (board.is_addressable(), is_holder(look.connection.dialect(), board))
        {
            let mut params = NamedParams::default();
            params.add("session", "", Some(session));
            let mut found = look.seen(LOOKING, at.watch, &condition, params)?;
            // SQL may compare names without their case; a session is exactly itself.
            found.retain(|seen| seen.judged.claim.holder.as_deref() == Some(session));
            // Two profiles may know the same table.
            let is_new = |seen: &Seen| {
                let row =
                    (board.table.clone(), format!("{}{}", seen.place.rowid, seen.judged.claim.key.address()));
                let is_new = !rows.contains(&row);
                rows.extend(is_new.then_some(row));
                is_new
            };
            found.retain(is_new);
            holding.claims.extend(found);
        }
        let Some(registry) = &board.registry else { continue };
        if !registries.contains(&registry.table) {
            registries.push(registry.table.clone());
            holding.registered.extend(registered(look, id, Which::Named(session))?);
        }
    }
    Ok(holding)
}

/// The condition for a claim to be the session's.
fn is_holder(dialect: &dyn Dialect, board: &BoundBoard) -> Option<String> {
    board.holder.as_ref().map(|holder| format!("{} = :session", dialect.selected(&holder.text)))
}

/// The boards in the order in which their claims are released: locks keep others from what they protect.
fn locks_first<'a>(look: &Look<'a>) -> Vec<BoardAt<'a>> {
    let is_lock = |at: &BoardAt<'_>| at.written().is_some_and(|written| written.role == Role::Lock);
    let (mut first, rest): (Vec<_>, Vec<_>) = look.boards.iter().copied().partition(is_lock);
    first.extend(rest);
    first
}

/// Every board of every profile that keeps its holders in this registry.
fn sharing<'a>(look: &Look<'a>, registry: &BoundRegistry) -> impl Iterator<Item = &'a BoundBoard> {
    let is_its = |board: &&BoundBoard| board.registry.as_ref().is_some_and(|it| it.table == registry.table);
    look.boards.iter().map(BoardAt::board).filter(is_its)
}

/// A session by its name, or by the row that was seen.
#[derive(Clone, Copy)]
enum Which<'a> {
    Named(&'a str),
    Seen(&'a Registered),
}

/// A session in the registry of a board, as it is now.
fn registered(look: &mut Look<'_>, board: &BoardId, which: Which<'_>) -> Result<Option<Registered>, Failed> {
    let (dialect, schema, now) = (look.connection.dialect(), look.schema, look.now);
    let Some(at) = look.at(board) else { return Ok(None) };
    let Some(registry) = &at.board().registry else { return Ok(None) };
    // Its rows have to be told apart.
    let table = schema.table(&registry.table).filter(|table| table.has_rowid || !table.key.is_empty());
    let Some(table) = table else { return Ok(None) };
    let (profile, ends) = (at.profile.name.clone(), at.end().map_or(Ends::Undescribed, |_| Ends::Described));
    let mut params = NamedParams::default();
    let condition = match which {
        Which::Named(session) => {
            params.add("session", "", Some(session));
            format!("{} = :session", dialect.selected(&registry.id.text))
        }
        Which::Seen(seen) => {
            params.add_value("id", &registry.id.declared, seen.id.clone());
            dialect.is_session(registry, seen, &mut params)
        }
    };
    let is_meant = |id: &Value| match which {
        Which::Named(session) => id.text().as_deref() == Some(session),
        Which::Seen(seen) => *id == seen.id,
    };
    let version = dialect.version("s").unwrap_or_else(|| "NULL".into());
    let number = dialect.row_number(table, "s");
    let columns = holders::columns(at.board(), registry, dialect);
    let row = image_sql::columns(dialect, table, "s");
    let sql =
        format!("SELECT {version}, {number}, {columns}, {row} FROM {} WHERE {condition}", registry.from);
    let read = |row: &dyn Row| {
        let (id, session, worker) = holders::read(row, 2, registry);
        let version = row.text(0);
        let rowid = row.number(1).int().unwrap_or(0);
        (id, session, worker, version, rowid, image_sql::read(table, row, 2 + holders::COLUMNS))
    };
    let found = look.connection.all(LOOKING, &sql, &params, read)?;
    let Some((id, session, mut worker, version, rowid, row)) =
        found.into_iter().find(|(id, ..)| is_meant(id))
    else {
        return Ok(None);
    };
    if let Some(prober) = &look.options.prober {
        prober.probe(&mut worker, session.started_at.at(), session.beat_at.at());
    }
    let is_stale = sharing(look, registry).all(|board| board.gives_up_on(&session, now));
    let (place, table) = (Place { board: board.clone(), rowid }, registry.table.clone());
    Ok(Some(Registered { place, profile, table, id, row, version, session, is_stale, worker, ends, now }))
}

/// Keeps the session's row as it is until the end of the transaction.
fn lock(look: &mut Look<'_>, seen: &Registered) -> Result<(), Failed> {
    let dialect = look.connection.dialect();
    let Some(lock) = dialect.exclusive_lock("s") else { return Ok(()) };
    let Some(registry) = look.board(&seen.place.board).and_then(|watch| watch.bound().registry.as_ref())
    else {
        return Ok(());
    };
    let mut params = NamedParams::default();
    params.add_value("id", &registry.id.declared, seen.id.clone());
    let is_it = dialect.is_session(registry, seen, &mut params);
    let sql = format!("SELECT 'x' FROM {} WHERE {is_it} {lock}", registry.from);
    look.connection.exists(LOOKING, &sql, &params)?;
    Ok(())
}

/// How many claims a session holds on all boards that share its registry.
fn holds(look: &mut Look<'_>, session: &Registered) -> Result<u64, Failed> {
    let dialect = look.connection.dialect();
    let board = look.board(&session.place.board).map(|watch| watch.bound());
    let Some(registry) = board.and_then(|board| board.registry.as_ref()) else { return Ok(0) };
    let mut held = 0;
    for board in sharing(look, registry).collect::<Vec<_>>() {
        let Some(condition) = is_holder(dialect, board) else { continue };
        let mut params = board.clock(dialect, look.now);
        params.add_value("session", "", session.id.clone());
        let (count, from, is_held) = (dialect.selected("count(*)"), &board.from, board.is_held());
        let sql = format!("SELECT {count} FROM {from} WHERE ({is_held}) AND {condition}");
        held += look.connection.count("asking what it holds", &sql, &params)?;
    }
    Ok(held)
}
