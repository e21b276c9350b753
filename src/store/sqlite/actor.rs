//! One SQLite file, acted on: look at a claim, then change exactly that, or say what moved.
//!
//! Everything happens inside one `BEGIN IMMEDIATE` transaction: the row is read again, compared
//! with what was seen, judged again, changed by a statement that carries every one of its columns
//! as a guard, and recorded before the commit.

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::types::Value as SqlValue;

use super::act::{Statements, statements};
use super::audit_table;
use super::file_state::{FileChange, FileState, forget_pages};
use super::functions;
use super::image::{InFile, number_of, row_at};
use super::open::{self, Identity};
use super::reader::{Options, Reader};
use super::run::{bind_known, count, now_value};
use super::touched;
use super::watch::Watch;
use crate::domain::recovery::{Clue, Moved, Outcome, Refusal, Unknown, permit};
use crate::domain::time::Moment;
use crate::store::act::{Acted, Note, Order, Pending, Recorder, unrecorded};
use crate::store::image::{Change, Image, RowAt};
use crate::store::schema::Schema;
use crate::store::seen::{Place, Seen};
use crate::store::side_effects::SideEffects;
use crate::store::{StoreError, clock};

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

    pub fn reader(&mut self) -> &mut Reader {
        &mut self.reader
    }

    pub(super) fn now(&self) -> Moment {
        self.reader.options.frozen_at.unwrap_or_else(clock)
    }

    pub(super) fn watch(&self, place: Place) -> &Watch {
        &self.reader.watched[place.profile].boards[place.board]
    }

    /// Where a claim is now that was seen there: the number of its key may be another by now.
    pub(super) fn place_of(&self, seen: &Seen) -> Place {
        let table = self.schema.table(&self.watch(seen.place).board.table);
        let number = |table| number_of(table, &seen.row, seen.place.rowid, &self.reader.keys);
        Place { rowid: table.map_or(seen.place.rowid, number), ..seen.place }
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

    /// Every act of a sweep in `claimtop_audit` since an instant.
    pub fn each_swept_since(
        &mut self,
        since: Moment,
        each: &mut dyn FnMut(&str, &str),
    ) -> Result<(), StoreError> {
        self.read_schema()?;
        if self.schema.table(audit_table::NAME).is_none() {
            return Ok(());
        }
        self.write("reading claimtop_audit", |writer| audit_table::each_swept_since(writer, since, each))
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
        self.expect_the_file()?;
        self.write("beginning", |writer| writer.execute_batch("BEGIN IMMEDIATE"))?;
        self.read_schema().inspect_err(|_| {
            // Nothing was written yet; the first error is the one to tell.
            let _ = self.writer.execute_batch("ROLLBACK");
        })
    }

    /// That the file is the one that was opened, with nothing of it remembered that is no longer in it.
    pub(super) fn expect_the_file(&mut self) -> Result<(), StoreError> {
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

    /// Commits what was applied and takes everything else back.
    pub(super) fn end(
        &mut self,
        acted: Result<Acted, StoreError>,
        dry_run: bool,
    ) -> Result<Acted, StoreError> {
        let commit = matches!(&acted, Ok(Acted { outcome: Outcome::Applied, .. })) && !dry_run;
        let ending = if commit { "COMMIT" } else { "ROLLBACK" };
        let expected = if commit { self.expect_the_file() } else { Ok(()) };
        let ended = expected.and_then(|()| self.write(ending, |writer| writer.execute_batch(ending)));
        if let Err(error) = ended {
            let taken_back = self.take_back_after(&error);
            return match acted {
                Ok(acted) if taken_back => Ok(Acted {
                    preview: acted.preview,
                    ..Acted::nothing(Outcome::Refused(error.as_refusal()))
                }),
                Ok(acted) => Ok(Acted {
                    outcome: Outcome::Unknown(Unknown { error: error.to_string(), clue: Clue::NotSought }),
                    ..acted
                }),
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
            return Ok(Acted::nothing(Outcome::Moved(Moved::TablesChanged)));
        }
        let fresh = self.look(&self.writer, self.place_of(seen), now)?;
        let Some(fresh) = fresh else {
            return Ok(Acted::nothing(Outcome::Moved(Moved::NoLongerClaimed)));
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
        let may_reach_others = self.schema.is_entangled(&table);
        let changes = match self.run(&table, fresh.place.rowid, &fresh.row, &statements)? {
            Ok(changes) => changes,
            Err(outcome) => return Ok(Acted { preview, ..Acted::nothing(outcome) }),
        };
        let transaction = self.transaction_mark();
        let mut effects = self.side_effects(&fresh, &changes);
        effects.still_held = may_reach_others && order.action.frees() && self.is_held_still(&fresh)?;
        let acted = Acted { outcome: Outcome::Applied, changes, preview, transaction, effects };
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
            transaction: acted.transaction.as_deref(),
        };
        if let Err(problem) = record(&pending) {
            return Ok(Acted::nothing(unrecorded(&problem)));
        }
        let (action, address, word) = (order.action.as_str(), &pending.address, order.word);
        let note = Note { action, address, word, changes: &acted.changes };
        self.note(|| order.action_id.into(), now, &note)?;
        Ok(acted)
    }

    /// What an act did to other rows of tables with claims.
    fn side_effects(&self, fresh: &Seen, changes: &[Change]) -> SideEffects {
        let table = &self.watch(fresh.place).board.table;
        let own = self.row_at(table, fresh.place.rowid);
        let is_own = |change: &Change| change.at == own && change.table.eq_ignore_ascii_case(table);
        let boards = self.reader.watched.iter().flat_map(|watched| &watched.boards);
        SideEffects::of(changes, is_own, &boards.map(|watch| &watch.board))
    }

    /// Whether its holder has the claim although it was just taken: a trigger may have put it back.
    fn is_held_still(&self, fresh: &Seen) -> Result<bool, StoreError> {
        let board = &self.watch(fresh.place).board;
        let claim = &fresh.judged.claim;
        let mut values = vec![(":now".to_owned(), now_value(board, fresh.now))];
        let mut conditions = vec![board.is_held().to_string()];
        let holder = board.holder.as_ref().map(|holder| &holder.text);
        let holder_is = holder.map(|sql| (sql, claim.holder.clone().map_or(SqlValue::Null, SqlValue::Text)));
        let key = board.id.iter().zip(claim.key.0.iter().map(super::cell::to_sql));
        for (at, (sql, value)) in key.chain(holder_is).enumerate() {
            conditions.push(format!("{sql} IS :part{at}"));
            values.push((format!(":part{at}"), value));
        }
        let sql = format!("SELECT count(*) FROM {} WHERE {}", board.joined(), conditions.join(" AND "));
        Ok(self.write("looking at the claim again", |writer| count(writer, &sql, &values))? > 0)
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
            return Ok(Err(Outcome::Refused(Refusal::Blocked)));
        }
        if statements.is_alone() && !self.schema.is_entangled(&table.name) {
            let before = Some(row.clone());
            if self.write("acting", |writer| statements.run_act(writer))? != 1 {
                return Ok(Err(Outcome::Moved(Moved::AtTheLastMoment)));
            }
            let after = self.write("reading it again", |writer| Image::read(writer, table, rowid))?;
            return Ok(Ok(vec![Change {
                table: table.name.clone(),
                at: row_at(table, rowid, &self.reader.keys),
                before,
                after,
            }]));
        }
        let outcome = touched::run(&mut self.writer, &self.schema, &self.reader.keys, |writer| {
            statements.run_all(writer)
        });
        match outcome.map_err(|error| self.reader.sentence(&error, "acting"))? {
            Some(changes) => Ok(Ok(changes)),
            None => Ok(Err(Outcome::Moved(Moved::AtTheLastMoment))),
        }
    }
}
