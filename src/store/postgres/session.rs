//! A session as a whole: everything it holds, and the end of the session itself.

use super::act::{Statements, add_instant, effect, guarded};
use super::actor::{Actor, BEING_CHANGED, Turn, is_locked};
use super::cell::{number, sent};
use super::dialect::PostgresDialect;
use super::error::PgError;
use super::image;
use super::link::{Link, Row};
use super::look;
use super::named_params::NamedParams;
use super::reader::Watched;
use super::watch::{Watch, query};
use crate::domain::board_id::BoardId;
use crate::domain::recovery::{Action, Authorization, Outcome, permit_end};
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::store::Prober;
use crate::store::StoreError;
use crate::store::act::{Acted, ChangeRecorder, Note, Order, TABLES_CHANGED, unrecorded};
use crate::store::bound::BoundRegistry;
use crate::store::holders;
use crate::store::seen::Place;
use crate::store::session::{END, Ends, Holding, Registered};
use crate::store::watched;

impl Actor {
    /// A session and all it holds, on every board of every profile.
    pub fn held_by(&mut self, session: &str) -> Result<Holding, StoreError> {
        let prober = self.reader.options.prober.clone();
        self.reader.reading("looking at the session", |link, watched, now| {
            let mut holding = Holding { session: session.into(), claims: Vec::new(), registered: Vec::new() };
            let mut known: Vec<&str> = Vec::new();
            let mut rows: Vec<(&str, String)> = Vec::new();
            for id in watched::locks_first(watched) {
                let Some((_, watch)) = watched::find(watched, &id) else { continue };
                if let (true, Some(holder)) = (watch.board.has_rowid, &watch.board.holder) {
                    let mut params = NamedParams::default();
                    params.add("session", "", Some(session));
                    let condition = format!(" AND ({})::text = :session", holder.text);
                    let mut found = look::look(link, watch, &condition, params, now)?;
                    // SQL may compare names without their case; a session is exactly itself.
                    found.retain(|seen| seen.judged.claim.holder.as_deref() == Some(session));
                    for seen in found {
                        // Two profiles may know the same table.
                        let name = (watch.board.table.as_str(), seen.judged.claim.key.address());
                        if !rows.contains(&name) {
                            rows.push(name);
                            holding.claims.push(seen);
                        }
                    }
                }
                let Some(registry) = &watch.board.registry else { continue };
                if !known.contains(&registry.table.as_str()) {
                    known.push(&registry.table);
                    let name = Value::Text(session.into());
                    let found = registered(link, watched, &id, &name, prober.as_ref(), now)?;
                    holding.registered.extend(found);
                }
            }
            Ok(holding)
        })
    }

