//! A connection for looking at what there is to do.

use rusqlite::{Connection, OpenFlags};
use std::fmt;
use std::path::Path;
use std::time::Duration;

use super::error::DemoError;
use super::ground::Ground;
use crate::store::postgres::{Limits, Link, Purpose, Target};
use crate::worker::WorkerError;

pub enum Look {
    File(Connection),
    Server { target: Box<Target>, link: Box<Link> },
}

impl fmt::Debug for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Look::File(_) => f.write_str("a look at a file"),
            Look::Server { .. } => f.write_str("a look at a server"),
        }
    }
}

const LIMITS: Limits = Limits {
    statement: Duration::from_secs(10),
    lock: Duration::from_secs(5),
    answer: Duration::from_secs(12),
};

impl Look {
    pub fn at(ground: &Ground) -> Result<Look, DemoError> {
        Ok(match ground {
            Ground::File(path) => Look::File(file(path)?),
            Ground::Server(target) => {
                let link = Box::new(Link::open(target, Purpose::Polls, LIMITS)?.by_search_path());
                Look::Server { target: target.clone(), link }
            }
        })
    }

    /// The first cell of the first row, if there is one; every engine is asked in its own words.
    pub fn first(&mut self, sqlite: &str, postgres: &str) -> Result<Option<String>, WorkerError> {
        match self {
            Look::File(connection) => {
                let mut statement = connection.prepare_cached(sqlite)?;
                let mut rows = statement.query([])?;
                let Some(row) = rows.next()? else { return Ok(None) };
                Ok(match row.get_ref(0)? {
                    rusqlite::types::ValueRef::Integer(number) => Some(number.to_string()),
                    other => other.as_str().ok().map(str::to_owned),
                })
            }
            Look::Server { target, link } => {
                if !link.is_open() {
                    **link = Link::open(target, Purpose::Polls, LIMITS)?.by_search_path();
                }
                let rows = link.query(postgres, &[])?;
                Ok(rows.first().and_then(|row| row.get(0)).map(str::to_owned))
            }
        }
    }

    /// A number that both engines find with the same words.
    pub fn count(&mut self, sql: &str) -> Result<i64, WorkerError> {
        let found = self.first(sql, &format!("SELECT ({sql})::text"))?;
        Ok(found.and_then(|text| text.parse().ok()).unwrap_or_default())
    }
}

pub fn file(database: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}
