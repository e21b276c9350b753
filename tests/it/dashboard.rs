//! The dashboard in a real pty, on real databases: keys in, screen and database out.

mod activity;
mod acts;
mod audit_pane;
mod bulk_acts;
mod clock_jumps;
mod dead_jobs;
mod endings;
mod incident;
mod interruptions;
mod kept_choices;
mod lost_servers;
mod many_sources;
mod moved_claims;
mod on_postgres;
pub mod pty;
mod resizing;
mod source_names;
mod startup;
mod terminal_bytes;
mod terminal_stream;
mod three_sources;
mod unfenced;

use rusqlite::types::Value;
use std::path::PathBuf;

use crate::support::{COORDINATION, Database, MINUTE, SECOND};
use pty::{Pty, Start};

/// A database with a trail of its own, by the real clock.
struct Scene {
    database: Database,
}

impl Scene {
    fn new() -> Scene {
        let database = Database::new(COORDINATION);
        database.connection.pragma_update(None, "synchronous", "OFF").expect("no waiting");
        Scene { database }
    }

    /// A session that beat a moment ago, and claims of it: one whose lease ended an hour ago, one
    /// that has three minutes left.
    fn usual() -> Scene {
        let scene = Scene::new();
        scene.session("worker-1", SECOND);
        scene.task("task-old", "worker-1", -60 * MINUTE);
        scene.task("task-soon", "worker-1", 3 * MINUTE);
        scene
    }

    fn session(&self, id: &str, silent_for: i64) {
        self.session_of(id, silent_for, None);
    }

    fn session_of(&self, id: &str, silent_for: i64, pid: Option<i64>) {
        // A process that is there now cannot have begun a session hours ago.
        let started_at = if pid.is_some() { now() } else { now() - 180 * MINUTE };
        self.database.run(
            "INSERT INTO sessions VALUES (?1, '/project', 'cli', ?2, ?3, '{}', ?4)",
            (id, started_at, now() - silent_for, pid),
        );
    }

    /// A claim that began two hours ago and has beaten until a moment ago.
    fn task(&self, id: &str, session: &str, expires_in: i64) {
        self.database.run(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            (id, session, now() - 120 * MINUTE, now() + expires_in, now() - SECOND),
        );
    }

    fn lock(&self, resource: &str, session: &str, expires_in: i64) {
        self.database.run(
            "INSERT INTO locks (resource, session_id, acquired_at, expires_at) VALUES (?1, ?2, ?3, ?4)",
            (resource, session, now() - 120 * MINUTE, now() + expires_in),
        );
    }

    /// What its holder does while it works.
    fn renew(&self, id: &str) {
        self.database.run(
            "UPDATE task_claims SET expires_at = ?2, last_heartbeat = ?3, heartbeat_count = heartbeat_count + 1
             WHERE task_id = ?1",
            (id, now() + 30 * MINUTE, now()),
        );
    }

    fn state(&self) -> PathBuf {
        self.database.beside("state")
    }

    fn start(&self) -> Start {
        Start::claimtop(&self.state()).folder(&self.folder())
    }

    fn folder(&self) -> PathBuf {
        self.database.beside("")
    }

    /// The dashboard on this database, with something on it.
    fn open(&self) -> Pty {
        let pty = self.start().with(self.database.path()).run();
        pty.wait("LIVE 1");
        pty
    }

    /// The dashboard on this database as a source whose workers run on this machine.
    fn open_on_this_host(&self) -> Pty {
        let config = self.database.beside("config.toml");
        let text = format!("[source.here]\nat = {:?}\nholders_on = \"this-host\"\n", self.database.path());
        std::fs::write(&config, text).expect("a config");
        let pty = self.start().with("--config").with(config).with("here").run();
        pty.wait("LIVE 1");
        pty
    }

    /// Every column of a claim, or nothing.
    fn row(&self, id: &str) -> Option<Vec<Value>> {
        let mut found = self
            .database
            .connection
            .prepare("SELECT rowid, * FROM task_claims WHERE task_id = ?1")
            .expect("a statement");
        let columns = found.column_count();
        let mut rows =
            found.query_map([id], |row| (0..columns).map(|at| row.get(at)).collect()).expect("a query");
        rows.next().map(|row| row.expect("a row"))
    }

    fn deadline(&self, id: &str) -> i64 {
        let sql = "SELECT expires_at FROM task_claims WHERE task_id = ?1";
        self.database.connection.query_row(sql, [id], |row| row.get(0)).expect(id)
    }

    /// The ids of all claims that are left.
    fn ids(&self) -> Vec<String> {
        let mut all = self
            .database
            .connection
            .prepare("SELECT task_id FROM task_claims ORDER BY task_id")
            .expect("a statement");
        all.query_map([], |row| row.get(0)).expect("a query").map(|id| id.expect("an id")).collect()
    }
}

fn now() -> i64 {
    claimtop::store::clock().micros() / 1_000
}