    /// Ends exactly the session that was seen, if it holds nothing any more.
    pub fn end_session(
        &mut self,
        seen: &Registered,
        word: &Authorization,
        action_id: &str,
        record: &mut ChangeRecorder<'_>,
    ) -> Result<Acted, StoreError> {
        let turn = self.begin()?;
        let acted = self.end_inside(&turn, seen, word).and_then(|acted| {
            if acted.outcome != Outcome::Applied {
                return Ok(acted);
            }
            if let Err(problem) = record(&acted) {
                return Ok(Acted::nothing(unrecorded(&problem)));
            }
            let note = Note { action: END, address: &seen.address(), word, changes: &acted.changes };
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
        word: &Authorization,
    ) -> Result<(Vec<Acted>, Vec<Acted>), StoreError> {
        let turn = self.begin()?;
        let rehearsed = self.rehearse_inside(&turn, holding, word);
        // A connection that is gone has taken everything back.
        let _ = self.run(Link::rollback);
        rehearsed
    }

    fn rehearse_inside(
        &mut self,
        turn: &Turn,
        holding: &Holding,
        word: &Authorization,
    ) -> Result<(Vec<Acted>, Vec<Acted>), StoreError> {
        let (mut released, mut ended) = (Vec::new(), Vec::new());
        for seen in &holding.claims {
            let order = Order { action: Action::Release, word, action_id: "", dry_run: true };
            released.push(self.apart(|actor| actor.act_inside(turn, seen, &order, &mut |_| Ok(())))?);
        }
        for session in &holding.registered {
            ended.push(self.apart(|actor| actor.end_inside(turn, session, word))?);
        }
        Ok((released, ended))
    }

    fn end_inside(
        &mut self,
        turn: &Turn,
        seen: &Registered,
        word: &Authorization,
    ) -> Result<Acted, StoreError> {
        let moved = |what: String| Ok(Acted::nothing(Outcome::Moved(what)));
        let prober = self.reader.options.prober.clone();
        let looked = {
            let Actor { reader, link: Some(link), .. } = self else { return moved(TABLES_CHANGED.into()) };
            lock_and_look(link, &reader.watched, seen, prober.as_ref(), turn.now)
        };
        let (fresh, held) = match looked {
            Ok(Some(found)) => found,
            Ok(None) => return moved("it is registered no longer".into()),
            Err(error) if is_locked(&error) => return moved(BEING_CHANGED.into()),
            Err(error) => return Err(self.sentence(&error, "looking at the session")),
        };
        if fresh.row != seen.row || fresh.version != seen.version {
            return moved(seen.moved(&fresh));
        }
        if held > 0 {
            return moved(format!("it holds {held} {} still", if held == 1 { "claim" } else { "claims" }));
        }
        let id = fresh.id.text().unwrap_or_default();
        if let Err(refusal) = permit_end(&id, fresh.is_stale, &fresh.worker, word) {
            return Ok(Acted::nothing(Outcome::Refused(refusal)));
        }
        let statements = match self.ending(&fresh, word) {
            Ok(statements) => statements,
            Err(refusal) => return Ok(Acted::nothing(Outcome::Refused(refusal.into()))),
        };
        let Some(table) = self.schema().table(&fresh.table).cloned() else {
            return moved(TABLES_CHANGED.into());
        };
        let preview = statements.preview();
        match self.perform(&table, &fresh.row, &statements) {
            Ok(Ok(changes)) => {
                let transaction = Some(turn.transaction.clone());
                Ok(Acted { changes, preview, transaction, ..Acted::nothing(Outcome::Applied) })
            }
            Ok(Err(outcome)) => Ok(Acted { preview, ..Acted::nothing(outcome) }),
            Err(error) if is_locked(&error) => moved(BEING_CHANGED.into()),
            Err(error) => Err(self.sentence(&error, "ending the session")),
        }
    }

    /// The statements that end exactly this session.
    fn ending(&self, fresh: &Registered, word: &Authorization) -> Result<Statements, String> {
        let (watched, watch) =
            watched::find(&self.reader.watched, &fresh.place.board).ok_or("its tables have changed")?;
        let end = watched
            .end_of(watch)
            .ok_or_else(|| format!("{} does not say how a session ends", fresh.profile))?;
        let table = self.schema().table(&fresh.table).ok_or("its table is gone")?;
        let registry = watch.board.registry.as_ref().ok_or("its registry is gone")?;
        let mut params = NamedParams::default();
        let guard = image::guard(table, &fresh.row, "s", "seen", &mut params);
        params.add("version", "", fresh.version.clone());
        let now = watch.board.rules.session_now(fresh.now);
        add_instant(&mut params, "now", registry.beat_at.unit, &registry.beat_at.zone, now);
        params.add("reason", "text", word.reason.clone());
        params.add("id", &registry.id.declared, sent(&fresh.id));
        params.add("holder", &registry.id.declared, sent(&fresh.id));
        let which = format!("{} = :id", registry.id.text);
        let conditions = format!("{which} AND s.xmin::text = :version AND {guard}");
        Ok(Statements {
            blocked_by: end.blocked_by.as_ref().map(|predicate| {
                format!("SELECT 'x' FROM {} WHERE {which} AND ({predicate}\n)", registry.from)
            }),
            before: end.before.clone(),
            act: guarded(end, table, "s", "", &conditions, "the end of a session")?
                + &image::returned(table, "s"),
            effect: effect(end),
            also: end.also.clone(),
            params,
        })
    }
}

/// Every board of every profile that keeps its holders in this registry.
fn sharing<'a>(watched: &'a [Watched], registry: &BoundRegistry) -> Vec<&'a Watch> {
    let boards = watched.iter().flat_map(|watched| &watched.boards);
    boards
        .filter(|watch| watch.board.registry.as_ref().is_some_and(|it| it.table == registry.table))
        .collect()
}

