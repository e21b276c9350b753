//! A database of executor-jobs on a server that is there.

use claimtop::config::Config;
use claimtop::profile::Library;
use claimtop::store::{Effort, Options, Profiles, SourceLocation, Standing, WriteAccess, WriteRules};
use postgres::{Client, NoTls, config::Host};
use std::process::Command;
use std::time::Duration;

use super::SCHEMA;

/// A database of its own on the server that the variable names, dropped at the end.
pub struct Database {
    server: postgres::Config,
    name: String,
}

impl Database {
    pub fn new() -> Database {
        let named = std::env::var("CLAIMTOP_TEST_POSTGRES").expect("CLAIMTOP_TEST_POSTGRES names a server");
        let server: postgres::Config = named.parse().expect("a connection string");
        let name = format!("claimtop_bench_{}", uuid::Uuid::now_v7().simple());
        let mut client = server.connect(NoTls).expect("the server");
        client
            .batch_execute(&format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"))
            .expect("it");
        let database = Database { server, name };
        database.connect().batch_execute(SCHEMA).expect("the tables of executor-jobs");
        database
    }

    pub fn connect(&self) -> Client {
        self.server.clone().dbname(&self.name).connect(NoTls).expect("the database")
    }

    pub fn url(&self) -> String {
        let user = self.server.get_user().unwrap_or("postgres");
        let port = self.server.get_ports().first().copied().unwrap_or(5432);
        let host = match &self.server.get_hosts()[0] {
            Host::Tcp(name) => name.clone(),
            Host::Unix(folder) => folder.to_string_lossy().replace('/', "%2F"),
        };
        format!("postgresql://{user}@{host}:{port}/{}", self.name)
    }

    pub fn psql(&self, sql: &str) {
        let output = Command::new("psql").args([&self.url(), "-X", "-c", sql]).output().expect("psql runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    pub fn options(&self, effort: Effort) -> Options {
        Options {
            at: SourceLocation::of(&self.url(), None),
            profiles: Profiles::Detect(Library::built_in()),
            operator: Config::default().operator(None),
            effort,
            busy_timeout: Duration::from_secs(2),
            poll_timeout: Duration::from_secs(60),
            frozen_at: None,
            prober: None,
            allow_functions: Vec::new(),
            warn: None,
            registrations: claimtop::store::Registrations::default(),
            protected: Default::default(),
        }
    }

    /// Permission to write to it: nothing is protected here.
    #[allow(dead_code, reason = "not every bench acts")]
    pub fn writable(&self, effort: Effort) -> WriteAccess {
        let options = || Ok(self.options(effort));
        WriteRules::default().grant("", Standing::Unconfigured, options).expect("permission to write")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        if let Err(error) = self.server.connect(NoTls).and_then(|mut client| client.batch_execute(&drop)) {
            println!("the database {} stays: {error}", self.name);
        }
    }
}
