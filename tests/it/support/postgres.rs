//! Databases on the PostgreSQL server of this test run, and sessions on them.

use super::asking;
use super::engine::not_in_fast;
use postgres::{Client, Config, NoTls, SimpleQueryMessage, config::Host};
use serde_json::Value as Json;
use std::io::{self, Write};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The variable that names the server; `./tests/run` sets it.
const SERVER: &str = "CLAIMTOP_TEST_POSTGRES";

/// What a statement without parameters answers: every value as the server writes it.
pub type Rows = Vec<Vec<Option<String>>>;

/// A database of its own on the server of this run, dropped at the end of the test.
pub struct PgDatabase {
    server: Config,
    name: String,
    /// There until the database is dropped.
    session: Option<Session>,
}

impl PgDatabase {
    pub fn new(schema: &str) -> PgDatabase {
        let server = server();
        let name = format!("claimtop_{}", uuid::Uuid::now_v7().simple());
        // template0 because nobody can be connected to it: a connection would make this fail.
        Session::open(&server).run(&format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"));
        let session = Session::open(server.clone().dbname(&name));
        let database = PgDatabase { server, name, session: Some(session) };
        database.run(schema);
        database
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address claimtop takes, without the password a server may want: see [`Self::command`].
    pub fn url(&self) -> String {
        self.url_as(self.server.get_user().unwrap_or("postgres"))
    }

    /// The same, for another role of the server.
    pub fn url_as(&self, user: &str) -> String {
        let port = self.server.get_ports().first().copied().unwrap_or(5432);
        url(&self.server.get_hosts()[0], port, user, &self.name)
    }

    /// The password that the server wants.
    pub fn password(&self) -> Option<String> {
        Some(String::from_utf8_lossy(self.server.get_password()?).into_owned())
    }

    fn session(&self) -> &Session {
        self.session.as_ref().expect("a session until the end")
    }

    /// One or several statements, none of which may fail.
    pub fn run(&self, sql: &str) {
        self.session().run(sql);
    }

    pub fn query(&self, sql: &str) -> Rows {
        self.session().query(sql)
    }

    /// The rows, or how the server or the connection refused.
    pub fn attempt(&self, sql: &str) -> Result<Rows, Refusal> {
        self.session().attempt(sql)
    }

    /// The one value of the one row.
    pub fn value(&self, sql: &str) -> Option<String> {
        self.session().value(sql)
    }

    /// The tables of the usual schema, as they are written in a statement.
    pub fn tables(&self) -> Vec<String> {
        let sql = "SELECT quote_ident(relname) FROM pg_class
                   WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace ORDER BY 1";
        self.query(sql).into_iter().map(|mut row| row.remove(0).expect("a name")).collect()
    }

    /// Every row of them with its version: the same text means that nobody wrote in between.
    pub fn versions(&self) -> String {
        let one = |table| {
            let rows = self.query(&format!("SELECT xmin, ctid, t::text FROM {table} AS t ORDER BY ctid"));
            format!("{table}: {rows:?}")
        };
        self.tables().into_iter().map(one).collect::<Vec<_>>().join("\n")
    }

    /// Another session on this database.
    pub fn connect(&self) -> Session {
        Session::open(self.server.clone().dbname(&self.name))
    }

    /// The same of another role of the server.
    pub fn connect_as(&self, user: &str) -> Session {
        Session::open(self.server.clone().user(user).dbname(&self.name))
    }

    /// claimtop with these arguments, then this database's address.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = super::command(arguments);
        if let Some(password) = self.password() {
            command.env("PGPASSWORD", password);
        }
        command.arg(self.url());
        command
    }

    pub fn claimtop(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("claimtop runs")
    }

    /// `check --json` at [`super::NOW`]: the entry of the first profile, and the exit code.
    pub fn check(&self) -> (Json, i32) {
        self.check_with(&[])
    }

    pub fn check_with(&self, options: &[&str]) -> (Json, i32) {
        asking::check(|arguments| self.claimtop(arguments), options)
    }

    /// `list --json` at [`super::NOW`].
    pub fn list(&self, options: &[&str]) -> Vec<Json> {
        asking::list(|arguments| self.claimtop(arguments), options)
    }

    /// The one claim with this id.
    pub fn claim(&self, id: &str) -> Json {
        asking::one(&self.list(&[]), id)
    }
}

impl Drop for PgDatabase {
    /// Reports what goes wrong and never panics: the test may be failing already, and a second panic would end
    /// all the others.
    fn drop(&mut self) {
        let (server, session) = (self.server.clone(), self.session.take());
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        // In a thread of its own: the thread of the test may be at its end, where no client works any more.
        let dropping = thread::Builder::new().spawn(move || {
            std::mem::drop(session);
            server.connect(NoTls).and_then(|mut client| client.batch_execute(&drop))
        });
        let dropped = dropping.map(thread::JoinHandle::join);
        if !matches!(dropped, Ok(Ok(Ok(())))) {
            let _ = writeln!(io::stderr(), "the database {} stays: {dropped:?}", self.name);
        }
    }
}

/// One connection. It blocks the thread that uses it and may be used from any thread outside tokio.
pub struct Session {
    client: Mutex<Client>,
}

impl Session {
    pub fn open(config: &Config) -> Session {
        let client = config.connect(NoTls).unwrap_or_else(|error| panic!("no session: {}", reason(&error)));
        Session { client: Mutex::new(client) }
    }

