//! A session as a whole: everything it holds, and the end of the session itself.
//!
//! The end is an act like any other: the registry's row must be exactly what was seen, nothing may
//! be held by it any more, and one row is changed or none.

use rusqlite::types::Value as SqlValue;
use std::collections::HashSet;

use super::act::{Statements, guarded, renames};
use super::actor::Actor;
use super::cell::to_sql;
use super::dialect::SqliteDialect;
use super::image::{InFile, number_of};
use super::keys::RowSql;
use super::run::{bind_known, count, now_value, select, time_in};
use crate::domain::board_id::BoardId;
use crate::domain::recovery::{Action, Authorization, Outcome, permit_end};
use crate::domain::time::Moment;
use crate::store::StoreError;
use crate::store::act::{Acted, ChangeRecorder, Note, Order, TABLES_CHANGED, unrecorded};
use crate::store::bound::{BoundBoard, BoundRegistry};
use crate::store::holders;
use crate::store::image::Image;
use crate::store::schema::Table;
use crate::store::seen::Place;
use crate::store::session::{END, Ends, Holding, Registered};
use crate::store::watched;

impl Actor {
    /// A session and all it holds, on every board of every profile.
    pub fn held_by(&mut self, session: &str) -> Result<Holding, StoreError> {
        self.reader.follow_the_path()?;
        self.read_schema()?;
        let watchless = self.reader.connection.progress_handler(0, None::<fn() -> bool>);
        watchless.map_err(|error| self.reader.sentence(&error, "looking at the session"))?;
        let now = self.now();
        let examined = self.reader.examine_zones_at(now);
        examined.map_err(|error| self.reader.sentence(&error, "looking at the times"))?;
        let mut holding = Holding { session: session.into(), claims: Vec::new(), registered: Vec::new() };
        let mut known: Vec<&str> = Vec::new();
        let mut rows: HashSet<(&str, i64)> = HashSet::new();
        for id in self.boards_locks_first() {
            let Some(watch) = self.watch(&id) else { continue };
            let board = &watch.board;
            for rowid in self.rows_held_by(board, session, now)? {
                // Two profiles may know the same table.
                if rows.insert((&board.table, rowid)) {
                    let seen =
                        self.look(&self.reader.connection, &Place { rowid, board: id.clone() }, now)?;
                    holding
                        .claims
                        .extend(seen.filter(|seen| seen.judged.claim.holder.as_deref() == Some(session)));
                }
            }
            let Some(registry) = board.registry.as_ref() else { continue };
            if !known.contains(&registry.table.as_str()) {
                known.push(&registry.table);
                for rowid in self.rows_of_session(registry, session)? {
                    let place = Place { rowid, board: id.clone() };
                    let found = self.registered(&self.reader.connection, &place, now)?;
                    // SQL may compare names without their case; a session is exactly itself.
                    holding.registered.extend(found.filter(|it| it.id.text().as_deref() == Some(session)));
                }
            }
        }
        Ok(holding)
    }

    fn boards_locks_first(&self) -> Vec<BoardId> {
        watched::locks_first(&self.reader.watched)
    }

    fn rows_held_by(&self, board: &BoundBoard, session: &str, now: Moment) -> Result<Vec<i64>, StoreError> {
        let (true, Some(holder)) = (board.is_addressable(), &board.holder) else { return Ok(Vec::new()) };
        let rows = RowSql::claims(board);
        let sql = format!(
            "SELECT {} FROM {} WHERE {} = :holder AND {} ORDER BY {}",
            rows.number(),
            board.from,
            holder.text,
            board.is_held(),
            rows.order("ASC")
        );
        let values = [
            (":holder".to_owned(), SqlValue::Text(session.into())),
            (":now".to_owned(), now_value(board, now)),
        ];
        self.rows("looking for its claims", &sql, &values)
    }

    fn rows_of_session(&self, registry: &BoundRegistry, session: &str) -> Result<Vec<i64>, StoreError> {
        let is_addressable = |table: &Table| table.has_rowid || !table.key.is_empty();
        if !self.schema.table(&registry.table).is_some_and(is_addressable) {
            return Ok(Vec::new());
        }
        let row = RowSql::sessions(registry).number();
        let sql = format!("SELECT {row} FROM {} WHERE {} = :id", registry.from, registry.id.text);
        self.rows("looking for the session", &sql, &[(":id".to_owned(), SqlValue::Text(session.into()))])
    }

