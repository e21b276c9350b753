//! A worker's connection: its queue lock, its clock, its events.

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::error::WorkerError;
use super::events::{Event, EventSink, NoEvents};
use super::fair_queue::FairQueue;
use crate::domain::time::Moment;
use crate::reference::{InstallError, System, install};

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A crash of the worker. A power failure may lose the last commits, but never damages the file (`NORMAL`).
    #[default]
    Normal,
    /// A power failure as well (`FULL`).
    Full,
}

/// A database that workers share.
pub struct Database {
    connection: Connection,
    queue: FairQueue,
    clock: Clock,
    sink: Arc<dyn EventSink>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("path", &self.connection.path()).finish_non_exhaustive()
    }
}

/// How long an operation waits for others before it fails as busy.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

impl Database {
    /// Opens or creates the file, in WAL mode and with foreign keys on, as coordination does.
    pub fn open(path: &Path) -> Result<Database, WorkerError> {
        let opened = Connection::open(path).and_then(|connection| {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            connection.pragma_update(None, "foreign_keys", true)?;
            Ok(connection)
        });
        let connection = opened.map_err(|source| WorkerError::Open { path: path.into(), source })?;
        Ok(Database {
            connection,
            queue: FairQueue::at(path),
            clock: Clock::system(),
            sink: Arc::new(NoEvents),
        })
    }

    pub fn with_clock(self, clock: Clock) -> Database {
        Database { clock, ..self }
    }

    pub fn with_events(self, sink: Arc<dyn EventSink>) -> Database {
        Database { sink, ..self }
    }

    pub fn with_durability(self, durability: Durability) -> Result<Database, WorkerError> {
        let word = match durability {
            Durability::Normal => "NORMAL",
            Durability::Full => "FULL",
        };
        self.connection.pragma_update(None, "synchronous", word)?;
        Ok(self)
    }

    /// Creates the tables of these systems where they are missing, all or none. Tables that exist are compared;
    /// columns that a later version brought are added, and nothing else is altered.
    pub fn create_tables(&mut self, systems: &[System]) -> Result<(), InstallError> {
        install(&mut self.connection, systems).map(|_| ())
    }

    /// One `BEGIN IMMEDIATE` transaction. `work` gets the time at which the lock was acquired, and adds events, which
    /// the sink receives after the commit.
    pub(super) fn change<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>, Moment, &mut Vec<Event>) -> Result<T, WorkerError>,
    ) -> Result<T, WorkerError> {
        let started = Instant::now();
        self.queue.take(BUSY_TIMEOUT);
        let mut events = Vec::new();
        let done = run(&mut self.connection, &self.clock, &mut events, work);
        self.queue.leave();
        let done = done.map_err(|error| match error {
            WorkerError::Sql(error) if is_busy(&error) => {
                WorkerError::Busy { waited_ms: started.elapsed().as_millis() }
            }
            other => other,
        })?;
        for event in &events {
            self.sink.receive(event);
        }
        Ok(done)
    }

    /// A read-only transaction at one instant.
    pub(super) fn look<T>(
        &self,
        work: impl FnOnce(&Connection, Moment) -> Result<T, WorkerError>,
    ) -> Result<T, WorkerError> {
        let transaction = self.connection.unchecked_transaction()?;
        let seen = work(&transaction, self.clock.now())?;
        transaction.finish()?;
        Ok(seen)
    }
}

fn run<T>(
    connection: &mut Connection,
    clock: &Clock,
    events: &mut Vec<Event>,
    work: impl FnOnce(&Transaction<'_>, Moment, &mut Vec<Event>) -> Result<T, WorkerError>,
) -> Result<T, WorkerError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = work(&transaction, clock.now(), events)?;
    transaction.commit()?;
    Ok(done)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}
