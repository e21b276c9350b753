//! SQLite's own SQL, for laying profiles onto a file.

use rusqlite::Connection;

use super::error::explain;
use super::functions::code;
use super::keys::Keys;
use super::open::{self, Denied, Opened};
use super::reader::Options;
use super::schema;
use crate::domain::time::{TimeUnit, Zone, ZoneName};
use crate::profile::format::{Engine, Profile};
use crate::store::StoreError;
use crate::store::bind::{Compiler, Problem};
use crate::store::bound::{BoundZone, Sql, TimeSql};
use crate::store::fit::{Fit, FitTarget};
use crate::store::schema::Table;

/// Compiles on a connection that may only read.
#[derive(Debug)]
pub struct Sqlite<'a> {
    pub connection: &'a Connection,
    pub denied: &'a Denied,
}

impl Compiler for Sqlite<'_> {
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

    fn time(&self, sql: Sql, unit: TimeUnit, zone: &BoundZone) -> Result<TimeSql, String> {
        if let Some(column) = &sql.column
            && unit.is_number()
            && schema::is_text(&sql.declared)
        {
            return Err(format!("{column} is declared {} but read as a number", sql.declared));
        }
        let comparable = if unit.is_number() {
            sql.text.clone()
        } else {
            format!("claimtop_time({}, {})", sql.text, code(unit, zone.own.unwrap_or_default()))
        };
        let selected = sql.text.clone();
        let is_naive = !unit.is_number();
        Ok(TimeSql { selected, cell: sql, unit, comparable, bound_type: None, zone: zone.clone(), is_naive })
    }

    fn zone(&self, name: &ZoneName, _: &Table) -> Result<BoundZone, String> {
        zone(name)
    }

    fn always(&self) -> &'static str {
        "1"
    }
}

/// The zone that a name means for the texts of a file.
pub fn zone(name: &ZoneName) -> Result<BoundZone, String> {
    let own = match name {
        // SQLite's own clock (CURRENT_TIMESTAMP, datetime('now')) writes UTC.
        ZoneName::Utc | ZoneName::Server => Zone::Utc,
        ZoneName::Host => Zone::Host,
        ZoneName::Offset(offset) => Zone::Offset(*offset),
        ZoneName::Named(name) => {
            return Err(format!(
                "the times of a file can be in utc, host (the zone of this host) or an offset such as +02:00, \
                 not in {name}"
            ));
        }
    };
    let name = if own == Zone::Utc { "utc".into() } else { name.to_string() };
    Ok(BoundZone { name, own: Some(own), ..BoundZone::default() })
}

/// Lays each of the profiles onto the file.
pub fn fits(options: &Options, profiles: Vec<Profile>) -> Result<Vec<Fit>, StoreError> {
    let Opened { connection, denied, .. } =
        open::read_only(&options.path, options.busy_timeout, &Keys::default())?;
    let sentence = |error| explain(&options.path, &error, options.busy_timeout, "reading the schema");
    let schema = schema::read(&connection).map_err(sentence)?;
    let ground = FitTarget {
        dialect: &Sqlite { connection: &connection, denied: &denied },
        engine: Engine::Sqlite,
        schema: &schema,
        operator: &options.operator,
        source: &options.path,
    };
    ground.describe(profiles)
}