    fn rows(&self, doing: &str, sql: &str, values: &[(String, SqlValue)]) -> Result<Vec<i64>, StoreError> {
        self.reader.sql(doing, |connection| {
            let mut rows = Vec::new();
            select(connection, sql, values, |rowid| rows.push(rowid))?;
            Ok(rows)
        })
    }

    /// The session in a row of a registry, as it is now.
    fn registered(
        &self,
        connection: &rusqlite::Connection,
        place: &Place,
        now: Moment,
    ) -> Result<Option<Registered>, StoreError> {
        let Some((watched, watch)) = watched::find(&self.reader.watched, &place.board) else {
            return Ok(None);
        };
        let board = &watch.board;
        let Some(registry) = &board.registry else { return Ok(None) };
        let look = || -> rusqlite::Result<Option<Registered>> {
            let Some(table) = self.schema.table(&registry.table) else { return Ok(None) };
            let Some(image) = Image::read(connection, table, place.rowid)? else { return Ok(None) };
            let sql = format!(
                "SELECT {} FROM {} WHERE {}",
                holders::columns(board, registry, &SqliteDialect),
                registry.from,
                RowSql::sessions(registry).is(":rowid")
            );
            let mut statement = connection.prepare_cached(&sql)?;
            bind_known(&mut statement, &[(":rowid".into(), SqlValue::Integer(place.rowid))])?;
            let mut rows = statement.raw_query();
            let Some(row) = rows.next()? else { return Ok(None) };
            let (id, session, mut worker) = holders::read(row, registry);
            if let Some(prober) = &self.reader.options.prober {
                prober.probe(&mut worker, session.started_at.at(), session.beat_at.at());
            }
            let is_stale = self.sharing(registry).iter().all(|board| board.gives_up_on(&session, now));
            let ends = if watched.end_of(watch).is_some() { Ends::Described } else { Ends::Undescribed };
            let (profile, place) = (watched.name.clone(), place.clone());
            let table = registry.table.clone();
            Ok(Some(Registered {
                place,
                profile,
                table,
                id,
                row: image,
                version: None,
                session,
                is_stale,
                worker,
                ends,
                now,
            }))
        };
        look().map_err(|error| self.reader.sentence(&error, "looking at the session"))
    }

    /// Every board of every profile that keeps its holders in this registry.
    fn sharing(&self, registry: &BoundRegistry) -> Vec<&BoundBoard> {
        let boards = self.reader.watched.iter().flat_map(|watched| &watched.boards).map(|watch| &watch.board);
        boards.filter(|board| board.registry.as_ref().is_some_and(|it| it.table == registry.table)).collect()
    }

    /// Ends exactly the session that was seen, if it holds nothing any more.
    pub fn end_session(
        &mut self,
        seen: &Registered,
        word: &Authorization,
        action_id: &str,
        record: &mut ChangeRecorder<'_>,
    ) -> Result<Acted, StoreError> {
        self.begin()?;
        let acted = self.end_inside(seen, word).and_then(|acted| {
            if acted.outcome != Outcome::Applied {
                return Ok(acted);
            }
            if let Err(problem) = record(&acted) {
                return Ok(Acted::nothing(unrecorded(&problem)));
            }
            let note = Note { action: END, address: &seen.address(), word, changes: &acted.changes };
            self.note(|| action_id.into(), self.now(), &note)?;
            Ok(acted)
        });
        self.end(acted, false)
    }

    /// What a release of the session would do, claim by claim and then to its own rows. All of it
    /// happens in one transaction that is taken back, for its end is possible only after the rest.
    pub fn rehearse_session(
        &mut self,
        holding: &Holding,
        word: &Authorization,
    ) -> Result<(Vec<Acted>, Vec<Acted>), StoreError> {
        self.begin()?;
        let rehearsed = self.rehearse_inside(holding, word);
        let ended = self.write("ROLLBACK", |writer| writer.execute_batch("ROLLBACK"));
        rehearsed.and_then(|acted| ended.map(|()| acted))
    }

    fn rehearse_inside(
        &mut self,
        holding: &Holding,
        word: &Authorization,
    ) -> Result<(Vec<Acted>, Vec<Acted>), StoreError> {
        let (mut released, mut ended) = (Vec::new(), Vec::new());
        for seen in &holding.claims {
            let order = Order { action: Action::Release, word, action_id: "", dry_run: true };
            released.push(self.apart(|actor| actor.act_inside(seen, &order, &mut |_| Ok(())))?);
        }
        for session in &holding.registered {
            ended.push(self.apart(|actor| actor.end_inside(session, word))?);
        }
        Ok((released, ended))
    }

