//! One SQLite file, read: open, fit profiles to it, poll, list.
//!
//! A poll is one read transaction with one clock, and no transaction outlives it.

use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::fit::Sqlite;
use super::functions;
use super::open::{self, Denied, Identity, Opened, explain};
use super::stream::tally;
use super::watch::{Since, Watch};
use crate::domain::snapshot::Snapshot;
use crate::domain::time::{Moment, Span};
use crate::profile::format::{Engine, Profile};
use crate::profile::rules::Operator;
use crate::store::fit::Ground;
use crate::store::listed::Tally;
use crate::store::options::{Effort, Profiles};
use crate::store::{Prober, Registrations, StoreError, clock};

/// What a reader is told about its source.
#[derive(Debug, Clone)]
pub struct Options {
    pub path: PathBuf,
    pub profiles: Profiles,
    pub operator: Operator,
    pub effort: Effort,
    pub busy_timeout: Duration,
    pub poll_timeout: Duration,
    /// A clock that stands still, for tests on frozen data.
    pub frozen_at: Option<Moment>,
    /// Who asks the kernel about the holders' processes, if that is wanted.
    pub prober: Option<Prober>,
    /// Who was registered before.
    pub registrations: Registrations,
}

/// A profile under watch.
#[derive(Debug)]
pub struct Watched {
    pub name: String,
    pub profile: Profile,
    pub notices: Vec<String>,
    pub boards: Vec<Watch>,
}

/// Owns the connection; lives in a thread of its own.
#[derive(Debug)]
pub struct Reader {
    pub(super) options: Options,
    pub(super) connection: Connection,
    identity: Identity,
    denied: Denied,
    pub(super) watched: Vec<Watched>,
    schema_version: i64,
    /// The data version and the clock of the last poll.
    last: Option<(i64, Moment)>,
    /// The same of the last look of any kind: what was written before it may not have been polled yet.
    looked: Option<(i64, Moment)>,
    out_of_time: Arc<AtomicBool>,
}

impl Reader {
    pub fn open(options: Options) -> Result<Reader, StoreError> {
        let Opened { connection, identity, denied } = open::read_only(&options.path, options.busy_timeout)?;
        let remembered = options.registrations.of(&identity.fingerprint());
        functions::remember(&connection, remembered)
            .map_err(|error| explain(&options.path, &error, options.busy_timeout, "opening"))?;
        let mut reader = Reader {
            options,
            connection,
            identity,
            denied,
            watched: Vec::new(),
            schema_version: -1,
            last: None,
            looked: None,
            out_of_time: Arc::default(),
        };
        reader.fit()?;
        Ok(reader)
    }

    /// One look: a snapshot for every profile that fits.
    pub fn poll(&mut self) -> Result<Vec<Snapshot>, StoreError> {
        let started = Instant::now();
        self.follow_the_path()?;
        self.in_one_transaction("polling", |reader, now, since| {
            for watch in reader.watched.iter_mut().flat_map(|watched| &mut watched.boards) {
                watch.refresh(&reader.connection, now, since, reader.options.effort)?;
            }
            Ok(now)
        })
        .map(|now| {
            self.last = self.looked;
            self.snapshots(now, started)
        })
    }

    /// The same counts by reading every claim one by one: slow, and obviously right.
    pub fn tally(&mut self) -> Result<Vec<Tally>, StoreError> {
        self.in_one_transaction("counting", |reader, now, _| {
            reader.examine_zones(now)?;
            let watches = reader.watched.iter().flat_map(|watched| &watched.boards);
            watches
                .map(|watch| tally(&reader.connection, &watch.board, &watch.reader, now, u64::MAX, 0))
                .collect()
        })
    }

    /// Stands for the state of the data at the last look; another number means that something was written.
    pub fn data_version(&self) -> Option<i64> {
        self.last.map(|(version, _)| version)
    }

