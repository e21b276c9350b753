//! What SQLite does for an act.

use rusqlite::OpenFlags;
use rusqlite::config::DbConfig;
use rusqlite::ffi::SQLITE_IOERR_FSYNC;
use std::thread;
use std::time::{Duration, Instant};

use super::actor::Actor;
use super::audit_table;
use super::change;
use super::connection::OnConnection;
use super::dialect::SqliteDialect;
use super::direct::rests_on_its_row;
use super::open;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::store::act::{Acted, Batch, Intents, Order};
use crate::store::audit_table::NAME;
use crate::store::driver::{
    ActTarget, BatchPart, Changed, Connection, Dialect, Driver, Failed, Fate, NotCommitted, Turn,
};
use crate::store::image::{Image, RowAt};
use crate::store::look::{Look, ReadEngine};
use crate::store::named_params::NamedParams;
use crate::store::schema::{Schema, Table, quoted};
use crate::store::seen::Seen;
use crate::store::statements::Statements;
use crate::store::suspend::uninterrupted;
use crate::store::{Scope, StoreError, TransactionMark};

impl Driver for Actor {
    fn dialect(&self) -> &'static dyn Dialect {
        &SqliteDialect
    }

    fn reader(&self) -> &dyn ReadEngine {
        &self.reader
    }

    fn reader_mut(&mut self) -> &mut dyn ReadEngine {
        &mut self.reader
    }

    fn connection(&mut self) -> Box<dyn Connection + '_> {
        Box::new(OnConnection { connection: &self.writer, reader: &self.reader })
    }

    fn look(&mut self, now: Moment) -> Look<'_> {
        let Actor { reader, writer, schema, .. } = self;
        reader.look_through(writer, schema, now)
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn refresh(&mut self) -> Result<(), StoreError> {
        self.expect_the_file()?;
        self.reader.refresh()?;
        self.read_schema()
    }

    fn fingerprint(&self) -> String {
        self.identity.fingerprint()
    }

    fn has_clock(&self) -> bool {
        false
    }

    fn audit_table(&mut self) -> Option<Table> {
        if self.writer.is_autocommit() {
            // It may have been created since. If the schema cannot be read, what comes next will say so.
            let _ = self.read_schema();
        }
        self.schema.table(NAME).cloned()
    }

    fn create_audit_table(&mut self) -> Result<(), StoreError> {
        // A connection of its own: this one may not change the schema, and should not.
        let opened =
            rusqlite::Connection::open_with_flags(&self.reader.path, OpenFlags::SQLITE_OPEN_READ_WRITE);
        let made = opened.and_then(|connection| {
            connection.busy_timeout(self.reader.options.busy_timeout)?;
            audit_table::create(&connection)
        });
        made.map_err(|error| self.reader.sentence(&error, "making claimtop_audit"))
    }

    fn scope(&mut self, profile: &str, board: &str, action: &str) -> Result<Option<Scope>, StoreError> {
        self.scope_of(profile, board, action)
    }

    fn begin(&mut self) -> Result<Turn, StoreError> {
        self.expect_the_file()?;
        self.write("beginning", |writer| writer.execute_batch("BEGIN IMMEDIATE"))?;
        self.read_schema().inspect_err(|_| {
            // Nothing was written yet; the first error is the one to tell.
            let _ = self.writer.execute_batch("ROLLBACK");
        })?;
        Ok(Turn { now: self.now(), transaction: self.transaction_mark() })
    }

    /// If only the last wait for the disk failed, the log has all of the transaction, and a crash before the next
    /// write would bring it back: then nobody can tell.
    fn commit(&mut self) -> Result<(), NotCommitted> {
        let here = self.expect_the_file();
        let done = here.and_then(|()| self.write("COMMIT", |writer| writer.execute_batch("COMMIT")));
        done.map_err(|error| {
            let is_in_the_log = matches!(&error, StoreError::Sql { code, .. } if *code == SQLITE_IOERR_FSYNC);
            let is_taken_back = self.writer.is_autocommit() || self.writer.execute_batch("ROLLBACK").is_ok();
            if is_taken_back && !is_in_the_log {
                NotCommitted::Refused(error.as_refusal())
            } else {
                NotCommitted::InDoubt(error.to_string())
            }
        })
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

    fn change(&mut self, target: &ActTarget<'_>, statements: &Statements) -> Result<Changed, Failed> {
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
            let is_its_name = self.reader.boards().iter().any(|at| {
                let is_own = at.board().table.eq_ignore_ascii_case(&table.name);
                is_own && at.board().id.iter().any(|id| id.eq_ignore_ascii_case("c.rowid"))
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
        if self.connection().execute("putting the rows back", &sql, &params)? != 1 {
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
        let path = self.reader.path.clone();
        let log = thread::spawn(move || {
            let _uninterrupted = uninterrupted();
            // A convenience: if it fails, the next one who writes finds the log as it is.
            let _ = open::shorten_log(&path);
        });
        Batch { held: Some(began.elapsed()), log: Some(log), ..batch }
    }
}
