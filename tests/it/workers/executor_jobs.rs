//! Document 001 from the worker's side.

mod agreement;
mod claiming;
mod reclaiming;
mod settling;

use claimtop::domain::time::{Moment, Span};
use claimtop::reference::{System, install};
use claimtop::worker::executor_jobs::{Enqueued, ExecutorJobs, Job, NewJob};
use claimtop::worker::{Clock, Database, Event};
use rusqlite::{Connection, Params};
use serde_json::json;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

use crate::support::NOW;

/// A database with the reference tables, and a clock that stands until it is moved.
struct Scene {
    folder: TempDir,
    clock: Clock,
    raw: Connection,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Scene {
    fn new() -> Scene {
        Scene::at(Clock::standing_at(Moment::from_micros(NOW * 1_000).expect("a moment")))
    }

    fn at(clock: Clock) -> Scene {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut raw = Connection::open(folder.path().join("jobs.db")).expect("a database");
        raw.pragma_update(None, "journal_mode", "WAL").expect("WAL mode");
        install(&mut raw, &[System::ExecutorJobs]).expect("the tables");
        Scene { folder, clock, raw, events: Arc::default() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("jobs.db")
    }

    /// Jobs on a connection of their own.
    fn jobs(&self) -> ExecutorJobs {
        let database = Database::open(&self.path()).expect("a database");
        ExecutorJobs::new(database.with_clock(self.clock.clone()).with_events(self.events.clone()))
    }

    fn run(&self, sql: &str, values: impl Params) {
        self.raw.execute(sql, values).expect(sql);
    }

    /// The columns of a job as text, NULL as "-".
    fn row(&self, id: &str, columns: &str) -> String {
        let cells = columns.split(' ').map(|column| format!("coalesce({column}, '-')"));
        let sql = format!(
            "SELECT {} FROM executor_jobs WHERE id = ?1",
            cells.collect::<Vec<_>>().join(" || ' ' || ")
        );
        self.raw.query_row(&sql, [id], |row| row.get(0)).expect("the job")
    }

    fn number(&self, sql: &str) -> i64 {
        self.raw.query_row(sql, [], |row| row.get(0)).expect(sql)
    }

    /// A time this long from the clock's, as the tables keep it.
    fn stamp(&self, offset: Span) -> String {
        self.clock.now().plus(offset).rfc3339()
    }

    /// A job that a worker locked `locked` ago and beat for `beat` ago.
    fn running(&self, id: &str, kind: &str, locked: Span, beat: Option<Span>, attempts: i64) {
        let ago = |span: Span| self.clock.now().minus(span).rfc3339();
        self.run(
            "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, heartbeat_at, attempts)
             VALUES (?1, ?2, 'running', ?3, 'w-dead', ?4, ?5)",
            (id, kind, ago(locked), beat.map(ago), attempts),
        );
    }
}

fn enqueue(jobs: &mut ExecutorJobs, kind: &str) -> String {
    match jobs.enqueue(&NewJob::of(kind, json!({}))).expect("enqueued") {
        Enqueued::New(id) => id,
        Enqueued::Duplicate(id) => panic!("{id} is there already"),
    }
}

fn claimed(jobs: &mut ExecutorJobs, worker: &str) -> Job {
    jobs.claim(worker, &[]).expect("a claim").expect("a job")
}
