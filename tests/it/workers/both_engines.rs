//! Where the systems that are on both engines are tried: the same scenes on each of them.

use claimtop::domain::time::{Moment, Span};
use claimtop::reference::System;
use claimtop::store::postgres::Target;
use claimtop::worker::finalization::{Completion, FinalizationClaim, FinalizationMetrics, StepEnd};
use claimtop::worker::{Clock, Database, Event, WorkerError, postgres};
use claimtop::worker::{executor_jobs, finalization, task_queue};
use serde_json::Value as Json;
use std::sync::{Arc, Mutex};

pub use crate::support::engine::{Engine, engines};
use crate::support::postgres::{PgDatabase, Rows};
use crate::support::{self, NOW};
pub use crate::support::{name_of, uuid_of};

/// A clock that stands at [`NOW`].
pub fn standing() -> Clock {
    Clock::standing_at(Moment::from_micros(NOW * 1_000).expect("a moment"))
}

pub type Heard = Arc<Mutex<Vec<Event>>>;

/// A database with the reference tables of a system.
pub enum Ground {
    Sqlite(Box<support::Database>),
    Postgres(Box<PgDatabase>),
}

impl Ground {
    pub fn new(engine: Engine, system: System) -> Ground {
        match engine {
            Engine::Sqlite => Ground::Sqlite(Box::new(support::Database::new(system.sqlite()))),
            Engine::Postgres => {
                let tables = system.postgres().expect("a system of PostgreSQL");
                Ground::Postgres(Box::new(PgDatabase::new(tables)))
            }
        }
    }

    pub fn engine(&self) -> Engine {
        match self {
            Ground::Sqlite(_) => Engine::Sqlite,
            Ground::Postgres(_) => Engine::Postgres,
        }
    }

    /// How another process or thread gets here: see [`Place`].
    pub fn place(&self) -> Place {
        match self {
            Ground::Sqlite(file) => Place(file.path().to_str().expect("UTF-8").into()),
            Ground::Postgres(database) => Place(database.url()),
        }
    }

    pub fn run(&self, sql: &str) {
        match self {
            Ground::Sqlite(file) => file.connection.execute_batch(sql).expect(sql),
            Ground::Postgres(database) => database.run(sql),
        }
    }

    pub fn rows(&self, sql: &str) -> Rows {
        match self {
            Ground::Sqlite(file) => {
                let mut statement = file.connection.prepare(sql).expect(sql);
                let columns = statement.column_count();
                let rows = statement
                    .query_map([], |row| (0..columns).map(|at| row.get_ref(at).map(support::text)).collect());
                rows.expect(sql).collect::<Result<_, _>>().expect(sql)
            }
            Ground::Postgres(database) => database.query(sql),
        }
    }

    pub fn one<T: Cell>(&self, sql: &str) -> T {
        let mut rows = self.rows(sql);
        assert!(rows.len() == 1 && rows[0].len() == 1, "{} rows from {sql}", rows.len());
        T::of(rows.remove(0).remove(0))
    }

    /// A cell that holds a time.
    pub fn time(&self, sql: &str) -> Moment {
        let text: String = self.one(sql);
        Moment::parse(&text).unwrap_or_else(|| panic!("{text:?} is no time"))
    }

    pub fn check(&self) -> (Json, i32) {
        match self {
            Ground::Sqlite(file) => file.check(),
            Ground::Postgres(database) => database.check(),
        }
    }

    pub fn claim(&self, id: &str) -> Json {
        match self {
            Ground::Sqlite(file) => file.claim(id),
            Ground::Postgres(database) => database.claim(id),
        }
    }
}

/// A database by its path or URL, for those who come to work there.
#[derive(Debug, Clone)]
pub struct Place(pub String);

impl Place {
    fn target(&self) -> Option<Target> {
        self.0.starts_with("postgres").then(|| Target::parse(&self.0, None).expect("a target"))
    }

    fn file(&self, clock: &Clock, heard: &Heard) -> Database {
        let database = Database::open(self.0.as_ref()).expect("a database");
        database.with_clock(clock.clone()).with_events(heard.clone())
    }