    /// Names the database as the trail does.
    pub fn fingerprint(&self) -> String {
        self.identity.fingerprint()
    }

    /// Stops this reader's clock at an instant, or moves it to another.
    pub fn freeze(&mut self, at: Moment) {
        self.options.frozen_at = Some(at);
    }

    fn snapshots(&self, now: Moment, started: Instant) -> Vec<Snapshot> {
        let boards: Vec<Vec<_>> =
            self.watched.iter().map(|watched| watched.boards.iter().map(Watch::snapshot).collect()).collect();
        let poll_cost = Span::micros(i64::try_from(started.elapsed().as_micros()).unwrap_or(i64::MAX));
        self.watched
            .iter()
            .zip(boards)
            .map(|(watched, boards)| Snapshot {
                profile: watched.name.clone(),
                generic: watched.profile.generic,
                now,
                // SQLite has no clock of its own: it is this host's.
                clock_offset: Span::ZERO,
                poll_cost,
                boards,
                notices: watched.notices.clone(),
                replica: None,
                veiled: None,
            })
            .collect()
    }

    /// Notices that the file behind the path is another one, and goes on with that.
    pub(super) fn follow_the_path(&mut self) -> Result<(), StoreError> {
        if Identity::at(&self.options.path)? == self.identity {
            return Ok(());
        }
        // The old connection goes first: closing it later would drop the new one's locks on files
        // that both have open.
        self.identity = Identity::NONE;
        self.connection = Connection::open_in_memory()
            .map_err(|error| self.sentence(&error, "closing the file that was replaced"))?;
        *self = Reader::open(self.options.clone())?;
        Ok(())
    }

    /// Runs `look` inside one read transaction, with the clock at its start.
    pub(super) fn in_one_transaction<T>(
        &mut self,
        doing: &str,
        look: impl FnOnce(&mut Reader, Moment, Since) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
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
        look: impl FnOnce(&mut Reader, Moment, Since) -> rusqlite::Result<T>,
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
        let result = look(self, now, since).map_err(|error| self.sentence(&error, doing))?;
        self.looked = Some((data, now));
        Ok(result)
    }

    /// Asks every board whether its rows contradict its zone.
    pub(super) fn examine_zones(&mut self, now: Moment) -> rusqlite::Result<()> {
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
        run(&self.connection).map_err(|error| self.sentence(&error, doing))
    }

    pub(super) fn sentence(&self, error: &rusqlite::Error, doing: &str) -> StoreError {
        if self.out_of_time.load(Ordering::Relaxed) {
            return StoreError::TooSlow {
                path: self.options.path.clone(),
                limit_ms: self.options.poll_timeout.as_millis(),
            };
        }
        explain(&self.options.path, error, self.options.busy_timeout, doing)
    }

    fn fit(&mut self) -> Result<(), StoreError> {
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
        let ground = Ground {
            dialect: &Sqlite { connection: &self.connection, denied: &self.denied },
            engine: Engine::Sqlite,
            schema: &schema,
            operator: &self.options.operator,
            source: &self.options.path,
        };
        let bound = ground.fitting(&self.options.profiles)?;
        self.watched.clear();
        for profile in bound {
            let mut boards = Vec::new();
            for mut board in profile.boards {
                if let Some(registry) = &mut board.registry {
                    registry.remembered = self.options.registrations.of(&self.identity.fingerprint());
                }
                let now = self.options.frozen_at.unwrap_or_else(clock);
                boards.push(self.sql("planning", |connection| {
                    let mut watch = Watch::new(connection, board, self.options.prober.clone())?;
                    watch.examine_zone(connection, now, Since::Written)?;
                    Ok(watch)
                })?);
            }
            self.watched.push(Watched {
                name: profile.profile.name.clone(),
                profile: profile.profile,
                notices: profile.notices,
                boards,
            });
        }
        Ok(())
    }
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.prepare_cached(&format!("PRAGMA {name}"))?.query_row([], |row| row.get(0))
}
