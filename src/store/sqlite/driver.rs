//! What SQLite does for an act.

use rusqlite::config::DbConfig;
use std::thread;
use std::time::{Duration, Instant};

use super::actor::Actor;
use super::cell::owned;
use super::change;
use super::connection::OnConnection;
use super::dialect::SqliteDialect;
use super::direct::rests_on_its_row;
use super::open;
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::store::StoreError;
use crate::store::act::{Acted, Batch, Intents, Order};
use crate::store::audit_table::NAME;
use crate::store::driver::{
    BatchPart, BoardAt, ClaimReader, Connection, Dialect, Driver, Failed, Fate, NotCommitted, Query, Row,
    Target, Turn,
};
use crate::store::filter::expect_board;
use crate::store::found::{FoundBoard, Overdue, RowRef};
use crate::store::image::{Change, Image, RowAt};
use crate::store::look::ReadEngine;
use crate::store::named_params::NamedParams;
use crate::store::schema::{Table, quoted};
use crate::store::seen::{Place, Seen};
use crate::store::selection::{Again, Noted, Selection};
use crate::store::session::Registered;
use crate::store::statements::Statements;
use crate::store::suspend::uninterrupted;
use crate::store::{Filter, Prober, Scope, TransactionMark};

/// The claims of a file, on the connection for polls or on the one for acts.
pub(super) struct Claims<'a> {
    actor: &'a Actor,
    connection: &'a rusqlite::Connection,
}

impl Actor {
    pub(super) fn claims_of<'a>(&'a self, connection: &'a rusqlite::Connection) -> Claims<'a> {
        Claims { actor: self, connection }
    }
}

impl Claims<'_> {
    fn on(&self) -> OnConnection<'_> {
        OnConnection { connection: self.connection, reader: &self.actor.reader }
    }
}

impl Connection for Claims<'_> {
    fn dialect(&self) -> &'static dyn Dialect {
        self.on().dialect()
    }

    fn each(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        row: &mut dyn FnMut(&dyn Row),
    ) -> Result<(), Failed> {
        self.on().each(doing, sql, params, row)
    }

    fn execute(&mut self, doing: &str, sql: &str, params: &NamedParams) -> Result<u64, Failed> {
        self.on().execute(doing, sql, params)
    }

    fn run(&mut self, doing: &str, sql: &str) -> Result<(), Failed> {
        self.on().run(doing, sql)
    }
}

impl ClaimReader for Claims<'_> {
    fn boards(&self) -> Vec<BoardAt<'_>> {
        BoardAt::all(&self.actor.reader.watched)
    }

    fn board(&self, id: &BoardId) -> Option<BoardAt<'_>> {
        BoardAt::find(&self.actor.reader.watched, id)
    }

    fn registry_table(&self, id: &BoardId) -> Option<Table> {
        let registry = self.board(id)?.board.registry.as_ref()?;
        let table = self.actor.schema.table(&registry.table)?;
        (table.has_rowid || !table.key.is_empty()).then(|| table.clone())
    }

    fn claims(
        &mut self,
        id: &BoardId,
        condition: &str,
        mut params: NamedParams,
        now: Moment,
    ) -> Result<Vec<Seen>, Failed> {
        let Some(watch) = self.actor.watch(id) else { return Ok(Vec::new()) };
        let (board, rows) = (&watch.board, &watch.rows);
        params.extend(board.clock(&SqliteDialect, now));
        let (number, from, held, order) = (rows.number(), &board.from, board.is_held(), rows.order("ASC"));
        let sql = format!("SELECT {number} FROM {from} WHERE {held} AND {condition} ORDER BY {order}");
        let found = self.all("looking for claims", &sql, &params, |row| row.number(0).int())?;
        let mut all = Vec::new();
        for rowid in found.into_iter().flatten() {
            let place = Place { board: id.clone(), rowid };
            all.extend(self.actor.look(self.connection, &place, now)?);
        }
        Ok(all)
    }

    fn prober(&self) -> Option<Prober> {
        self.actor.reader.options.prober.clone()
    }
}