/// The session with an id in the registry of a board, as it is now.
fn registered(
    link: &mut Link,
    watched: &[Watched],
    board: &BoardId,
    id: &Value,
    prober: Option<&Prober>,
    now: Moment,
) -> Result<Option<Registered>, PgError> {
    let Some((profile, watch)) = watched::find(watched, board) else { return Ok(None) };
    let (Some(registry), Some(table)) = (&watch.board.registry, &watch.registry) else { return Ok(None) };
    let mut params = NamedParams::default();
    params.add("session", "", sent(id));
    let sql = format!(
        "SELECT {}, s.xmin::text, {} FROM {} WHERE ({})::text = :session",
        holders::columns(&watch.board, registry, &PostgresDialect),
        image::columns(table, "s").join(", "),
        registry.from,
        registry.id.text
    );
    let rows = query(link, &params, &sql)?;
    let is_it = |row: &&Row| row.get(0) == sent(id).as_deref();
    let Some(row) = rows.iter().find(is_it) else { return Ok(None) };
    let (id, session, mut worker) = holders::read(row, registry);
    if let Some(prober) = prober {
        prober.probe(&mut worker, session.started_at.at(), session.beat_at.at());
    }
    let boards = sharing(watched, registry);
    let is_stale = boards.iter().all(|watch| watch.board.gives_up_on(&session, now));
    let ends = profile.end_of(watch).map_or(Ends::Undescribed, |_| Ends::Described);
    Ok(Some(Registered {
        place: Place { board: board.clone(), rowid: 0 },
        profile: profile.name.clone(),
        table: registry.table.clone(),
        id,
        row: image::read(table, row, holders::COLUMNS + 1),
        version: row.get(holders::COLUMNS).map(str::to_owned),
        session,
        is_stale,
        worker,
        ends,
        now,
    }))
}

/// The session's row, locked, and how many claims it still holds.
fn lock_and_look(
    link: &mut Link,
    watched: &[Watched],
    seen: &Registered,
    prober: Option<&Prober>,
    now: Moment,
) -> Result<Option<(Registered, u64)>, PgError> {
    let Some(watch) = look::at(watched, &seen.place) else { return Ok(None) };
    let Some(registry) = &watch.board.registry else { return Ok(None) };
    let mut params = NamedParams::default();
    params.add("session", "", sent(&seen.id));
    let sql = format!(
        "SELECT 'x' FROM {} WHERE ({})::text = :session FOR UPDATE OF s NOWAIT",
        registry.from, registry.id.text
    );
    query(link, &params, &sql)?;
    let Some(fresh) = registered(link, watched, &seen.place.board, &seen.id, prober, now)? else {
        return Ok(None);
    };
    let mut held = 0;
    for watch in sharing(watched, registry) {
        let Some(holder) = &watch.board.holder else { continue };
        let mut params = watch.clock(now);
        params.add("session", "", sent(&seen.id));
        let sql = format!(
            "SELECT count(*)::text FROM {} WHERE ({}) AND ({})::text = :session",
            watch.board.from,
            watch.board.is_held(),
            holder.text
        );
        let rows = query(link, &params, &sql)?;
        held += rows.first().and_then(|row| number(row, 0).int()).unwrap_or(0).max(0).unsigned_abs();
    }
    Ok(Some((fresh, held)))
}
