//! The tables of popular queues, each with a profile and nothing else: no queue needs code.
//!
//! The tables are those that the libraries create, less columns that no claim depends on. What a library
//! keeps on either engine is held to the same on both; litequeue, persist-queue, SqliteHuey and this form
//! of apalis know SQLite only.

mod django;
mod hard_expressions;
mod java;
mod python;
mod rails;
mod workers;

use crate::support::engine::{self, engine};
use crate::support::{Database, MINUTE, NOW, stdout};
use chrono::DateTime;
use claimtop::profile::format::{Act, Board, Engine, Profile, Statement};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

const HOUR: i64 = 60 * MINUTE;

/// A database of one queue, and the path of the profile that reads it.
struct Queue {
    database: Database,
    profile: String,
}

/// Where `queue_profiles/NAME.toml` is.
fn profile_path(name: &str) -> String {
    let file = format!("{name}.toml");
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "it", "queue_profiles", &file].iter().collect();
    path.to_string_lossy().into_owned()
}

impl Queue {
    /// The queue with the profile `queue_profiles/NAME.toml`.
    fn new(name: &str, schema: &str) -> Queue {
        Queue { database: Database::new(schema), profile: profile_path(name) }
    }

    /// The same with the tables that the library makes on each engine.
    fn with(name: &str, sqlite: &str, postgres: &str) -> Queue {
        Queue { database: Database::with(sqlite, postgres), profile: profile_path(name) }
    }

    /// The profile with this for its variable `schema`, in a copy of its own.
    fn in_schema(&mut self, schema: &str) {
        let text = std::fs::read_to_string(&self.profile).expect("the profile");
        let copy = self.database.beside("queue.toml");
        std::fs::write(&copy, text.replace("schema = \"main\"", &format!("schema = {schema:?}")))
            .expect("a copy");
        self.profile = copy.to_string_lossy().into_owned();
    }

    fn run(&self, sql: &str, values: impl rusqlite::Params) {
        self.database.run(sql, values);
    }

    fn parsed(&self) -> Profile {
        let text = std::fs::read_to_string(&self.profile).expect("the profile");
        Profile::parse("queue", &text).and_then(|profile| profile.on(spoken())).expect("a valid profile")
    }

    fn list(&self) -> Vec<Json> {
        self.database.list(&["--profile", &self.profile])
    }

    /// `check --json`, for what no single claim tells.
    fn check(&self) -> Json {
        self.database.check_with(&["--profile", &self.profile]).0
    }

    /// The one claim with this id.
    fn claim(&self, id: &str) -> Json {
        let all = self.list();
        let found: Vec<&Json> = all.iter().filter(|claim| claim["id"] == id).collect();
        assert_eq!(found.len(), 1, "claims named {id} in {all:#?}");
        found[0].clone()
    }

    /// These claims and no others, each with its verdict and its reasons, worst first. `check`
    /// counts the same, no field of the profile is left out, and its acts are SQL of this database.
    fn expect(&self, expected: &[(&str, &str, &[&str])]) {
        self.expect_with(&["--profile", &self.profile], expected);
        let fit = self.database.claimtop(&["profile", "check", &self.profile]);
        let fit = stdout(&fit);
        assert!(!fit.contains("not in this database") && !fit.contains("left out"), "{fit}");
        for board in &self.parsed().boards {
            self.expect_acts_compile(board);
        }
    }

    fn expect_with(&self, options: &[&str], expected: &[(&str, &str, &[&str])]) {
        let mut found: Vec<Json> = self
            .database
            .list(options)
            .iter()
            .map(|claim| json!([claim["id"], claim["verdict"], claim["reasons"]]))
            .collect();
        found.sort_by_key(ToString::to_string);
        let mut wanted: Vec<Json> = expected.iter().map(|claim| json!(claim)).collect();
        wanted.sort_by_key(ToString::to_string);
        assert_eq!(found, wanted);

        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for reason in expected.iter().flat_map(|(_, _, reasons)| *reasons) {
            *reasons.entry(reason).or_default() += 1;
        }
        let (check, exit) = self.database.check_with(options);
        assert_eq!(check["ok"], true, "{check:#}");
        assert_eq!(check["exact"], true, "{check:#}");
        // The tests' role is a superuser, and is told so.
        let notices = check["notices"].as_array().expect("notices").iter();
        let others = notices.filter(|notice| !notice.to_string().contains("superuser"));
        assert_eq!(others.collect::<Vec<_>>(), Vec::<&Json>::new());
        assert_eq!(check["claims"]["total"], expected.len());
        let healthy = expected.iter().filter(|(_, verdict, _)| *verdict == "healthy").count();
        assert_eq!(check["claims"]["healthy"], healthy);
        let counted: BTreeMap<String, u64> =
            serde_json::from_value(check["reasons"].clone()).expect("counts by reason");
        let counted: BTreeMap<&str, u64> = counted
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(reason, count)| (reason.as_str(), *count))
            .collect();
        assert_eq!(counted, reasons);
        let worst = expected.iter().map(|(_, verdict, _)| match *verdict {
            "stale" | "orphaned" => 2,
            "expiring" | "unknown" => 1,
            _ => 0,
        });
        assert_eq!(exit, worst.max().unwrap_or(0));
    }

    /// Nothing is run: the engine only has to understand the statements on the queue's own tables.
    fn expect_acts_compile(&self, board: &Board) {
        let acts = [&board.reclaim, &board.release, &board.extend];
        for act in acts.into_iter().flatten() {
            for sql in statements(board, act) {
                let understood = match self.database.server() {
                    Some(server) => server.attempt(&explained(&sql)).map(drop).map_err(|error| error.message),
                    None => {
                        self.database.connection.prepare(&sql).map(drop).map_err(|error| error.to_string())
                    }
                };
                assert_eq!(understood, Ok(()), "{sql}");
            }
        }
    }
}

/// The engine whose words a profile is read in.
fn spoken() -> Engine {
    match engine() {
        engine::Engine::Sqlite => Engine::Sqlite,
        engine::Engine::Postgres => Engine::Postgres,
    }
}

/// A statement that a server has to understand and does not do. NULL is of every type.
fn explained(sql: &str) -> String {
    let words = [":now", ":id", ":holder", ":why"];
    words.iter().fold(format!("EXPLAIN {sql}"), |sql, word| sql.replace(word, "NULL"))
}

fn statements(board: &Board, act: &Act) -> Vec<String> {
    let table = board.table.replace('.', "\".\"");
    let set: Vec<String> = act.set.iter().map(|(column, value)| format!("\"{column}\" = {value}")).collect();
    let sql = |all: &[Statement]| all.iter().map(|statement| statement.sql.clone()).collect::<Vec<_>>();
    let mut all = sql(&act.before);
    all.push(if act.delete {
        format!("DELETE FROM \"{table}\"")
    } else {
        format!("UPDATE \"{table}\" AS c SET {}", set.join(", "))
    });
    all.extend(sql(&act.also));
    all.extend(act.blocked_by.iter().map(|sql| format!("SELECT {sql} FROM \"{table}\" AS c")));
    all
}

/// A time as Rails and Django write it: UTC without saying so.
fn naive(from_now: i64) -> String {
    written(from_now, "%Y-%m-%d %H:%M:%S%.6f")
}

fn written(from_now: i64, format: &str) -> String {
    DateTime::from_timestamp_millis(NOW + from_now).expect("a time").format(format).to_string()
}