    /// One or several statements, none of which may fail.
    pub fn run(&self, sql: &str) {
        self.attempt(sql).unwrap_or_else(|refusal| panic!("{refusal:?} at {sql}"));
    }

    /// The rows of all statements in this text.
    pub fn query(&self, sql: &str) -> Rows {
        self.attempt(sql).unwrap_or_else(|refusal| panic!("{refusal:?} at {sql}"))
    }

    /// The one value of the one row.
    pub fn value(&self, sql: &str) -> Option<String> {
        let mut rows = self.query(sql);
        assert!(rows.len() == 1 && rows[0].len() == 1, "{} rows from {sql}", rows.len());
        rows.remove(0).remove(0)
    }

    /// The rows, or how the server or the connection refused.
    pub fn attempt(&self, sql: &str) -> Result<Rows, Refusal> {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = client.simple_query(sql).map_err(|error| Refusal {
            code: error.code().map(|code| code.code().into()),
            message: reason(&error),
        })?;
        let rows = answers.iter().filter_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|column| row.get(column).map(String::from)).collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    }

    /// The backend's process on the server.
    pub fn pid(&self) -> i32 {
        self.value("SELECT pg_backend_pid()").expect("a pid").parse().expect("a number")
    }
}

/// Why a statement did not happen. Without a code it was the connection, not the server, that failed.
#[derive(Debug)]
pub struct Refusal {
    pub code: Option<String>,
    pub message: String,
}

fn reason(error: &postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string)
}

/// The server that this run of the tests uses.
fn server() -> Config {
    not_in_fast("a server");
    let named = std::env::var(SERVER).unwrap_or_else(|_| {
        panic!(
            "this test needs a PostgreSQL server: run ./tests/run, which makes one, or set {SERVER} to one on \
             which databases may be made. By hand, as any user but root: initdb -D /tmp/pg -U claimtop -A trust \
             && pg_ctl -D /tmp/pg -o '-k /tmp -c listen_addresses= -c max_connections=300' -w start; \
             export {SERVER}='host=/tmp user=claimtop dbname=postgres'"
        )
    });
    named.parse().unwrap_or_else(|error| panic!("{SERVER} is no connection string: {error}"))
}

/// An address in URL form; the folder of a socket is percent-encoded in the host's place.
pub fn url(host: &Host, port: u16, user: &str, database: &str) -> String {
    let encoded = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let host = match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(folder) => encoded(&folder.to_string_lossy()),
    };
    format!("postgresql://{}@{host}:{port}/{}", encoded(user), encoded(database))
}
