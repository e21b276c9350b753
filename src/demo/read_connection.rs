//! A connection that only reads: how much work there is.

use rusqlite::{Connection, OpenFlags};
use std::fmt;
use std::path::Path;
use std::time::Duration;

use super::demo_database::DemoDatabase;
use super::error::DemoError;
#[cfg(feature = "postgres")]
use crate::postgres::{Limits, Link, Purpose, Target};
use crate::worker::WorkerError;

pub enum ReadConnection {
    File(Connection),
    #[cfg(feature = "postgres")]
    Server {
        target: Box<Target>,
        link: Box<Link>,
    },
}

impl fmt::Debug for ReadConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadConnection::File(_) => f.write_str("a connection to a file"),
            #[cfg(feature = "postgres")]
            ReadConnection::Server { .. } => f.write_str("a connection to a server"),
        }
    }
}

#[cfg(feature = "postgres")]
const LIMITS: Limits = Limits {
    statement: Duration::from_secs(10),
    lock: Duration::from_secs(5),
    answer: Duration::from_secs(12),
};

impl ReadConnection {
    pub fn at(database: &DemoDatabase) -> Result<ReadConnection, DemoError> {
        Ok(match database {
            DemoDatabase::File(path) => ReadConnection::File(file(path)?),
            #[cfg(feature = "postgres")]
            DemoDatabase::Server(target) => {
                let link = Box::new(Link::open(target, Purpose::Polls, LIMITS)?.by_search_path());
                ReadConnection::Server { target: target.clone(), link }
            }
        })
    }

    /// The first cell of the first row, if there is one, with a statement for each engine.
    pub fn first(&mut self, sqlite: &str, postgres: &str) -> Result<Option<String>, WorkerError> {
        match self {
            ReadConnection::File(connection) => {
                let mut statement = connection.prepare_cached(sqlite)?;
                let mut rows = statement.query([])?;
                let Some(row) = rows.next()? else { return Ok(None) };
                Ok(match row.get_ref(0)? {
                    rusqlite::types::ValueRef::Integer(number) => Some(number.to_string()),
                    other => other.as_str().ok().map(str::to_owned),
                })
            }
            #[cfg(feature = "postgres")]
            ReadConnection::Server { target, link } => {
                if !link.is_open() {
                    **link = Link::open(target, Purpose::Polls, LIMITS)?.by_search_path();
                }
                let rows = link.query(postgres, &[])?;
                Ok(rows.first().and_then(|row| row.get(0)).map(str::to_owned))
            }
        }
    }

    /// A number, with one statement for both engines.
    pub fn count(&mut self, sql: &str) -> Result<i64, WorkerError> {
        let found = self.first(sql, &format!("SELECT ({sql})::text"))?;
        Ok(found.and_then(|text| text.parse().ok()).unwrap_or_default())
    }
}

pub(super) fn file(database: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}
