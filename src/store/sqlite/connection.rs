//! Statements on one connection to a file, with sentences for what goes wrong.

use super::dialect::{SqliteDialect, prepared};
use super::reader::Reader;
use crate::store::driver::{Connection, Dialect, Executed, Failed, OnRow};
use crate::store::named_params::NamedParams;

/// The connection of a reader, or that of an actor with the same reader.
pub(super) struct OnConnection<'a> {
    pub connection: &'a rusqlite::Connection,
    pub reader: &'a Reader,
}

impl OnConnection<'_> {
    fn done<T>(&self, doing: &str, result: rusqlite::Result<T>) -> Result<T, Failed> {
        result.map_err(|error| {
            let sentence = self.reader.sentence(&error, doing);
            match error {
                rusqlite::Error::SqlInputError { .. } => Failed::NotUnderstood(sentence),
                _ => Failed::Other(sentence),
            }
        })
    }
}

impl Connection for OnConnection<'_> {
    fn dialect(&self) -> &'static dyn Dialect {
        &SqliteDialect
    }

    fn each(&mut self, doing: &str, sql: &str, params: &NamedParams, row: &mut OnRow<'_>) -> Executed {
        let mut run = || -> rusqlite::Result<()> {
            let mut statement = prepared(self.connection, sql, params)?;
            let mut rows = statement.raw_query();
            while let Some(next) = rows.next()? {
                row(next);
            }
            Ok(())
        };
        let result = run();
        self.done(doing, result)
    }

    fn execute(&mut self, doing: &str, sql: &str, params: &NamedParams) -> Result<u64, Failed> {
        let result = prepared(self.connection, sql, params).and_then(|mut statement| statement.raw_execute());
        self.done(doing, result).map(|count| count as u64)
    }

    fn run(&mut self, doing: &str, sql: &str) -> Executed {
        for one in sql.split("; ") {
            let result =
                self.connection.prepare_cached(one).and_then(|mut statement| statement.raw_execute());
            self.done(doing, result)?;
        }
        Ok(())
    }
}
