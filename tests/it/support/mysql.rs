//! Databases on the MySQL or MariaDB server of this test run.

use claimtop::mysql::link::Flavor;
use claimtop::mysql::{Begin, Limits, Link, Purpose, Target};
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

    /// Every row of every table, each cell by its bytes.
    pub fn dump(&self) -> Vec<String> {
        let tables = self.rows(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()
             AND table_type = 'BASE TABLE' ORDER BY table_name",
        );
        let mut all = Vec::new();
        for table in tables.into_iter().map(|mut row| row.remove(0).expect("a name")) {
            let columns = self.rows(&format!(
                "SELECT column_name, data_type FROM information_schema.columns
                 WHERE table_schema = DATABASE() AND table_name = '{table}' ORDER BY ordinal_position"
            ));
            let cell = |column: &Vec<Option<String>>| {
                let (name, kind) = (column[0].as_deref().expect("a name"), column[1].as_deref());
                let bytes = match kind.expect("a type") {
                    "float" => format!("CAST(CAST(\"{name}\" AS DOUBLE) AS CHAR)"),
                    "enum" | "set" | "bit" => format!("CAST(\"{name}\" + 0 AS CHAR)"),
                    kind if kind.contains("char")
                        || kind.contains("text")
                        || kind.contains("blob")
                        || kind.contains("binary") =>
                    {
                        format!("HEX(\"{name}\")")
                    }
                    _ => format!("CAST(\"{name}\" AS CHAR)"),
                };
                format!("COALESCE({bytes}, 'NULL')")
            };
            let cells: Vec<String> = columns.iter().map(cell).collect();
            let rows = self
                .rows(&format!("SELECT CONCAT_WS(',', {}) FROM \"{table}\" ORDER BY 1", cells.join(", ")));
            all.extend(
                rows.into_iter().map(|row| format!("{table}: {}", row[0].clone().unwrap_or_default())),
            );
        }
        all
    }

    /// Every cell as text.
    #[track_caller]
    pub fn rows(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        let rows = self.link.borrow_mut().query(sql, Vec::new()).expect(sql);
        rows.iter().map(|row| (0..row.len()).map(|at| row.text(at)).collect()).collect()
    }

    /// The one text that a query answers.
    #[track_caller]
    pub fn text(&self, sql: &str) -> String {
        let rows = self.link.borrow_mut().query(sql, Vec::new()).expect(sql);
        rows.first().and_then(|row| row.text(0)).unwrap_or_default()
    }

    /// What the server says to a statement that it refuses.
    #[track_caller]
    pub fn refused(&self, sql: &str) -> String {
        self.link.borrow_mut().run(sql).expect_err(sql).to_string()
    }

    pub fn is_mariadb(&self) -> bool {
        self.link.borrow().flavor() == Flavor::MariaDb
    }

    /// A new account that has this role from the start.
    pub fn account(&self, role: &str) -> MyAccount<'_> {
        let name = format!("ct_{}", &uuid::Uuid::now_v7().simple().to_string()[8..]);
        let to = if self.is_mariadb() { "FOR" } else { "TO" };
        self.run(&format!(
            "CREATE USER {name}@'%' IDENTIFIED BY 'seCret1';\n GRANT {role} TO {name}@'%';\n
             SET DEFAULT ROLE {role} {to} {name}@'%';\n"
        ));
        MyAccount { database: self, name }
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

/// An account of the server, dropped at the end of the test.
pub struct MyAccount<'a> {
    database: &'a MyDatabase,
    name: String,
}

impl MyAccount<'_> {
    /// Its name and its password.
    pub fn login(&self) -> (&str, &'static str) {
        (&self.name, "seCret1")
    }

    /// The address of the database for this account.
    pub fn url(&self) -> String {
        let url = self.database.url();
        let rest = url.split_once('@').map_or("", |(_, rest)| rest);
        format!("mysql://{}:seCret1@{rest}", self.name)
    }

    /// Whether it may run a statement, which is taken back.
    #[track_caller]
    pub fn may(&self, sql: &str) -> bool {
        let mut link = open(&self.url());
        link.begin(Begin::Acting).expect("a transaction");
        match link.run(sql) {
            Ok(()) => link.rollback().is_ok(),
            Err(error) if error.is_not_allowed() => false,
            Err(error) => panic!("{sql}: {error}"),
        }
    }
}

impl Drop for MyAccount<'_> {
    fn drop(&mut self) {
        let dropped = self.database.link.borrow_mut().run(&format!("DROP USER {}@'%'", self.name));
        if !std::thread::panicking() {
            dropped.expect("the account is dropped");
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

pub fn open(url: &str) -> Link {
    let patience = Duration::from_secs(60);
    let limits = Limits { statement: patience, lock: patience, answer: patience };
    let target = Target::parse(url, None).expect("an address");
    let mut link = Link::open(&target, Purpose::Acts, limits).expect("the server of this run");
    // A test may be at work elsewhere for longer than an act.
    link.run("SET SESSION wait_timeout = 28800").expect("patience");
    link
}

/// A figure that `./tests/run --soak` may ask for otherwise.
pub fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
