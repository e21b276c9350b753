//! One connection to a server: every wait has an end, and a connection that missed one is thrown away.
//!
//! The next answer of a connection whose timer fired may belong to the question before, so nothing is ever asked on
//! it again. There is no pool, several statements in one text are never allowed, and no file of this machine is ever
//! sent.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Params};
use std::fmt;
use std::pin::Pin;
use std::sync::mpsc;
use std::time::Duration;

use super::error::MyError;
use super::row::Row;
use super::target::Target;
use crate::postgres::ConnectError;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Reading: the session refuses every write.
    Polls,
    Acts,
}

/// The ends of all waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// After this the server stops a statement.
    pub statement: Duration,
    /// After this the server stops waiting for a row that somebody else holds.
    pub lock: Duration,
    /// After this we stop waiting for the server, which may be frozen or out of reach.
    pub answer: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// One picture of the database throughout; writes are refused.
    Reading,
    /// Every statement sees what is committed.
    Acting,
}

/// Which of the two systems answers: about one thing in four differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    MySql,
    MariaDb,
}

/// How our quoting means what it means elsewhere: double quotes for names, a backslash for itself, `||` for joining.
/// Old dates can be written back, and a text that is too long is an error.
const SQL_MODE: &str = "ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES,ALLOW_INVALID_DATES,\
                        NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO";

/// Seconds after which the server ends a session that asks nothing: with it goes what it holds locked.
const IDLE_ACTING: u64 = 10;
/// The same where nothing is locked.
const IDLE_READING: u64 = 600;

pub struct Link {
    label: String,
    limits: Limits,
    flavor: Flavor,
    version: String,
    conn: Option<Conn>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("to", &self.label)
            .field("version", &self.version)
            .field("open", &self.is_open())
            .finish_non_exhaustive()
    }
}

impl Link {
    /// Connects, and has the session mean the same on every server.
    pub fn open(target: &Target, purpose: Purpose, limits: Limits) -> Result<Link, ConnectError> {
        let options = target.options()?;
        let limit = target.connect_timeout();
        let conn = within(limit, async move { Conn::new(options).await });
        let conn = conn.map_err(|error| target.refused(&error))?;
        let (label, flavor) = (target.label().to_owned(), Flavor::MySql);
        let mut link = Link { label, limits, flavor, version: String::new(), conn: Some(conn) };
        link.set_up(purpose).map_err(|error| target.refused(&error))?;
        Ok(link)
    }

    /// None yet: everything that is asked of it is lost.
    pub fn closed(target: &Target, flavor: Flavor, limits: Limits) -> Link {
        Link { label: target.label().to_owned(), limits, flavor, version: String::new(), conn: None }
    }

    /// Ends it without a word: what was under way may still be done.
    pub fn close(&mut self) {
        self.conn = None;
    }

