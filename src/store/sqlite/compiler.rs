//! SQLite's own SQL, for laying profiles onto a file.

use rusqlite::Connection;
use std::path::Path;

use super::dialect::{SqliteDialect, spelled};
use super::error::explain;
use super::functions::code;
use super::keys::Keys;
use super::open::{self, Denied, OpenedFile};
use super::schema;
use crate::domain::time::{Span, TimeUnit, Zone, ZoneName};
use crate::profile::format::Profile;
use crate::store::bind::{Compiler, Problem};
use crate::store::bound::{BoundZone, Sql, TimeSql};
use crate::store::driver::Dialect;
use crate::store::fit::{Fit, FitTarget};
use crate::store::named_params::NamedParams;
use crate::store::schema::Table;
use crate::store::{Options, StoreError};

/// Compiles on a connection that may only read.
#[derive(Debug)]
pub(super) struct Sqlite<'a> {
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

    fn prepare(&self, sql: &str, _: &NamedParams) -> Result<(), Problem> {
        self.denied.take();
        match self.denied.compiling_act(|| self.connection.prepare(&spelled(sql))) {
            Ok(statement) if statement.readonly() && statement.column_count() == 0 => {
                Err(Problem::Refused("an act changes rows; it does not end transactions".into()))
            }
            Ok(_) => Ok(()),
            Err(_) if self.denied.take() => {
                Err(Problem::Refused("an act of a profile may only read and change rows".into()))
            }
            Err(rusqlite::Error::SqlInputError { msg, .. }) => Err(Problem::Missing(msg)),
            Err(error) => Err(Problem::Missing(error.to_string())),
        }
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &SqliteDialect
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

    /// In microseconds, whatever the units are.
    fn or_after(&self, column: &TimeSql, since: &[&TimeSql], length: Span) -> Result<TimeSql, String> {
        let micros = |time: &TimeSql| {
            let unit = time.compared_in();
            match unit.per_second() {
                per_second if per_second > 1_000_000 => {
                    format!("({}) / {}", time.comparable, per_second / 1_000_000)
                }
                per_second => format!("({}) * {}", time.comparable, 1_000_000 / per_second),
            }
        };
        let signs: Vec<String> = since.iter().map(|time| micros(time)).collect();
        let last = match &signs[..] {
            [one, other] => format!("coalesce(max({one}, {other}), {one}, {other})"),
            _ => signs.concat(),
        };
        let text = format!(
            "(CASE WHEN {} IS NULL THEN {last} + {} ELSE {} END)",
            column.cell.text,
            length.as_micros(),
            micros(column)
        );
        let cell = Sql { text: text.clone(), column: None, declared: "INTEGER".into() };
        let (selected, comparable) = (text.clone(), text);
        let (unit, zone) = (TimeUnit::UnixUs, column.zone.clone());
        Ok(TimeSql { cell, unit, selected, comparable, bound_type: None, zone, is_naive: false })
    }

    fn zone(&self, name: &ZoneName, _: &Table) -> Result<BoundZone, String> {
        zone(name)
    }

    fn always(&self) -> &'static str {
        "1"
    }
}

/// The zone that a name means for the texts of a file.
pub(super) fn zone(name: &ZoneName) -> Result<BoundZone, String> {
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
pub fn fits(path: &Path, options: &Options, profiles: Vec<Profile>) -> Result<Vec<Fit>, StoreError> {
    let OpenedFile { connection, denied, .. } =
        open::read_only(path, options.busy_timeout, &Keys::default())?;
    let sentence = |error| explain(path, &error, options.busy_timeout, "reading the schema");
    let schema = schema::read(&connection).map_err(sentence)?;
    let compiler = Sqlite { connection: &connection, denied: &denied };
    FitTarget { compiler: &compiler, schema: &schema, options }.describe(profiles)
}
