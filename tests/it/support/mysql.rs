//! Databases on the MySQL or MariaDB server of this test run.

use claimtop::mysql::{Limits, Link, Purpose, Target};
use serde_json::Value as Json;
use std::cell::RefCell;
use std::process::{Command, Output};
use std::time::Duration;

use super::asking;

/// The variable that names the server; `./tests/run` sets it where one can be had.
const SERVER: &str = "CLAIMTOP_TEST_MYSQL";

/// A database of its own on the server of this run, dropped at the end of the test.
pub struct MyDatabase {
    server: String,
    name: String,
    link: RefCell<Link>,
}

impl MyDatabase {
    /// With these tables, unless this run has no server: then the test says so and ends.
    pub fn new(schema: &str) -> Option<MyDatabase> {
        let Ok(server) = std::env::var(SERVER) else {
            println!("NOT RUN: {SERVER} names no server");
            return None;
        };
        let name = format!("claimtop_{}", uuid::Uuid::now_v7().simple());
        let mut link = open(&address(&server, "mysql"));
        link.run(&format!("CREATE DATABASE {name}")).expect("a database");
        let link = RefCell::new(open(&address(&server, &name)));
        let database = MyDatabase { server, name, link };
        database.run(schema);
        Some(database)
    }

    /// The address claimtop takes.
    pub fn url(&self) -> String {
        address(&self.server, &self.name)
    }

    /// Statements, divided by semicolons at the end of a line, none of which may fail.
    #[track_caller]
    pub fn run(&self, sql: &str) {
        for one in sql.split(";\n").map(str::trim).filter(|one| !one.is_empty()) {
            self.link.borrow_mut().run(one.trim_end_matches(';')).expect(one);
        }
    }

    /// The one text that a query answers.
    #[track_caller]
    pub fn text(&self, sql: &str) -> String {
        let rows = self.link.borrow_mut().query(sql, Vec::new()).expect(sql);
        rows.first().and_then(|row| row.text(0)).unwrap_or_default()
    }

    /// claimtop with these arguments, then this database's address.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = super::command(arguments);
        command.arg(self.url()).env("HOME", "/proc/nonexistent");
        command
    }

    pub fn claimtop(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("claimtop runs")
    }

    /// `check --json` at the frozen clock: the entry of the first profile, and the exit code.
    pub fn check(&self, options: &[&str]) -> (Json, i32) {
        asking::check(|arguments| self.claimtop(arguments), options)
    }

    /// `list --json` at the frozen clock.
    pub fn list(&self, options: &[&str]) -> Vec<Json> {
        asking::list(|arguments| self.claimtop(arguments), options)
    }
}

impl Drop for MyDatabase {
    fn drop(&mut self) {
        let dropped = self.link.borrow_mut().run(&format!("DROP DATABASE {}", self.name));
        if !std::thread::panicking() {
            dropped.expect("the database is dropped");
        }
    }
}

/// The address of a database on the server.
fn address(server: &str, database: &str) -> String {
    match server.split_once('?') {
        Some((place, parameters)) => format!("{}/{database}?{parameters}", place.trim_end_matches('/')),
        None => format!("{}/{database}", server.trim_end_matches('/')),
    }
}

fn open(url: &str) -> Link {
    let patience = Duration::from_secs(60);
    let limits = Limits { statement: patience, lock: patience, answer: patience };
    let target = Target::parse(url, None).expect("an address");
    Link::open(&target, Purpose::Acts, limits).expect("the server of this run")
}
