//! Coordination as workers use it: its 25 cases, and what they leave open.

mod claiming;
mod expired;
mod hostile;
mod keeping;
mod locks;
mod orphaned;
mod processes;
mod races;
mod resuming;
mod session_claims;
mod sessions;
mod statistics;
mod timer;

use claimtop::domain::time::{Moment, Span};
use claimtop::reference::{System, install};
use claimtop::worker::coordination::{ClaimOptions, Coordination, CoordinationClaim, Registration};
use claimtop::worker::{Clock, Database, Event};
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

use crate::support::NOW;

/// A database with its workers, at an hour that moves only when it is told to.
struct World {
    folder: TempDir,
    clock: Clock,
    events: Arc<Mutex<Vec<Event>>>,
    coordination: Coordination,
}

impl World {
    /// It is [`NOW`], and nobody is there.
    fn new() -> World {
        World::at(Moment::from_micros(NOW * 1_000).expect("a time"))
    }

    fn at(moment: Moment) -> World {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("tasks.db");
        let mut connection = Connection::open(&path).expect("a database");
        install(&mut connection, &[System::Coordination]).expect("the tables");
        let clock = Clock::standing_at(moment);
        let events = Arc::new(Mutex::new(Vec::new()));
        let database = Database::open(&path).expect("a database");
        let database = database.with_clock(clock.clone()).with_events(events.clone());
        World { folder, clock, events, coordination: Coordination::new(database) }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("tasks.db")
    }

    /// Another program on the same file, one that does not care for foreign keys.
    fn stranger(&self) -> Connection {
        let connection = Connection::open(self.path()).expect("a database");
        connection.pragma_update(None, "foreign_keys", false).expect("a pragma");
        connection
    }

    fn run(&self, sql: &str) {
        self.stranger().execute_batch(sql).expect(sql);
    }

    /// One number that a query answers.
    fn number(&self, sql: &str) -> i64 {
        self.stranger().query_row(sql, [], |row| row.get(0)).expect(sql)
    }

    fn session(&mut self, id: &str) {
        self.coordination.register(&Registration::new(id, "/project")).expect("a session");
    }

    /// A claim for so many minutes, which must succeed.
    fn claim(&mut self, task: &str, session: &str, minutes: i64) {
        let options = ClaimOptions { ttl: Some(Span::minutes(minutes)), ..ClaimOptions::default() };
        let answer = self.coordination.claim_task(task, session, &options).expect("an answer");
        assert!(answer.is_held(), "{answer:?}");
    }

    /// A claim as everybody makes it, with whatever answer.
    fn try_claim(&mut self, task: &str, session: &str) -> CoordinationClaim {
        self.coordination.claim_task(task, session, &ClaimOptions::default()).expect("an answer")
    }

    fn minutes_pass(&self, minutes: i64) {
        self.clock.advance(Span::minutes(minutes));
    }

    fn millis_pass(&self, millis: i64) {
        self.clock.advance(Span::millis(millis));
    }

    /// What was heard since this was last asked.
    fn heard(&self) -> Vec<Event> {
        std::mem::take(&mut *self.events.lock().expect("the events"))
    }

    /// The names of what was heard since this was last asked.
    fn names_heard(&self) -> Vec<String> {
        let name = |event: &Event| {
            let object = serde_json::to_value(event).expect("JSON");
            object["event"].as_str().expect("a name").to_owned()
        };
        self.heard().iter().map(name).collect()
    }

    /// Who has what.
    fn claims(&self) -> Vec<(String, String)> {
        let stranger = self.stranger();
        let sql = "SELECT task_id, session_id FROM task_claims ORDER BY task_id";
        let mut statement = stranger.prepare(sql).expect(sql);
        let claims = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect(sql);
        claims.map(|claim| claim.expect("a claim")).collect()
    }
}

fn pair(task: &str, session: &str) -> (String, String) {
    (task.into(), session.into())
}
