//! Executor-jobs from the worker's side.

mod agreement;
mod claiming;
mod fetching;
mod reclaiming;
mod settling;

use claimtop::domain::time::{Moment, Span};
use claimtop::reference::System;
use claimtop::worker::executor_jobs::{Enqueued, Job, NewJob, Operations};
use claimtop::worker::{Clock, Event};
use rusqlite::Connection;
use serde_json::json;
use std::path::PathBuf;

use super::both_engines::{Cell, Engine, Ground, Heard, engines, name_of, standing, uuid_of};
use crate::support::NOW;

type Jobs = Box<dyn Operations>;

/// A database with the reference tables, and a clock that stands until it is moved.
struct Scene {
    ground: Ground,
    clock: Clock,
    events: Heard,
}

/// The same on both engines.
#[track_caller]
fn on_both(test: impl Fn(Scene)) {
    for &engine in engines() {
        println!("on {engine:?}");
        test(Scene::on(engine, standing()));
    }
}

impl Scene {
    fn new() -> Scene {
        Scene::on(Engine::Sqlite, standing())
    }

    fn at(clock: Clock) -> Scene {
        Scene::on(Engine::Sqlite, clock)
    }

    fn on(engine: Engine, clock: Clock) -> Scene {
        Scene { ground: Ground::new(engine, System::ExecutorJobs), clock, events: Heard::default() }
    }

    fn file(&self) -> &crate::support::Database {
        let Ground::Sqlite(file) = &self.ground else { panic!("no file") };
        file
    }

    fn raw(&self) -> &Connection {
        &self.file().connection
    }

    fn path(&self) -> PathBuf {
        self.file().path()
    }

    /// Jobs on a connection of their own.
    fn jobs(&self) -> Jobs {
        self.jobs_with(&[])
    }

    fn jobs_with(&self, ttls: &[(&str, Span)]) -> Jobs {
        self.ground.place().jobs(&self.clock, &self.events, ttls)
    }

    fn run(&self, sql: &str) {
        self.ground.run(sql);
    }

    /// The columns of a job as text, NULL as "-", times as SQLite's tables write them.
    fn row(&self, id: &str, columns: &str) -> String {
        let cells = columns.split(' ').map(|column| match (self.ground.engine(), column.ends_with("_at")) {
            (Engine::Postgres, true) => {
                format!("coalesce(to_char({column}, 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), '-')")
            }
            (Engine::Postgres, false) => format!("coalesce({column}::text, '-')"),
            (Engine::Sqlite, _) => format!("coalesce({column}, '-')"),
        });
        let cells = cells.collect::<Vec<_>>().join(" || ' ' || ");
        let id = uuid::Uuid::parse_str(id).map_or_else(|_| uuid_of(id), |_| id.to_owned());
        self.ground.one(&format!("SELECT {cells} FROM executor_jobs WHERE id = '{id}'"))
    }

    fn number(&self, sql: &str) -> i64 {
        self.ground.one(sql)
    }

    /// A time this long from the clock's, as the tables keep it.
    fn stamp(&self, offset: Span) -> String {
        self.clock.now().plus(offset).rfc3339()
    }

    /// A job that a worker locked `locked` ago and beat for `beat` ago.
    fn running(&self, name: &str, kind: &str, locked: Span, beat: Option<Span>, attempts: i64) {
        let ago = |span: Span| format!("'{}'", self.clock.now().minus(span).rfc3339());
        let (id, locked) = (uuid_of(name), ago(locked));
        let beat = beat.map_or("NULL".into(), ago);
        self.run(&format!(
            "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, heartbeat_at, attempts)
             VALUES ('{id}', '{kind}', 'running', {locked}, 'w-dead', {beat}, {attempts})"
        ));
    }
}

fn enqueue(jobs: &mut Jobs, kind: &str) -> String {
    match jobs.enqueue(&NewJob::of(kind, json!({}))).expect("enqueued") {
        Enqueued::New(id) => id,
        Enqueued::Duplicate(id) => panic!("{id} is there already"),
    }
}

fn claimed(jobs: &mut Jobs, worker: &str) -> Job {
    jobs.claim(worker, &[]).expect("a claim").expect("a job")
}
