//! What a poll asks of a server's SQL beyond [`Dialect`].

use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::store::bound::{BoundBoard, BoundRegistry, Sql, TimeSql};
use crate::store::driver::{Dialect, Row};
use crate::store::named_params::NamedParams;
use crate::store::rows::RowLayout;
use crate::store::schema::Table;

/// The SQL of one kind of server.
pub(in crate::store) trait ServerSql: Dialect {
    /// How the rows of a board are told apart, and their states.
    fn row_layout(&self, board: &BoundBoard, table: &Table, registry: Option<&Table>) -> RowLayout;

    /// Adds an instant that is compared with a time; nothing, if its values cannot be compared safely.
    fn add_bound(&self, params: &mut NamedParams, name: &str, time: &TimeSql, at: Moment) -> Option<()>;

    /// That a lease ends after the last instant that can be read, which is bound as `last`.
    fn ends_too_late(&self, time: &TimeSql, last: &str) -> String {
        format!("{} > {last}", time.comparable)
    }

    /// That a claim since `since` with this timeout is over at the instant `due`; nothing, if that cannot be computed.
    fn is_timed_out(&self, board: &BoundBoard, since: &TimeSql, timeout: &str, due: &str) -> Option<String>;

    /// The seconds of a timeout, as a number.
    fn timeout_seconds(&self, timeout: &str, declared: &str) -> String;

    /// An expression that is compared byte by byte.
    fn exact(&self, sql: &str) -> String;

    /// That an expression has one of these values, of which there are at most [`ServerSql::values_at_once`].
    fn is_one_of(&self, sql: &str, declared: &str, values: &[Value], params: &mut NamedParams) -> String;

    /// How many values one statement compares with.
    fn values_at_once(&self) -> usize;

    /// Selects the holders of claims whose row in the registry meets a condition or is missing, each once, and whether
    /// there are more holders than `most`; nothing, if the claims themselves are the shorter way.
    fn holders(&self, board: &BoundBoard, of: &HoldersAsked<'_>) -> Option<String>;

    /// The newest of a column's times, as SQL.
    fn newest(&self, time: &TimeSql) -> String;

    /// The newest end of a claim by its timeout, as SQL.
    fn newest_timeout(&self, _board: &BoundBoard) -> Option<String> {
        None
    }

    /// The instant in a cell, where its meaning depends on the zone.
    fn read_naive(&self, row: &dyn Row, at: usize, time: &TimeSql) -> Option<Moment> {
        time.unit.read_naive(&row.time(at, &time.cell.declared), time.zone.own.unwrap_or_default())
    }

    /// Counts all sessions of a registry, those that ended before `cut` and those whose end can be read; nothing, if
    /// only this program can read it.
    fn session_counts(
        &self,
        _registry: &BoundRegistry,
        _ends: &TimeSql,
        _cut: Moment,
    ) -> Option<(String, NamedParams)> {
        None
    }
}

/// Which holders are asked for.
#[derive(Debug)]
pub(in crate::store) struct HoldersAsked<'a> {
    pub holder: &'a Sql,
    pub registry: &'a BoundRegistry,
    pub condition: &'a str,
    pub most: usize,
}
