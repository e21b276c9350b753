//! One SQLite file, acted on. Everything of an act happens inside one `BEGIN IMMEDIATE` transaction, which keeps all
//! other writers out.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use std::path::PathBuf;

use super::file_state::{FileChange, FileState, forget_pages};
use super::functions;
use super::open::{self, FileIdentity};
use super::reader::Reader;
use super::watch::Watch;
use crate::domain::board_id::BoardId;
use crate::domain::time::Moment;
use crate::store::audit_table::NAME;
use crate::store::schema::Schema;
use crate::store::{Options, StoreError, TransactionMark, clock};

/// Reads like a [`Reader`] and can write.
#[derive(Debug)]
pub struct Actor {
    pub(super) reader: Reader,
    pub(super) writer: Connection,
    pub(super) schema: Schema,
    schema_version: i64,
    pub(super) identity: FileIdentity,
    file: FileState,
}

impl Drop for Actor {
    fn drop(&mut self) {
        // Whatever it finds, it sees to it that a log is not moved into a file that is not its own.
        let _ = self.expect_the_file();
    }
}

impl Actor {
    pub fn open(path: PathBuf, options: Options) -> Result<Actor, StoreError> {
        let reader = Reader::open(path, options)?;
        let path = &reader.path;
        let writer = open::read_write(path, reader.options.busy_timeout, &reader.keys)?;
        let identity = FileIdentity::at(path)?;
        let remembered = reader.options.registrations.of(&identity.fingerprint());
        functions::remember(&writer, remembered).map_err(|error| reader.sentence(&error, "opening"))?;
        reader.options.protected.admit(&path.display().to_string(), &identity.fingerprint())?;
        let file = FileState::new(path, &reader.connection)?;
        let schema = Schema::default();
        let mut actor = Actor { reader, writer, schema, schema_version: -1, identity, file };
        actor.read_schema()?;
        Ok(actor)
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

    /// That the file is the one that was opened, with nothing of it remembered that is no longer in it.
    pub(super) fn expect_the_file(&mut self) -> Result<(), StoreError> {
        let path = self.reader.path.clone();
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
}
