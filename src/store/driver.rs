//! The seam behind which an engine lives: what only SQLite, or only PostgreSQL, knows.
//!
//! Everything that reads and changes claims is written once, against these traits. An engine
//! implements them, and is named nowhere but where a source is opened.

use std::fmt::Debug;

use super::bound::{BoundZone, TimeSql};
use super::error::StoreError;
use super::named_params::NamedParams;
use super::schema::{Column, quoted};
use crate::domain::time::{Moment, Reading, Span, TimeUnit};
use crate::domain::value::Value;

/// One row of a result. Reading a cell never fails: what cannot be read is a value that says so.
///
/// A cell that is not there reads as NULL.
pub trait Row {
    /// The cell as the value that a column of this declared type holds.
    fn value(&self, at: usize, declared: &str) -> Value;

    /// A cell that is computed with: a number if it reads like one.
    fn number(&self, at: usize) -> Value;

    /// A cell that is read as a time; the ends of an engine's calendar are those of ours.
    fn time(&self, at: usize, declared: &str) -> Value;

    /// The cell as text; nothing for NULL.
    fn text(&self, at: usize) -> Option<String>;

    /// Whether a condition held.
    fn is_true(&self, at: usize) -> bool;

    /// A count; nothing counted is 0.
    fn count(&self, at: usize) -> u64 {
        self.number(at).int().unwrap_or(0).max(0).unsigned_abs()
    }
}

/// What an engine's SQL looks like. It needs no connection.
pub trait Dialect: Debug + Sync {
    /// An expression in a list of columns, so that [`Row`] can read it.
    fn selected(&self, sql: &str) -> String;

    /// The seconds in a length of time, in a list of columns.
    fn seconds(&self, sql: &str, _declared: &str) -> String {
        self.selected(sql)
    }

    /// What the earliest of some times is found by, with `min`; nothing, if their values cannot be compared
    /// safely.
    fn earliest(&self, time: &TimeSql) -> Option<String>;

    /// A time of that kind, as a row has it.
    fn read_earliest(&self, time: &TimeSql, row: &dyn Row, at: usize) -> Reading;

    /// The time of a trace as it is selected, and what sorts traces by it; times without a zone are in `zone`.
    fn trace_time(
        &self,
        at: &str,
        column: Option<&Column>,
        unit: TimeUnit,
        zone: Option<&BoundZone>,
    ) -> TraceTime;

    /// That a column holds exactly the value in `place`, whatever its type and collation, NULL included.
    fn holds_exactly(&self, column: &str, place: &str) -> String;

    /// That two expressions are equal, where NULL equals NULL.
    fn is_same(&self, one: &str, other: &str) -> String;

    /// Where the value of a parameter stands, as SQL.
    fn place(&self, name: &str, _value: &Value) -> String {
        format!(":{name}")
    }

    /// The assignment of a profile's expression to a column, in an `UPDATE`.
    ///
    /// The expression ends with a line break, so that a comment in it cannot swallow what follows.
    fn assignment(&self, column: &Column, expression: &str) -> String {
        format!("{} = ({expression}\n)", quoted(&column.name))
    }

    /// The version of the row called `alias`, as text, if the engine counts versions.
    fn version(&self, alias: &str) -> Option<String>;

    /// An instant that is compared with columns of `unit`; times without a zone are in `zone`.
    fn add_time(
        &self,
        params: &mut NamedParams,
        name: &str,
        unit: TimeUnit,
        zone: &BoundZone,
        moment: Moment,
    );

    /// An instant that an act may write, into columns of `unit` and of others.
    fn add_instant(
        &self,
        params: &mut NamedParams,
        name: &str,
        unit: TimeUnit,
        zone: &BoundZone,
        moment: Moment,
    ) {
        self.add_time(params, name, unit, zone, moment);
    }

    /// A length of time as it is added to columns of `unit`.
    fn add_span(&self, params: &mut NamedParams, name: &str, unit: TimeUnit, span: Span);
}

/// How the time of a trace is selected and sorted, as SQL.
#[derive(Debug)]
pub struct TraceTime {
    pub selected: String,
    pub order: String,
}

/// Why a statement was not done.
#[derive(Debug)]
pub enum Failed {
    /// Somebody else holds a row that it needs.
    Locked(StoreError),
    /// The database does not understand it: a table, a column or a function is not there.
    NotUnderstood(StoreError),
    Other(StoreError),
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Failed {
        Failed::Other(error)
    }
}

impl From<Failed> for StoreError {
    fn from(failed: Failed) -> StoreError {
        match failed {
            Failed::Locked(error) | Failed::NotUnderstood(error) | Failed::Other(error) => error,
        }
    }
}

/// An open connection, inside a transaction. `doing` names the step in an error.
pub trait Connection {
    fn dialect(&self) -> &'static dyn Dialect;

    /// Runs a statement and hands on its rows as they come. Parameters that the statement does not name
    /// are left out.
    fn each(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        row: &mut dyn FnMut(&dyn Row),
    ) -> Result<(), Failed>;

    /// The same for a result that may be larger than memory.
    fn stream(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        row: &mut dyn FnMut(&dyn Row),
    ) -> Result<(), Failed> {
        self.each(doing, sql, params, row)
    }

    /// Runs a statement; how many rows it changed.
    fn execute(&mut self, doing: &str, sql: &str, params: &NamedParams) -> Result<u64, Failed>;

    /// Runs a statement without parameters or rows: a savepoint, the way back to it, its release.
    fn run(&mut self, doing: &str, sql: &str) -> Result<(), Failed>;
}

impl dyn Connection + '_ {
    /// What `read` makes of every row.
    pub fn all<T>(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        read: impl Fn(&dyn Row) -> T,
    ) -> Result<Vec<T>, Failed> {
        let mut all = Vec::new();
        self.each(doing, sql, params, &mut |row| all.push(read(row)))?;
        Ok(all)
    }

    /// What `read` makes of the first row, if there is one.
    pub fn first<T>(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        read: impl Fn(&dyn Row) -> T,
    ) -> Result<Option<T>, Failed> {
        let mut first = None;
        self.each(doing, sql, params, &mut |row| {
            if first.is_none() {
                first = Some(read(row));
            }
        })?;
        Ok(first)
    }

    /// Whether a statement selects anything.
    pub fn exists(&mut self, doing: &str, sql: &str, params: &NamedParams) -> Result<bool, Failed> {
        Ok(self.first(doing, sql, params, |_| ())?.is_some())
    }

    /// The one count that a statement selects.
    pub fn count(&mut self, doing: &str, sql: &str, params: &NamedParams) -> Result<u64, Failed> {
        Ok(self.first(doing, sql, params, |row| row.count(0))?.unwrap_or(0))
    }
}