    fn set_up(&mut self, purpose: Purpose) -> Result<(), MyError> {
        let version = self.query("SELECT VERSION()", Vec::new())?;
        self.version = version.first().and_then(|row| row.text(0)).unwrap_or_default();
        let is_mariadb = self.version.to_ascii_lowercase().contains("mariadb");
        self.flavor = if is_mariadb { Flavor::MariaDb } else { Flavor::MySql };
        let idle = if purpose == Purpose::Acts { IDLE_ACTING } else { IDLE_READING };
        // Reading takes no row locks, and never waits for somebody who alters a table.
        let lock = if purpose == Purpose::Acts { self.limits.lock.as_secs().max(1) } else { 1 };
        self.run(&format!(
            "SET SESSION sql_mode = '{SQL_MODE}', time_zone = '+00:00', autocommit = 1, completion_type = 0, \
             innodb_lock_wait_timeout = {lock}, lock_wait_timeout = {}, wait_timeout = {idle}, {}",
            lock + 1,
            self.statement_timer(),
        ))?;
        let (level, mode) = match purpose {
            Purpose::Polls => ("REPEATABLE READ", "READ ONLY"),
            Purpose::Acts => ("READ COMMITTED", "READ WRITE"),
        };
        self.run(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"))?;
        self.run(&format!("SET SESSION TRANSACTION {mode}"))
    }

    /// The variable by which each server limits a statement.
    fn statement_timer(&self) -> String {
        let limit = self.limits.statement;
        match self.flavor {
            Flavor::MariaDb => format!("max_statement_time = {:.3}", limit.as_secs_f64()),
            Flavor::MySql => format!("max_execution_time = {}", limit.as_millis()),
        }
    }

    pub fn flavor(&self) -> Flavor {
        self.flavor
    }

    /// As the server writes it.
    pub fn version(&self) -> &str {
        &self.version
    }

    pub fn is_open(&self) -> bool {
        self.conn.as_ref().is_some_and(|conn| !conn.is_disconnected())
    }

    /// The number by which the server knows this session.
    pub fn session(&self) -> Option<u32> {
        self.conn.as_ref().map(Conn::id)
    }

    pub fn begin(&mut self, begin: Begin) -> Result<(), MyError> {
        self.run(match begin {
            Begin::Reading => "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
            Begin::Acting => "START TRANSACTION READ WRITE",
        })
    }

    /// Commits. An error that ends the link leaves open whether it was done.
    pub fn commit(&mut self) -> Result<(), MyError> {
        self.run("COMMIT")
    }

    pub fn rollback(&mut self) -> Result<(), MyError> {
        self.run("ROLLBACK")
    }

    /// The rows of a statement, in the binary protocol; `?` stands for each of the values.
    pub fn query(&mut self, sql: &str, values: Vec<mysql_async::Value>) -> Result<Vec<Row>, MyError> {
        let (sql, params) = (sql.to_owned(), params(values));
        let rows: Vec<mysql_async::Row> =
            self.ask(|conn| Box::pin(async move { conn.exec(sql, params).await }))?;
        Ok(rows.into_iter().map(Row::new).collect())
    }

    /// The column of one of these names in the first row, as text; nothing, if there is no row.
    pub fn named(&mut self, sql: &str, names: &[&str]) -> Result<Option<Option<String>>, MyError> {
        let sql = sql.to_owned();
        let row: Option<mysql_async::Row> =
            self.ask(|conn| Box::pin(async move { conn.query_first(sql).await }))?;
        Ok(row.map(|row| {
            let is_it = |column: &mysql_async::Column| names.contains(&&*column.name_str());
            let at = row.columns_ref().iter().position(is_it);
            at.and_then(|at| Row::new(row).text(at))
        }))
    }

    /// The number of rows that a statement found, whether it changed them or not.
    pub fn execute(&mut self, sql: &str, values: Vec<mysql_async::Value>) -> Result<u64, MyError> {
        let (sql, params) = (sql.to_owned(), params(values));
        self.ask(|conn| {
            Box::pin(async move {
                conn.exec_drop(sql, params).await?;
                Ok(conn.affected_rows())
            })
        })
    }

    /// One statement without values or rows.
    pub fn run(&mut self, sql: &str) -> Result<(), MyError> {
        let sql = sql.to_owned();
        self.ask(|conn| Box::pin(async move { conn.query_drop(sql).await }))
    }

    /// Has the server parse a statement and look up every name in it; the types of its columns.
    pub fn prepare(&mut self, sql: &str) -> Result<Vec<mysql_async::Column>, MyError> {
        let sql = sql.to_owned();
        self.ask(|conn| {
            Box::pin(async move {
                let statement = conn.prep(sql).await?;
                let columns = statement.columns().to_vec();
                conn.close(statement).await?;
                Ok(columns)
            })
        })
    }

    /// Has a question answered; whatever leaves the connection in doubt ends it.
    fn ask<T, F>(&mut self, question: F) -> Result<T, MyError>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut Conn) -> Answer<'a, T> + Send + 'static,
    {
        let Some(mut conn) = self.conn.take() else {
            return Err(MyError::Lost("it was closed before".into()));
        };
        let limit = self.limits.answer;
        let (conn, answer) = within(limit, async move {
            let answer = question(&mut conn).await;
            Ok((conn, answer))
        })?;
        let answer = answer.map_err(MyError::from);
        if !answer.as_ref().is_err_and(MyError::ends_the_link) {
            self.conn = Some(conn);
        }
        answer
    }
}

/// The answer to a question on a connection.
type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, mysql_async::Error>> + Send + 'a>>;

fn params(values: Vec<mysql_async::Value>) -> Params {
    if values.is_empty() { Params::Empty } else { Params::Positional(values) }
}

/// Waits for an answer on the background threads, and drops everything about it after the limit.
fn within<T, F>(limit: Duration, answer: F) -> Result<T, MyError>
where
    T: Send + 'static,
    F: Future<Output = Result<T, mysql_async::Error>> + Send + 'static,
{
    let gone = || MyError::Lost("the threads that speak with servers are gone".into());
    let runtime = crate::background::runtime().map_err(|_| gone())?;
    let (give, take) = mpsc::channel();
    runtime.spawn(async move {
        // Nobody listens any more: then nobody needs it.
        let _ = give.send(tokio::time::timeout(limit, answer).await);
    });
    match take.recv() {
        Ok(Ok(answer)) => answer.map_err(MyError::from),
        Ok(Err(_)) => Err(MyError::TimedOut(limit)),
        Err(_) => Err(gone()),
    }
}
