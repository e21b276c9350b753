//! Tables that are dropped, renamed or altered under those who watch them: each says so, and goes on by
//! itself when they are back.

mod commands;
mod dashboard;
mod listing;

use crate::support::Database;
use crate::support::engine::Engine;
use crate::support::postgres::PgDatabase;

/// The tables of coordination, in words that both engines know.
const TABLES: &str = "
    CREATE TABLE sessions (id TEXT PRIMARY KEY, project_path TEXT, agent_type TEXT, started_at BIGINT,
      last_heartbeat BIGINT, metadata TEXT, pid BIGINT);
    CREATE TABLE locks (resource TEXT PRIMARY KEY, session_id TEXT, acquired_at BIGINT, expires_at BIGINT,
      lock_type TEXT, refresh_count BIGINT DEFAULT 0);
    CREATE TABLE task_claims (task_id TEXT PRIMARY KEY, session_id TEXT, claimed_at BIGINT, expires_at BIGINT,
      last_heartbeat BIGINT, heartbeat_count BIGINT DEFAULT 0, agent_type TEXT, metadata TEXT);";

/// A database of one of the engines, with a claim and a lock that are over for an hour.
enum Base {
    Sqlite(Box<Database>),
    Postgres(Box<PgDatabase>),
}

impl Base {
    fn of(engine: Engine) -> Base {
        let base = match engine {
            Engine::Sqlite => Base::Sqlite(Box::new(Database::new(TABLES))),
            Engine::Postgres => Base::Postgres(Box::new(PgDatabase::new(TABLES))),
        };
        let now = now();
        base.run(&format!(
            "INSERT INTO sessions VALUES ('worker-1', '/p', 'cli', {now}, {now}, '{{}}', NULL)"
        ));
        base.task("task-old");
        let (then, over) = (now - 7_200_000, now - 3_600_000);
        base.run(&format!(
            "INSERT INTO locks (resource, session_id, acquired_at, expires_at)
             VALUES ('lock-old', 'worker-1', {then}, {over})"
        ));
        base
    }

    /// A claim that is over for an hour.
    fn task(&self, id: &str) {
        let now = now();
        let (then, over) = (now - 7_200_000, now - 3_600_000);
        self.run(&format!(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES ('{id}', 'worker-1', {then}, {over}, {now})"
        ));
    }

    fn run(&self, sql: &str) {
        match self {
            Base::Sqlite(database) => database.connection.execute_batch(sql).expect(sql),
            Base::Postgres(database) => database.run(sql),
        }
    }

    /// What the program is given.
    fn source(&self) -> String {
        match self {
            Base::Sqlite(database) => database.path().display().to_string(),
            Base::Postgres(database) => database.url(),
        }
    }
}

fn now() -> i64 {
    claimtop::store::clock().micros() / 1_000
}

/// What is done to the tables, what takes it back, and what has to be said meanwhile.
struct Change {
    done: &'static str,
    undone: &'static str,
    said: &'static str,
}

/// Each of them leaves nothing that could be read.
const ENDS: [Change; 2] = [
    Change {
        done: "ALTER TABLE task_claims RENAME TO away; ALTER TABLE locks RENAME TO gone",
        undone: "ALTER TABLE away RENAME TO task_claims; ALTER TABLE gone RENAME TO locks",
        said: "away, gone, sessions",
    },
    Change {
        done: "ALTER TABLE task_claims RENAME COLUMN expires_at TO ends; ALTER TABLE locks RENAME COLUMN expires_at TO ends",
        undone: "ALTER TABLE task_claims RENAME COLUMN ends TO expires_at; ALTER TABLE locks RENAME COLUMN ends TO expires_at",
        said: "task_claims.expires_at is missing",
    },
];

/// Each of them takes one of two boards away.
const PARTS: [Change; 2] = [
    Change {
        done: "ALTER TABLE task_claims RENAME TO away",
        undone: "ALTER TABLE away RENAME TO task_claims",
        said: "board task of coordination is gone",
    },
    Change {
        done: "ALTER TABLE task_claims RENAME COLUMN expires_at TO ends",
        undone: "ALTER TABLE task_claims RENAME COLUMN ends TO expires_at",
        said: "board task of coordination is gone",
    },
];

/// None of them takes anything away that is needed.
const TRIFLES: [&str; 3] = [
    "ALTER TABLE task_claims ADD COLUMN priority BIGINT DEFAULT 7",
    "ALTER TABLE task_claims DROP COLUMN agent_type",
    "CREATE INDEX by_session ON task_claims (session_id)",
];

/// All gone, and made anew, empty.
const DROP: &str = "DROP TABLE task_claims; DROP TABLE locks; DROP TABLE sessions";
