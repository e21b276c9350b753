//! One SQLite file, acted on. Everything of an act happens inside one `BEGIN IMMEDIATE` transaction, which keeps all
//! other writers out.

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::audit_table;
use super::file_state::{FileChange, FileState, forget_pages};
use super::functions;
use super::image::{number_of, read_row, row_at};
use super::keys::RowSql;
use super::open::{self, Identity};
use super::reader::{Options, Reader};
use super::run::now_value;
use super::watch::Watch;
use crate::domain::board_id::BoardId;
use crate::domain::time::Moment;
use crate::store::audit_table::NAME;
use crate::store::driver::NotCommitted;
use crate::store::image::{Image, RowAt};
use crate::store::schema::Schema;
use crate::store::seen::{Place, Rows, Seen};
use crate::store::suspend::uninterrupted;
use crate::store::{StoreError, TransactionMark, clock};

/// Reads like a [`Reader`] and can write.
#[derive(Debug)]
pub struct Actor {
    pub(super) reader: Reader,
    pub(super) writer: Connection,
    pub(super) schema: Schema,
    schema_version: i64,
    identity: Identity,
    file: FileState,
}

impl Drop for Actor {
    fn drop(&mut self) {
        // Whatever it finds, it sees to it that a log is not moved into a file that is not its own.
        let _ = self.expect_the_file();
    }
}

impl Actor {
    pub fn open(options: Options) -> Result<Actor, StoreError> {
        let reader = Reader::open(options)?;
        let path = &reader.options.path;
        let writer = open::read_write(path, reader.options.busy_timeout, &reader.keys)?;
        let identity = Identity::at(path)?;
        let remembered = reader.options.registrations.of(&identity.fingerprint());
        functions::remember(&writer, remembered).map_err(|error| reader.sentence(&error, "opening"))?;
        reader.options.protected.admit(&path.display().to_string(), &identity.fingerprint())?;
        let file = FileState::new(path, &reader.connection)?;
        let schema = Schema::default();
        let mut actor = Actor { reader, writer, schema, schema_version: -1, identity, file };
        actor.read_schema()?;
        Ok(actor)
    }

    /// Lays the profiles onto the tables again if those have changed. An error if the path leads to another file.
    pub fn refresh(&mut self) -> Result<(), StoreError> {
        self.expect_the_file()?;
        self.reader.refresh()
    }

    /// Reads the schema anew if it has changed: a column that came since is compared like any other.
    pub(super) fn read_schema(&mut self) -> Result<(), StoreError> {
        let version = self.write("reading the schema", |writer| {
            writer.prepare_cached("PRAGMA schema_version")?.query_row([], |row| row.get(0))
        })?;
        if version != self.schema_version {
            self.schema = self.write("reading the schema", super::schema::read)?;
            self.schema_version = version;
        }
        Ok(())
    }

    pub(super) fn now(&self) -> Moment {
        self.reader.options.frozen_at.unwrap_or_else(clock)
    }

    /// The board with an identity, if its tables are still there.
    pub(super) fn watch(&self, id: &BoardId) -> Option<&Watch> {
        self.reader.board(id)
    }

    /// Where a claim is now that was seen there: the number of its key may be another by now.
    pub(super) fn place_of(&self, seen: &Seen) -> Place {
        match self.watch(&seen.place.board) {
            Some(watch) => self.renumbered(&watch.board.table, &seen.row, &seen.place),
            None => seen.place.clone(),
        }
    }

    pub(super) fn renumbered(&self, table: &str, row: &Image, place: &Place) -> Place {
        let number = |table| number_of(table, row, place.rowid, &self.reader.keys);
        Place { rowid: self.schema.table(table).map_or(place.rowid, number), board: place.board.clone() }
    }

    /// Where a row is, in words that last.
    pub(super) fn row_at(&self, table: &str, rowid: i64) -> RowAt {
        let table = self.schema.table(table);
        table.map_or(RowAt::Rowid(rowid), |table| row_at(table, rowid, &self.reader.keys))
    }

    /// Tells this file from every other, also after a rename.
    pub fn fingerprint(&self) -> String {
        self.identity.fingerprint()
    }

