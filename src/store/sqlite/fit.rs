//! SQLite's own SQL, for laying profiles onto a file.

use rusqlite::Connection;

use super::functions::code;
use super::keys::Keys;
use super::open::{self, Denied, Opened};
use super::reader::Options;
use super::schema;
use crate::domain::time::TimeUnit;
use crate::profile::format::{Engine, Profile};
use crate::store::StoreError;
use crate::store::bind::{Dialect, Problem};
use crate::store::bound::{Sql, TimeSql};
use crate::store::fit::{Fit, Ground};

/// Compiles on a connection that may only read.
#[derive(Debug)]
pub struct Sqlite<'a> {
    pub connection: &'a Connection,
    pub denied: &'a Denied,
}

impl Dialect for Sqlite<'_> {
    fn compile(&self, expression: &str, from: &str) -> Result<String, Problem> {
        self.denied.take();
        // The second column is gone if the expression swallows the rest.
        match self.connection.prepare(&format!("SELECT {expression}, 0 FROM {from} LIMIT 0")) {
            Ok(statement) if statement.column_count() == 2 => Ok(String::new()),
            Ok(_) => Err(Problem::Refused("it does not stand by itself".into())),
            Err(_) if self.denied.take() => Err(Problem::Refused("a profile may only read".into())),
            Err(rusqlite::Error::SqlInputError { msg, .. }) => Err(Problem::Missing(msg)),
            Err(error) => Err(Problem::Missing(error.to_string())),
        }
    }

    fn time(&self, sql: Sql, unit: TimeUnit) -> Result<TimeSql, String> {
        if let Some(column) = &sql.column
            && unit.is_number()
            && schema::is_text(&sql.declared)
        {
            return Err(format!("{column} is declared {} but read as a number", sql.declared));
        }
        let comparable = if unit.is_number() {
            sql.text.clone()
        } else {
            format!("claimtop_time({}, {})", sql.text, code(unit))
        };
        Ok(TimeSql { selected: sql.text.clone(), cell: sql, unit, comparable, bound_type: None })
    }

    fn always(&self) -> &'static str {
        "1"
    }
}

/// Lays each of the profiles onto the file.
pub fn fits(options: &Options, profiles: Vec<Profile>) -> Result<Vec<Fit>, StoreError> {
    let Opened { connection, denied, .. } =
        open::read_only(&options.path, options.busy_timeout, &Keys::default())?;
    let sentence = |error| open::explain(&options.path, &error, options.busy_timeout, "reading the schema");
    let schema = schema::read(&connection).map_err(sentence)?;
    let ground = Ground {
        dialect: &Sqlite { connection: &connection, denied: &denied },
        engine: Engine::Sqlite,
        schema: &schema,
        operator: &options.operator,
        source: &options.path,
    };
    ground.describe(profiles)
}
