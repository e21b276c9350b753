//! A worker's connection: its transactions, its clock, its events.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cells::moment;
use crate::domain::time::Moment;
use crate::postgres::{Begin, Limits, Link, PgError, Purpose, Row, Target};
use crate::reference::System;
use crate::reference::postgres::{PostgresError, Wrapper, install};
use crate::worker::{Clock, Event, EventSink, NoEvents, WorkerError};

/// A database that workers share.
pub struct Database {
    target: Target,
    link: Link,
    clock: Clock,
    sink: Arc<dyn EventSink>,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("target", &self.target).finish_non_exhaustive()
    }
}

/// A locked row is waited for as long as SQLite's lock would be.
const LIMITS: Limits = Limits {
    statement: Duration::from_secs(30),
    lock: Duration::from_secs(5),
    answer: Duration::from_secs(35),
};

impl Database {
    pub fn open(target: &Target) -> Result<Database, WorkerError> {
        let link = Link::open(target, Purpose::Acts, LIMITS)?.by_search_path();
        Ok(Database { target: target.clone(), link, clock: Clock::system(), sink: Arc::new(NoEvents) })
    }

    /// The clock of the database decides, unless a standing clock is given.
    pub fn with_clock(self, clock: Clock) -> Database {
        Database { clock, ..self }
    }

    pub fn with_events(self, sink: Arc<dyn EventSink>) -> Database {
        Database { sink, ..self }
    }

    /// Creates the tables of these systems where they are missing, all or none. Tables that exist are compared;
    /// columns that a later version brought are added, and nothing else is altered.
    pub fn create_tables(&mut self, systems: &[System]) -> Result<(), PostgresError> {
        let mut link = Link::open(&self.target, Purpose::Acts, LIMITS)?;
        install(&mut link, systems, Wrapper::Without)?;
        Ok(())
    }

    /// One transaction. `work` adds events, which the sink receives after the commit. A lost connection is reopened
    /// first.
    pub(super) fn change<T>(
        &mut self,
        work: impl FnOnce(&mut WorkerTransaction<'_>) -> Result<T, WorkerError>,
    ) -> Result<T, WorkerError> {
        let started = Instant::now();
        let (done, events) = self.transact(Begin::Acting, work).map_err(|error| match error {
            WorkerError::Server(error) if is_busy(&error) => {
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
        &mut self,
        work: impl FnOnce(&mut WorkerTransaction<'_>) -> Result<T, WorkerError>,
    ) -> Result<T, WorkerError> {
        self.transact(Begin::Reading, work).map(|(seen, _)| seen)
    }

    fn transact<T>(
        &mut self,
        begin: Begin,
        work: impl FnOnce(&mut WorkerTransaction<'_>) -> Result<T, WorkerError>,
    ) -> Result<(T, Vec<Event>), WorkerError> {
        if !self.link.is_open() {
            self.link = Link::open(&self.target, Purpose::Acts, LIMITS)?.by_search_path();
        }
        self.link.begin(begin)?;
        let mut transaction =
            WorkerTransaction { link: &mut self.link, clock: &self.clock, events: Vec::new() };
        match work(&mut transaction) {
            Ok(done) => {
                let events = transaction.events;
                self.link.commit().map_err(|error| match error.ends_the_link() {
                    true => WorkerError::Unknown(error),
                    false => WorkerError::Server(error),
                })?;
                Ok((done, events))
            }
            Err(error) => {
                // A lost connection has been rolled back by the server.
                let _ = self.link.rollback();
                Err(error)
            }
        }
    }
}

/// A lock timeout or a deadlock: it may succeed the next time.
fn is_busy(error: &PgError) -> bool {
    matches!(error.code(), Some("55P03" | "40P01" | "40001"))
}

/// A running transaction.
pub(super) struct WorkerTransaction<'a> {
    link: &'a mut Link,
    clock: &'a Clock,
    events: Vec<Event>,
}

impl WorkerTransaction<'_> {
    /// The current time; to be read after all locks that may have to be waited for.
    pub(super) fn now(&mut self) -> Result<Moment, WorkerError> {
        if let Some(set) = self.clock.set_to() {
            return Ok(set);
        }
        let rows = self.link.query("SELECT clock_timestamp()::text", &[])?;
        let now = rows.first().and_then(|row| moment(row, 0));
        now.ok_or_else(|| WorkerError::Invalid("the server's clock tells no time".into()))
    }

    pub(super) fn tell(&mut self, events: impl IntoIterator<Item = Event>) {
        self.events.extend(events);
    }

    pub(super) fn query(&mut self, sql: &str, values: &[Option<&str>]) -> Result<Vec<Row>, WorkerError> {
        Ok(self.link.query(sql, values)?)
    }

    /// The first row, if there is one.
    pub(super) fn first(&mut self, sql: &str, values: &[Option<&str>]) -> Result<Option<Row>, WorkerError> {
        Ok(self.query(sql, values)?.into_iter().next())
    }

    pub(super) fn execute(&mut self, sql: &str, values: &[Option<&str>]) -> Result<u64, WorkerError> {
        Ok(self.link.execute(sql, values)?)
    }
}
