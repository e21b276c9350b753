//! One SQLite file, acted on: look at a claim, then change exactly that, or say what moved.
//!
//! Everything happens inside one `BEGIN IMMEDIATE` transaction: the row is read again, compared
//! with what was seen, judged again, changed by a statement that carries every one of its columns
//! as a guard, and recorded before the commit.

use rusqlite::Connection;

use super::act::{Statements, statements};
use super::audit_table;
use super::functions;
use super::image::InFile;
use super::open::{self, Identity};
use super::reader::{Options, Reader};
use super::run::bind_known;
use super::touched;
use super::watch::Watch;
use crate::domain::recovery::{Outcome, permit};
use crate::domain::time::Moment;
use crate::store::act::{
    AT_THE_LAST_MOMENT, Acted, NO_LONGER_CLAIMED, Note, Order, Pending, Recorder, TABLES_CHANGED,
};
use crate::store::image::{Change, Image, RowAt};
use crate::store::schema::Schema;
use crate::store::seen::{Place, Seen};
use crate::store::{StoreError, clock};

/// Reads like a [`Reader`] and can write.
#[derive(Debug)]
pub struct Actor {
    pub(super) reader: Reader,
    pub(super) writer: Connection,
    pub(super) schema: Schema,
    schema_version: i64,
    identity: Identity,
}

