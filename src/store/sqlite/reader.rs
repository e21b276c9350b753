//! One SQLite file, read: open, fit profiles to it, poll, list.
//!
//! A poll is one read transaction with one clock, and no transaction outlives it.

use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::compiler::{self, Sqlite};
use super::connection::OnConnection;
use super::error::explain;
use super::file_state::{FileChange, FileState, forget_pages, why_it_does_not_open};
use super::functions;
use super::keys::Keys;
use super::open::{self, Denied, FileIdentity, OpenedFile};
use super::watch::{Since, Watch};
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::{Moment, ZoneName};
use crate::domain::verdict::Set;
use crate::store::attempts::{AttemptNumbers, AttemptOrder};
use crate::store::bound::BoundZone;
use crate::store::driver::Failed;
use crate::store::fit::FitTarget;
use crate::store::found::{FoundBoard, RowRef};
use crate::store::look::{Look, LookPurpose, ReadEngine};
use crate::store::schema::{Schema, Table};
use crate::store::suspend::uninterrupted;
use crate::store::watched::{self, BoardAt, PollContext, Watched};
use crate::store::{Filter, Options, StoreError, clock};

/// Owns the connection; lives in a thread of its own.
#[derive(Debug)]
pub struct Reader {
    pub(super) path: PathBuf,
    pub(super) options: Options,
    pub(super) connection: Connection,
    identity: FileIdentity,
    file: FileState,
    /// When the file was last really read, and not what is kept of it.
    read_at: Instant,
    denied: Denied,
    pub(super) watched: Vec<Watched<Watch>>,
    pub(super) keys: Keys,
    schema: Schema,
    schema_version: i64,
    /// The data version and the clock of the last poll.
    last: Option<(i64, Moment)>,
    /// The same of the last look of any kind: what was written before it may not have been polled yet.
    looked: Option<(i64, Moment)>,
    /// Counts the polls that found something written.
    state: i64,
    out_of_time: Arc<AtomicBool>,
}

/// So often everything is read anew, whatever SQLite and the file system say about changes.
const READ_ANEW_AFTER: Duration = Duration::from_secs(10);

impl Reader {
    pub fn open(path: PathBuf, options: Options) -> Result<Reader, StoreError> {
        Reader::open_with(path, options, Keys::default(), 0)
    }

    fn open_with(path: PathBuf, options: Options, keys: Keys, state: i64) -> Result<Reader, StoreError> {
        let opened = open::read_only(&path, options.busy_timeout, &keys)
            .map_err(|error| why_it_does_not_open(&path, error))?;
        let OpenedFile { connection, identity, denied } = opened;
        let remembered = options.registrations.of(&identity.fingerprint());
        functions::remember(&connection, remembered)
            .map_err(|error| explain(&path, &error, options.busy_timeout, "opening"))?;
        let file = FileState::new(&path, &connection)?;
        let mut reader = Reader {
            path,
            options,
            connection,
            identity,
            file,
            read_at: Instant::now(),
            denied,
            watched: Vec::new(),
            keys,
            schema: Schema::default(),
            schema_version: -1,
            last: None,
            looked: None,
            state,
            out_of_time: Arc::default(),
        };
        reader.fit()?;
        Ok(reader)
    }

    /// The board with an identity, if its tables are still there.
    pub(super) fn board(&self, id: &BoardId) -> Option<&Watch> {
        Some(watched::find(&self.watched, id)?.1)
    }