    fn server(target: &Target, clock: &Clock, heard: &Heard) -> postgres::Database {
        let database = postgres::Database::open(target).expect("a database");
        database.with_clock(clock.clone()).with_events(heard.clone())
    }

    /// Jobs, with another time to live for some types.
    pub fn jobs(
        &self,
        clock: &Clock,
        heard: &Heard,
        ttls: &[(&str, Span)],
    ) -> Box<dyn executor_jobs::Operations> {
        match self.target() {
            None => {
                let jobs = executor_jobs::ExecutorJobs::new(self.file(clock, heard));
                Box::new(ttls.iter().fold(jobs, |jobs, (kind, ttl)| jobs.with_ttl(kind, *ttl)))
            }
            Some(target) => {
                let database = Place::server(&target, clock, heard);
                let jobs = postgres::executor_jobs::ExecutorJobs::new(database);
                Box::new(ttls.iter().fold(jobs, |jobs, (kind, ttl)| jobs.with_ttl(kind, *ttl)))
            }
        }
    }

    /// Tasks and steps are called by name, and stored by what [`uuid_of`] makes of it.
    pub fn finalization(&self, clock: &Clock, heard: &Heard) -> Named {
        Named(match self.target() {
            None => Box::new(finalization::Finalization::new(self.file(clock, heard))),
            Some(target) => {
                let database = Place::server(&target, clock, heard);
                Box::new(postgres::finalization::Finalization::new(database))
            }
        })
    }

    pub fn task_queue(&self, clock: &Clock, heard: &Heard) -> Box<dyn task_queue::Operations> {
        match self.target() {
            None => Box::new(task_queue::TaskQueue::new(self.file(clock, heard))),
            Some(target) => {
                let database = Place::server(&target, clock, heard);
                Box::new(postgres::task_queue::TaskQueue::new(database))
            }
        }
    }
}

/// What a cell is read as.
pub trait Cell {
    fn of(cell: Option<String>) -> Self;
}

impl Cell for Option<String> {
    fn of(cell: Option<String>) -> Option<String> {
        cell
    }
}

impl Cell for String {
    fn of(cell: Option<String>) -> String {
        cell.expect("a text")
    }
}

impl Cell for i64 {
    fn of(cell: Option<String>) -> i64 {
        String::of(cell).parse().expect("a number")
    }
}

impl Cell for bool {
    fn of(cell: Option<String>) -> bool {
        matches!(String::of(cell).as_str(), "1" | "t" | "true")
    }
}

/// Finalization of tasks that are called by name.
pub struct Named(Box<dyn finalization::Operations>);

impl Named {
    pub fn metrics(&self) -> FinalizationMetrics {
        self.0.metrics()
    }

    pub fn claim_task_for_finalization(
        &mut self,
        task: &str,
        processor: &str,
        timeout: Span,
    ) -> Result<FinalizationClaim, WorkerError> {
        self.0.claim_task_for_finalization(&uuid_of(task), processor, timeout)
    }

    pub fn extend(&mut self, task: &str, processor: &str) -> Result<bool, WorkerError> {
        self.0.extend(&uuid_of(task), processor)
    }

    pub fn release(&mut self, task: &str, processor: &str) -> Result<bool, WorkerError> {
        self.0.release(&uuid_of(task), processor)
    }

    pub fn complete(&mut self, task: &str, processor: &str) -> Result<Completion, WorkerError> {
        self.0.complete(&uuid_of(task), processor)
    }

    pub fn add_task(&mut self, task: &str, priority: i64) -> Result<bool, WorkerError> {
        self.0.add_task(&uuid_of(task), priority)
    }

    pub fn add_step(&mut self, task: &str, step: &str) -> Result<bool, WorkerError> {
        self.0.add_step(&uuid_of(task), &uuid_of(step))
    }

    pub fn end_step(&mut self, step: &str, end: StepEnd) -> Result<bool, WorkerError> {
        self.0.end_step(&uuid_of(step), end)
    }
}