    /// Makes the table in which acts are recorded in their own transaction.
    pub(super) fn create_table_of_records(&mut self) -> Result<(), StoreError> {
        let path = &self.reader.options.path;
        let waited = self.reader.options.busy_timeout;
        // A connection of its own: this one may not change the schema, and should not.
        let made = Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE).and_then(
            |connection| {
                connection.busy_timeout(waited)?;
                audit_table::create(&connection)
            },
        );
        made.map_err(|error| self.reader.sentence(&error, "making claimtop_audit"))
    }

    /// Takes the write lock, on the file that the path leads to.
    pub(super) fn take_write_lock(&mut self) -> Result<(), StoreError> {
        self.expect_the_file()?;
        self.write("beginning", |writer| writer.execute_batch("BEGIN IMMEDIATE"))?;
        self.read_schema().inspect_err(|_| {
            // Nothing was written yet; the first error is the one to tell.
            let _ = self.writer.execute_batch("ROLLBACK");
        })
    }

    /// That the file is the one that was opened, with nothing of it remembered that is no longer in it.
    fn expect_the_file(&mut self) -> Result<(), StoreError> {
        let path = self.reader.options.path.clone();
        let checked = self.file.check(&self.reader.connection).and_then(|change| match change {
            FileChange::Same => self.file.note_log(&self.reader.connection),
            FileChange::Written => forget_pages(&self.writer, &path),
            FileChange::Another => Err(StoreError::Replaced { path: path.clone() }),
        });
        checked.inspect_err(|_| {
            // The log of the old file must not be moved into the new one when this connection ends. That
            // it cannot be told so is no other problem than the one that is reported.
            let _ = self.writer.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        })
    }

    /// Commits on the file that the path leads to. If only the last wait for the disk failed, the log has all of the
    /// transaction, and a crash before the next write would bring it back: then nobody can tell.
    pub(super) fn commit_to_the_file(&mut self) -> Result<(), NotCommitted> {
        let done = self
            .expect_the_file()
            .and_then(|()| self.write("COMMIT", |writer| writer.execute_batch("COMMIT")));
        done.map_err(|error| {
            let is_in_the_log =
                matches!(&error, StoreError::Sql { code, .. } if *code == rusqlite::ffi::SQLITE_IOERR_FSYNC);
            let is_taken_back = self.writer.is_autocommit() || self.writer.execute_batch("ROLLBACK").is_ok();
            if is_taken_back && !is_in_the_log {
                NotCommitted::Refused(error.as_refusal())
            } else {
                NotCommitted::InDoubt(error.to_string())
            }
        })
    }

    pub(super) fn write<T>(
        &self,
        doing: &str,
        run: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        run(&self.writer).map_err(|error| self.reader.sentence(&error, doing))
    }

    /// By what it can be asked later what became of the transaction that has begun.
    pub(super) fn transaction_mark(&self) -> Option<String> {
        let is_audited = self.schema.table(NAME).is_some();
        TransactionMark { is_audited, ..TransactionMark::default() }.text()
    }

    /// A claim as it is now, if it is one.
    pub(super) fn look(
        &self,
        connection: &Connection,
        place: &Place,
        now: Moment,
    ) -> Result<Option<Seen>, StoreError> {
        let _uninterrupted = uninterrupted();
        let Some(watch) = self.watch(&place.board) else { return Ok(None) };
        let look = || -> rusqlite::Result<Option<Seen>> {
            let Some(judged) = watch.fetch(connection, place.rowid, now, true)? else { return Ok(None) };
            let Some(table) = self.schema.table(&watch.board.table) else { return Ok(None) };
            let Some(row) = read_row(connection, table, place.rowid)? else { return Ok(None) };
            let session = self.session_row(connection, watch, place.rowid, now)?;
            let rows = Rows { row, version: None, spot: None, session };
            Ok(Some(Seen::new(place.clone(), judged, rows, &watch.board.rules, now)))
        };
        look().map_err(|error| self.reader.sentence(&error, "looking at the claim"))
    }

    /// The whole row of the claim's holder in the registry.
    fn session_row(
        &self,
        connection: &Connection,
        watch: &Watch,
        rowid: i64,
        now: Moment,
    ) -> rusqlite::Result<Option<Image>> {
        let (Some(registry), Some(holder)) = (&watch.board.registry, &watch.board.holder) else {
            return Ok(None);
        };
        let Some(table) = self.schema.table(&registry.table) else { return Ok(None) };
        let sql = format!(
            "SELECT {} FROM {} JOIN {} ON {} = {} WHERE {}",
            RowSql::sessions(registry).number(),
            watch.board.from,
            registry.from,
            registry.id.text,
            holder.text,
            watch.rows.is(":rowid"),
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let values = [(":rowid".into(), rowid.into()), (":now".into(), now_value(&watch.board, now))];
        super::run::bind_known(&mut statement, &values)?;
        let mut rows = statement.raw_query();
        match rows.next()? {
            Some(row) => read_row(connection, table, row.get(0)?),
            None => Ok(None),
        }
    }
}