    /// A look through one of the connections to the file, with the tables as that sees them.
    pub(super) fn look_through<'a>(
        &'a self,
        connection: &'a Connection,
        schema: &'a Schema,
        now: Moment,
    ) -> Look<'a> {
        let connection = Box::new(OnConnection { connection, reader: self });
        Look { connection, boards: self.boards(), schema, options: &self.options, now }
    }

    /// Notices that the file behind the path is another one, or was overwritten, and goes on with that.
    pub(super) fn follow_the_path(&mut self) -> Result<(), StoreError> {
        match self.file.check(&self.connection)? {
            FileChange::Same if self.read_at.elapsed() < READ_ANEW_AFTER => return Ok(()),
            FileChange::Same | FileChange::Written => {
                forget_pages(&self.connection, &self.path)?;
                (self.last, self.read_at) = (None, Instant::now());
                return Ok(());
            }
            FileChange::Another => {}
        }
        // The old connection goes first: closing it later would drop the new one's locks on files
        // that both have open.
        self.identity = FileIdentity::NONE;
        self.connection = Connection::open_in_memory()
            .map_err(|error| self.sentence(&error, "closing the file that was replaced"))?;
        let (path, options) = (self.path.clone(), self.options.clone());
        *self = Reader::open_with(path, options, self.keys.clone(), self.state)?;
        Ok(())
    }

    /// Lays the profiles onto the tables again if those have changed.
    pub(super) fn refresh(&mut self) -> Result<(), StoreError> {
        self.follow_the_path()?;
        self.in_one_transaction("reading the tables", |_, _, _| Ok(()))
    }

    /// Begins anew when most of the numbered keys are those of rows that were in trouble once.
    fn forget_old_keys(&mut self) {
        const FEW: u64 = 100_000;
        if self.keys.len() <= FEW {
            return;
        }
        let watches = self.watched.iter().flat_map(|watched| &watched.boards);
        let in_use: u64 = watches.map(Watch::numbers).sum();
        if self.keys.len() > in_use.saturating_mul(2).saturating_add(FEW) {
            self.keys.clear();
            // The sets are made of those numbers.
            self.schema_version = -1;
        }
    }

    /// Runs `look` inside one read transaction, with the clock at its start.
    pub(super) fn in_one_transaction<T>(
        &mut self,
        doing: &str,
        look: impl FnOnce(&mut Reader, Moment, Since) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.reading(doing, |reader, now, since| {
            look(reader, now, since).map_err(|error| reader.sentence(&error, doing))
        })
    }

    fn reading<T>(
        &mut self,
        doing: &str,
        look: impl FnOnce(&mut Reader, Moment, Since) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let _uninterrupted = uninterrupted();
        self.start_the_stopwatch()?;
        let outcome = self.transaction(doing, look);
        // Ends the transaction whatever happened; there is nothing to commit.
        let ended = self.connection.execute_batch("ROLLBACK");
        match outcome {
            Ok(result) => {
                ended.map_err(|error| self.sentence(&error, doing))?;
                Ok(result)
            }
            Err(error) => {
                self.last = None;
                Err(error)
            }
        }
    }

    fn transaction<T>(
        &mut self,
        doing: &str,
        look: impl FnOnce(&mut Reader, Moment, Since) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.sql(doing, |connection| connection.execute_batch("BEGIN"))?;
        // The first read takes the snapshot; from here on the data version stands still.
        let schema = self.sql(doing, |connection| pragma(connection, "schema_version"))?;
        let data = self.sql(doing, |connection| pragma(connection, "data_version"))?;
        if schema != self.schema_version {
            self.fit_now()?;
        }
        let now = self.options.frozen_at.unwrap_or_else(clock);
        let since = match self.last {
            Some((version, at)) if version == data && at <= now => Since::Quiet(at),
            _ => Since::Written,
        };
        let result = look(self, now, since)?;
        self.looked = Some((data, now));
        Ok(result)
    }

    /// The clock, if neither a write nor time has changed anything since the last poll.
    ///
    /// The version is asked for outside a transaction: it tells of writes that are over, and the clock is read after it,
    /// as at the start of every poll. Another schema is another version too.
    fn still_now(&self) -> Result<Option<Moment>, StoreError> {
        let Some((version, at)) = self.last else { return Ok(None) };
        if self.sql("polling", |connection| pragma(connection, "data_version"))? != version {
            return Ok(None);
        }
        let now = self.options.frozen_at.unwrap_or_else(clock);
        let mut boards = self.watched.iter().flat_map(|watched| &watched.boards);
        Ok((at <= now && boards.all(|watch| watch.is_still(now))).then_some(now))
    }

    /// Asks every board whether its rows contradict its zone.
    pub(super) fn examine_zones_at(&mut self, now: Moment) -> rusqlite::Result<()> {
        for watch in self.watched.iter_mut().flat_map(|watched| &mut watched.boards) {
            watch.examine_zone(&self.connection, now, Since::Written)?;
        }
        Ok(())
    }

    /// Stops statements that run longer than a poll may take.
    fn start_the_stopwatch(&mut self) -> Result<(), StoreError> {
        let limit = self.options.poll_timeout;
        let started = Instant::now();
        let flag = Arc::clone(&self.out_of_time);
        flag.store(false, Ordering::Relaxed);
        let handler = move || {
            let over = started.elapsed() > limit;
            flag.fetch_or(over, Ordering::Relaxed);
            over
        };
        self.connection
            .progress_handler(20_000, Some(handler))
            .map_err(|error| self.sentence(&error, "setting the time limit"))
    }

    pub(super) fn sql<T>(
        &self,
        doing: &str,
        run: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let _uninterrupted = uninterrupted();
        run(&self.connection).map_err(|error| self.sentence(&error, doing))
    }

    /// Lets statements run as long as they take, until the next transaction.
    pub(super) fn stop_the_stopwatch(&mut self) -> Result<(), StoreError> {
        let stopped = self.connection.progress_handler(0, None::<fn() -> bool>);
        stopped.map_err(|error| self.sentence(&error, "lifting the time limit"))
    }

    pub(super) fn sentence(&self, error: &rusqlite::Error, doing: &str) -> StoreError {
        if self.out_of_time.load(Ordering::Relaxed) {
            let (path, limit_ms) = (self.path.clone(), self.options.poll_timeout.as_millis());
            return StoreError::TooSlow { path, limit_ms };
        }
        explain(&self.path, error, self.options.busy_timeout, doing)
    }

    fn fit(&mut self) -> Result<(), StoreError> {
        let _uninterrupted = uninterrupted();
        self.start_the_stopwatch()?;
        self.sql("reading the schema", |connection| connection.execute_batch("BEGIN"))?;
        let fitted = self.fit_now();
        let ended = self.sql("reading the schema", |connection| connection.execute_batch("ROLLBACK"));
        fitted.and(ended)
    }

    /// Lays the profiles onto the schema as it is in the current transaction.
    fn fit_now(&mut self) -> Result<(), StoreError> {
        self.schema_version =
            self.sql("reading the schema", |connection| pragma(connection, "schema_version"))?;
        self.last = None;
        let schema = self.sql("reading the schema", super::schema::read)?;
        let compiler = Sqlite { connection: &self.connection, denied: &self.denied };
        let ground = FitTarget { compiler: &compiler, schema: &schema, options: &self.options };
        let remembered = self.options.registrations.of(&self.identity.fingerprint());
        let now = self.options.frozen_at.unwrap_or_else(clock);
        self.watched = Watched::all(ground.fitting()?, &remembered, |board| {
            self.sql("planning", |connection| {
                let mut watch = Watch::new(connection, board, &schema, self.options.prober.clone())?;
                watch.examine_zone(connection, now, Since::Written)?;
                Ok(Some(watch))
            })
        })?;
        self.schema = schema;
        Ok(())
    }
}