    fn end_inside(&mut self, seen: &Registered, word: &Authorization) -> Result<Acted, StoreError> {
        let moved = |what: String| Ok(Acted::nothing(Outcome::Moved(what)));
        let now = self.now();
        if self.watch(&seen.place.board).is_none() {
            return moved(TABLES_CHANGED.into());
        }
        let table = self.schema.table(&seen.table);
        let number = |table| number_of(table, &seen.row, seen.place.rowid, &self.reader.keys);
        let place = Place { rowid: table.map_or(seen.place.rowid, number), board: seen.place.board.clone() };
        let Some(fresh) = self.registered(&self.writer, &place, now)? else {
            return moved("it is registered no longer".into());
        };
        if fresh.row != seen.row {
            return moved(seen.moved(&fresh));
        }
        let held = self.holds_still(&fresh)?;
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
        let table = fresh.table.clone();
        let preview = statements.preview();
        Ok(match self.run(&table, fresh.place.rowid, &fresh.row, &statements)? {
            Ok(changes) => {
                let transaction = self.transaction_mark();
                Acted { changes, preview, transaction, ..Acted::nothing(Outcome::Applied) }
            }
            Err(outcome) => Acted { preview, ..Acted::nothing(outcome) },
        })
    }

    fn holds_still(&self, session: &Registered) -> Result<u64, StoreError> {
        let watch = self.watch(&session.place.board);
        let Some(registry) = watch.and_then(|watch| watch.board.registry.as_ref()) else { return Ok(0) };
        self.write("asking what it holds", |writer| {
            held_by(writer, &self.sharing(registry), registry, &session.id, session.now)
        })
    }

    /// The statements that end exactly this session.
    fn ending(&self, fresh: &Registered, word: &Authorization) -> Result<Statements, String> {
        let (watched, watch) =
            watched::find(&self.reader.watched, &fresh.place.board).ok_or("its tables have changed")?;
        let end = watched
            .end_of(watch)
            .ok_or_else(|| format!("{} does not say how a session ends", fresh.profile))?;
        let table = self.schema.table(&fresh.table).ok_or("its table is gone")?;
        let board = &watch.board;
        let registry = board.registry.as_ref().ok_or("its registry is gone")?;
        let (guard, mut values) = fresh.row.guard("s.", ":seen");
        let id = super::cell::to_sql(&fresh.id);
        let now = time_in(
            registry.beat_at.unit,
            registry.beat_at.zone.own.unwrap_or_default(),
            board.rules.session_now(fresh.now),
        );
        let reason = word.reason.clone().map_or(SqlValue::Null, SqlValue::Text);
        values.extend([
            (":rowid".into(), SqlValue::Integer(fresh.place.rowid)),
            (":now".into(), now),
            (":reason".into(), reason),
            (":id".into(), id.clone()),
            (":holder".into(), id),
        ]);
        let is_it = RowSql::sessions(registry).is(":rowid");
        let conditions = format!("{is_it} AND {guard}");
        Ok(Statements {
            blocked_by: end.blocked_by.as_ref().map(|predicate| {
                format!("SELECT 1 FROM {} WHERE {is_it} AND ({predicate}\n)", registry.from)
            }),
            before: end.before.clone(),
            act: guarded(end, table, "s", &conditions, "the end of a session")?,
            also: end.also.clone(),
            renames: renames(end, table),
            values,
        })
    }
}

/// How many claims a session holds on the boards that share its registry.
fn held_by(
    connection: &rusqlite::Connection,
    boards: &[&BoundBoard],
    registry: &BoundRegistry,
    id: &crate::domain::value::Value,
    now: Moment,
) -> rusqlite::Result<u64> {
    let mut claims = 0;
    for board in boards {
        let shares = board.registry.as_ref().is_some_and(|other| other.table == registry.table);
        if let (true, Some(holder)) = (shares, &board.holder) {
            let sql = format!(
                "SELECT count(*) FROM {} WHERE {} = :holder AND {}",
                board.from,
                holder.text,
                board.is_held()
            );
            let values = [(":now".to_owned(), now_value(board, now)), (":holder".to_owned(), to_sql(id))];
            claims += count(connection, &sql, &values)?;
        }
    }
    Ok(claims)
}