impl Actor {
    pub fn open(options: Options) -> Result<Actor, StoreError> {
        let reader = Reader::open(options)?;
        let path = &reader.options.path;
        let writer = open::read_write(path, reader.options.busy_timeout)?;
        let identity = Identity::at(path)?;
        let remembered = reader.options.registrations.of(&identity.fingerprint());
        functions::remember(&writer, remembered).map_err(|error| reader.sentence(&error, "opening"))?;
        let mut actor = Actor { reader, writer, schema: Schema::default(), schema_version: -1, identity };
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

    pub fn reader(&mut self) -> &mut Reader {
        &mut self.reader
    }

    pub(super) fn now(&self) -> Moment {
        self.reader.options.frozen_at.unwrap_or_else(clock)
    }

    pub(super) fn watch(&self, place: Place) -> &Watch {
        &self.reader.watched[place.profile].boards[place.board]
    }

    /// Tells this file from every other, also after a rename.
    pub fn fingerprint(&self) -> String {
        self.identity.fingerprint()
    }

    /// Makes the table in which acts are recorded in their own transaction.
    pub fn create_audit_table(&mut self) -> Result<(), StoreError> {
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

    /// Does `order` to exactly what was `seen`. Nothing is written unless the outcome is applied.
    pub fn act(
        &mut self,
        seen: &Seen,
        order: &Order<'_>,
        record: &mut Recorder<'_>,
    ) -> Result<Acted, StoreError> {
        self.begin()?;
        let acted = self.act_inside(seen, order, record);
        self.end(acted, order.dry_run)
    }

    /// Takes the write lock, on the file that the path leads to.
    pub(super) fn begin(&mut self) -> Result<(), StoreError> {
        if Identity::at(&self.reader.options.path)? != self.identity {
            return Err(StoreError::Replaced { path: self.reader.options.path.clone() });
        }
        self.write("beginning", |writer| writer.execute_batch("BEGIN IMMEDIATE"))?;
        self.read_schema().inspect_err(|_| {
            // Nothing was written yet; the first error is the one to tell.
            let _ = self.writer.execute_batch("ROLLBACK");
        })
    }

    /// Commits what was applied and takes everything else back.
    pub(super) fn end(
        &mut self,
        acted: Result<Acted, StoreError>,
        dry_run: bool,
    ) -> Result<Acted, StoreError> {
        let commit = matches!(&acted, Ok(Acted { outcome: Outcome::Applied, .. })) && !dry_run;
        let ending = if commit { "COMMIT" } else { "ROLLBACK" };
        let ended = self.write(ending, |writer| writer.execute_batch(ending));
        if let Err(error) = ended {
            // A commit that failed has not happened, as long as the transaction can be taken back.
            let taken_back = self.writer.is_autocommit() || self.writer.execute_batch("ROLLBACK").is_ok();
            return match acted {
                Ok(acted) if taken_back => Ok(Acted {
                    preview: acted.preview,
                    ..Acted::nothing(Outcome::Refused(error.to_string()))
                }),
                Ok(acted) => Ok(Acted { outcome: Outcome::Unknown(error.to_string()), ..acted }),
                Err(first) => Err(first),
            };
        }
        acted
    }

    pub(super) fn write<T>(
        &self,
        doing: &str,
        run: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        run(&self.writer).map_err(|error| self.reader.sentence(&error, doing))
    }

    pub(super) fn act_inside(
        &mut self,
        seen: &Seen,
        order: &Order<'_>,
        record: &mut Recorder<'_>,
    ) -> Result<Acted, StoreError> {
        let now = self.now();
        let boards = self.reader.watched.get(seen.place.profile).map_or(0, |watched| watched.boards.len());
        if seen.place.board >= boards {
            return Ok(Acted::nothing(Outcome::Moved(TABLES_CHANGED.into())));
        }
        let fresh = self.look(&self.writer, seen.place, now)?;
        let Some(fresh) = fresh else {
            return Ok(Acted::nothing(Outcome::Moved(NO_LONGER_CLAIMED.into())));
        };
        if let Some(what) = seen.moved(&fresh) {
            return Ok(Acted::nothing(Outcome::Moved(what)));
        }
        let judged = &fresh.judged;
        if let Err(refusal) =
            permit(order.action, &judged.claim, &judged.verdict, fresh.conclusion, order.word)
        {
            return Ok(Acted::nothing(Outcome::Refused(refusal)));
        }
        let watch = self.watch(seen.place);
        let written = &self.reader.watched[seen.place.profile].profile;
        let statements = match statements(written, &self.schema, watch, &fresh, order) {
            Ok(statements) => statements,
            Err(refusal) => return Ok(Acted::nothing(Outcome::Refused(refusal))),
        };
        let preview = if order.dry_run { statements.preview() } else { Vec::new() };
        let table = watch.board.table.clone();
        let changes = match self.run(&table, fresh.place.rowid, &fresh.row, &statements)? {
            Ok(changes) => changes,
            Err(outcome) => return Ok(Acted { preview, ..Acted::nothing(outcome) }),
        };
        let acted = Acted { outcome: Outcome::Applied, changes, preview, transaction: None };
        if order.dry_run {
            return Ok(acted);
        }
        let pending = Pending {
            seen: &fresh,
            profile: &self.reader.watched[seen.place.profile].name,
            board: &self.watch(seen.place).board.name,
            address: self.address(&fresh),
            changes: &acted.changes,
            db_at: now,
            transaction: None,
        };
        if let Err(problem) = record(&pending) {
            return Ok(Acted::nothing(Outcome::Refused(format!(
                "the record could not be written: {problem}"
            ))));
        }
        let (action, address, word) = (order.action.as_str(), &pending.address, order.word);
        let note = Note { action, address, word, changes: &acted.changes };
        self.note(|| order.action_id.into(), now, &note)?;
        Ok(acted)
    }

    /// The record as a row of the same transaction, where the database has the table for it.
    pub(super) fn note(
        &self,
        action_id: impl FnOnce() -> String,
        at: Moment,
        note: &Note<'_>,
    ) -> Result<(), StoreError> {
        if self.schema.table(audit_table::NAME).is_none() {
            return Ok(());
        }
        self.write("writing the record", |writer| {
            audit_table::insert(writer, &action_id(), &at.rfc3339(), note)
        })
    }

    /// Runs the statements of an act on one row and says which rows they changed, and how.
    pub(super) fn run(
        &mut self,
        table: &str,
        rowid: i64,
        row: &Image,
        statements: &Statements,
    ) -> Result<Result<Vec<Change>, Outcome>, StoreError> {
        let Some(table) = self.schema.table(table) else { return Ok(Ok(Vec::new())) };
        let blocked = |writer: &Connection| -> rusqlite::Result<bool> {
            match &statements.blocked_by {
                Some(sql) => {
                    let mut statement = writer.prepare(sql)?;
                    bind_known(&mut statement, &statements.values)?;
                    let mut rows = statement.raw_query();
                    Ok(rows.next()?.is_some())
                }
                None => Ok(false),
            }
        };
        if self.write("asking what forbids it", blocked)? {
            return Ok(Err(Outcome::Refused("the profile forbids it for this claim (blocked_by)".into())));
        }
        if statements.is_alone() && !self.schema.is_entangled(&table.name) {
            let before = Some(row.clone());
            if self.write("acting", |writer| statements.run_act(writer))? != 1 {
                return Ok(Err(Outcome::Moved(AT_THE_LAST_MOMENT.into())));
            }
            let after = self.write("reading it again", |writer| Image::read(writer, table, rowid))?;
            return Ok(Ok(vec![Change {
                table: table.name.clone(),
                at: RowAt::Rowid(rowid),
                before,
                after,
            }]));
        }
        let outcome = touched::run(&mut self.writer, &self.schema, |writer| statements.run_all(writer));
        match outcome.map_err(|error| self.reader.sentence(&error, "acting"))? {
            Some(changes) => Ok(Ok(changes)),
            None => Ok(Err(Outcome::Moved(AT_THE_LAST_MOMENT.into()))),
        }
    }
}