impl ReadEngine for Reader {
    fn options(&self) -> &Options {
        &self.options
    }

    fn freeze(&mut self, at: Moment) {
        self.options.frozen_at = Some(at);
    }

    fn fingerprint(&self) -> String {
        self.identity.fingerprint()
    }

    fn data_version(&self) -> Option<i64> {
        self.last.map(|_| self.state)
    }

    fn boards(&self) -> Vec<BoardAt<'_>> {
        BoardAt::all(&self.watched)
    }

    fn poll(&mut self) -> Result<Vec<Snapshot>, StoreError> {
        let started = Instant::now();
        self.follow_the_path()?;
        if let Some(now) = self.still_now()? {
            return Ok(PollContext::default().snapshots(&self.watched, now, started));
        }
        self.forget_old_keys();
        let before = self.state;
        let now = self.in_one_transaction("polling", |reader, now, since| {
            for watch in reader.watched.iter_mut().flat_map(|watched| &mut watched.boards) {
                watch.refresh(&reader.connection, now, since, reader.options.effort)?;
            }
            reader.state += i64::from(since == Since::Written);
            Ok(now)
        })?;
        self.last = self.looked;
        if self.state != before {
            self.file.note_log(&self.connection)?;
        }
        // SQLite has no clock of its own: it is this host's.
        Ok(PollContext::default().snapshots(&self.watched, now, started))
    }

    fn look(
        &mut self,
        doing: &str,
        purpose: LookPurpose,
        look: &mut dyn FnMut(&mut Look<'_>) -> Result<(), Failed>,
    ) -> Result<(), StoreError> {
        self.follow_the_path()?;
        self.reading(doing, |reader, now, _| {
            if purpose == LookPurpose::Act {
                reader.stop_the_stopwatch()?;
            }
            Ok(look(&mut reader.look_through(&reader.connection, &reader.schema, now))?)
        })
    }

    fn examine_zones(&mut self) -> Result<(), StoreError> {
        self.follow_the_path()?;
        self.in_one_transaction("looking at the times", |reader, now, _| reader.examine_zones_at(now))
    }

    fn find_worst(&mut self, board: &BoardId, filter: &Filter) -> Result<Option<Vec<RowRef>>, StoreError> {
        self.worst(board, filter)
    }

    fn find_in_sets(&mut self, board: &BoardId, sets: &[Set]) -> Result<Option<Vec<RowRef>>, StoreError> {
        self.in_sets(board, sets)
    }

    fn find_all(&mut self, filter: &Filter) -> Result<Vec<FoundBoard>, StoreError> {
        self.members(filter)
    }

    fn zone(&mut self, name: &ZoneName, _: &Table) -> Result<Option<BoundZone>, StoreError> {
        Ok(compiler::zone(name).ok())
    }

    /// Attempts that go by a UUID have a number all the same: that of their row.
    fn attempt_order(&mut self, table: &Table) -> Result<Option<AttemptOrder>, StoreError> {
        let is_number = |declared: &str| declared.to_ascii_uppercase().contains("INT");
        let number = match table.column("id") {
            Some(id) if is_number(&id.declared) => "id",
            Some(_) | None if table.has_rowid => "rowid",
            Some(_) | None => return Ok(None),
        };
        Ok(Some(AttemptOrder { number: number.into(), numbers: AttemptNumbers::Serial }))
    }
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.prepare_cached(&format!("PRAGMA {name}"))?.query_row([], |row| row.get(0))
}