impl Driver for Actor {
    fn dialect(&self) -> &'static dyn Dialect {
        &SqliteDialect
    }

    fn boards(&self) -> Vec<BoardAt<'_>> {
        BoardAt::all(&self.reader.watched)
    }

    fn board(&self, id: &BoardId) -> Option<BoardAt<'_>> {
        BoardAt::find(&self.reader.watched, id)
    }

    fn transaction(&mut self) -> Box<dyn ClaimReader + '_> {
        Box::new(self.claims_of(&self.writer))
    }

    fn refresh(&mut self) -> Result<(), StoreError> {
        Actor::refresh(self)
    }

    fn fingerprint(&self) -> String {
        Actor::fingerprint(self)
    }

    fn has_clock(&self) -> bool {
        false
    }

    fn freeze(&mut self, at: Moment) {
        self.reader.freeze(at);
    }

    fn expect_board(&mut self, wanted: Option<&str>) -> Result<(), StoreError> {
        expect_board(&self.reader, wanted)
    }

    fn poll(&mut self) -> Result<Vec<Snapshot>, StoreError> {
        self.reader.poll()
    }

    fn find_all(&mut self, filter: &Filter) -> Result<Vec<FoundBoard>, StoreError> {
        self.reader.members(filter)
    }

    fn look_at(&mut self, found: &[(&BoardId, &[RowRef])]) -> Result<Vec<Seen>, StoreError> {
        self.reader.stop_the_stopwatch()?;
        let now = self.now();
        let mut all = Vec::new();
        for (board, rows) in found {
            for row in *rows {
                // What was found on another engine is not here.
                let RowRef::Number(rowid) = *row else { continue };
                let place = Place { board: (*board).clone(), rowid };
                all.extend(self.look(&self.reader.connection, &place, now)?);
            }
        }
        Ok(all)
    }

    fn selection(&mut self, filter: &Filter) -> Result<Selection, StoreError> {
        Actor::selection(self, filter)
    }

    fn look_again(&mut self, all: &[Noted]) -> Result<Vec<Again>, StoreError> {
        Actor::look_again(self, all)
    }

    fn count_overdue(&mut self, _: &BoardId) -> Result<Option<Overdue>, StoreError> {
        Ok(None)
    }

    fn reading(
        &mut self,
        doing: &str,
        look: &mut dyn FnMut(&mut dyn ClaimReader, Moment) -> Result<(), Failed>,
    ) -> Result<(), StoreError> {
        self.reader.follow_the_path()?;
        self.read_schema()?;
        // The stopwatch of the last poll has nothing to say about this.
        self.reader.stop_the_stopwatch()?;
        let now = self.now();
        let examined = self.reader.examine_zones_at(now);
        examined.map_err(|error| self.reader.sentence(&error, doing))?;
        Ok(look(&mut self.claims_of(&self.reader.connection), now)?)
    }

    fn table(&self, name: &str) -> Option<Table> {
        self.schema.table(name).cloned()
    }

    fn audit_table(&mut self) -> Option<Table> {
        if self.writer.is_autocommit() {
            // It may have been created since. If the schema cannot be read, what comes next will say so.
            let _ = self.read_schema();
        }
        self.schema.table(NAME).cloned()
    }

    fn create_audit_table(&mut self) -> Result<(), StoreError> {
        self.create_table_of_records()
    }

    fn scope(&mut self, profile: &str, board: &str, action: &str) -> Result<Option<Scope>, StoreError> {
        Actor::scope(self, profile, board, action)
    }

    fn begin(&mut self) -> Result<Turn, StoreError> {
        self.take_write_lock()?;
        Ok(Turn { now: self.now(), transaction: self.transaction_mark() })
    }

    fn commit(&mut self) -> Result<(), NotCommitted> {
        self.commit_to_the_file()
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        if self.writer.is_autocommit() {
            return Ok(());
        }
        self.write("ROLLBACK", |writer| writer.execute_batch("ROLLBACK"))
    }

    /// A trigger can end the transaction.
    fn goes_on(&self) -> bool {
        !self.writer.is_autocommit()
    }

    /// An intent is written under the write lock. Having that lock means that the act is over.
    fn fate(&mut self, _: &TransactionMark) -> Result<Fate, StoreError> {
        Ok(Fate::Ended)
    }

    fn fresh(&mut self, seen: &Seen, now: Moment) -> Result<Option<Seen>, Failed> {
        Ok(self.look(&self.writer, &Actor::place_of(self, seen), now)?)
    }

    fn place_of(&self, seen: &Registered) -> Place {
        self.renumbered(&seen.table, &seen.row, &seen.place)
    }

    fn still_stale(&self, id: &BoardId, now: Moment, params: &mut NamedParams) -> Option<String> {
        let watch = self.watch(id)?;
        let mut stale = Vec::new();
        for (at, probe) in watch.staleness.iter().enumerate() {
            let suffix = format!("_{at}");
            for (name, value) in probe.bindings(&suffix, &watch.board, now, None) {
                params.add_value(name.trim_start_matches(':'), "", owned((&value).into()));
            }
            stale.push(probe.predicate(&suffix));
        }
        (!stale.is_empty()).then(|| stale.join(" OR "))
    }

    fn change(
        &mut self,
        target: &Target<'_>,
        statements: &Statements,
    ) -> Result<Option<Vec<Change>>, Failed> {
        let changed = change::change(&mut self.writer, &self.schema, &self.reader.keys, target, statements);
        changed.map_err(|error| self.reader.sentence(&error, "acting").into())
    }

    fn has_triggers(&self, table: &str) -> bool {
        self.schema.is_entangled(table)
    }

    fn silence_triggers(&mut self, silent: bool) -> Result<bool, Failed> {
        let set = self.writer.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, !silent);
        set.map_err(|error| self.reader.sentence(&error, "putting the rows back"))?;
        Ok(true)
    }

    fn insert(&mut self, table: &Table, at: &RowAt, row: &Image) -> Result<Option<RowAt>, Failed> {
        let mut params = NamedParams::default();
        let (mut names, mut places) = (Vec::new(), Vec::new());
        if let (true, RowAt::Rowid(rowid)) = (table.has_rowid, at) {
            // The number may be another row's by now, which matters where it is the claim's name.
            let is_its_name = self.boards().iter().any(|at| {
                let is_own = at.board.table.eq_ignore_ascii_case(&table.name);
                is_own && at.board.id.iter().any(|id| id.eq_ignore_ascii_case("c.rowid"))
            });
            let taken = format!("SELECT 1 FROM {} WHERE rowid = :rowid", quoted(&table.name));
            let free = format!("iif(EXISTS ({taken}), NULL, :rowid)");
            params.add_value("rowid", "", Value::Int(*rowid));
            names.push("rowid".to_owned());
            places.push(if is_its_name { ":rowid".to_owned() } else { free });
        } else if table.has_rowid || matches!(at, RowAt::Rowid(_)) {
            return Ok(None);
        }
        for (number, (name, value)) in row.iter().enumerate() {
            let param = format!("was{number}");
            names.push(quoted(name));
            places.push(SqliteDialect.place(&param, value));
            params.add_value(&param, "", value.clone());
        }
        let (table_sql, names, places) = (quoted(&table.name), names.join(", "), places.join(", "));
        let sql = format!("INSERT INTO {table_sql} ({names}) VALUES ({places})");
        if self.transaction().execute("putting the rows back", &sql, &params)? != 1 {
            return Ok(None);
        }
        let at = RowAt::Rowid(self.writer.last_insert_rowid());
        Ok(Some(SqliteDialect.at_of(table, row, &at)))
    }

    fn begin_batch<'a, 'b>(
        &mut self,
        all: &'a mut [&'b Seen],
        budget: Duration,
    ) -> Result<(Turn, BatchPart<'a, 'b>), StoreError> {
        let turn = self.begin()?;
        Ok((turn, BatchPart { all, passed: 0, until: Some(Instant::now() + budget) }))
    }

    fn act_fast(
        &mut self,
        turn: &Turn,
        part: &BatchPart<'_, '_>,
        order: &Order<'_>,
        tried: &mut Vec<Acted>,
        intents: &mut dyn Intents,
    ) -> Result<(), StoreError> {
        let next = part.all.get(tried.len()).filter(|next| rests_on_its_row(next));
        match next.and_then(|next| self.direct(&next.place.board, order, turn.now)) {
            Some(direct) => self.act_directly(&direct, part, tried, intents),
            None => Ok(()),
        }
    }

    fn end_batch(&mut self, batch: Batch, began: Instant) -> Batch {
        let path = self.reader.options.path.clone();
        let log = thread::spawn(move || {
            let _uninterrupted = uninterrupted();
            // A convenience: if it fails, the next one who writes finds the log as it is.
            let _ = open::shorten_log(&path);
        });
        Batch { held: Some(began.elapsed()), log: Some(log), ..batch }
    }
}
