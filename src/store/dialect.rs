//! What an engine's SQL looks like, and how its rows are read.

use std::fmt::Debug;

use super::backend::BackendSql;
use super::bound::{BoundBoard, BoundRegistry, BoundZone, TimeSql};
use super::conditions::ConditionSql;
use super::found::RowRef;
use super::image::{Image, RowAt};
use super::named_params::NamedParams;
use super::schema::{Column, Table, quoted};
use super::seen::Seen;
use super::session::Registered;
use crate::domain::recovery::Refusal;
use crate::domain::time::{Moment, Reading, Span, TimeUnit, Zone};
use crate::domain::value::Value;
use crate::profile::format::Engine;

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
pub trait Dialect: ConditionSql + Debug + Sync {
    fn engine(&self) -> Engine;

    /// An expression in a list of columns, so that [`Row`] can read it.
    fn selected(&self, sql: &str) -> String;

    /// A column of the row called `alias` as it is in an image.
    fn image_column(&self, column: &Column, alias: &str) -> String {
        self.selected(&format!("{alias}.{}", quoted(&column.name)))
    }

    /// The seconds in a length of time, in a list of columns.
    fn seconds(&self, sql: &str, _declared: &str) -> String {
        self.selected(sql)
    }

    /// What the earliest of some times is found by, with `min`; nothing, if their values cannot be compared
    /// safely.
    fn earliest(&self, time: &TimeSql) -> Option<String>;

    /// A time of that kind, as a row has it.
    fn read_earliest(&self, time: &TimeSql, row: &dyn Row, at: usize) -> Reading;

    /// The time of a trace as it is selected, and what sorts traces by it.
    fn trace_time(&self, at: &str, column: Option<&Column>, form: TimeForm<'_>) -> TraceTime;

    /// Counts 1 if a table is small enough to be read whole at every poll, without reading it where its size is known.
    fn small_tables(&self, table: &Table) -> String;

    /// Counts the indexes on some rows of a table that begin with this column.
    fn partial_indexes(&self, table: &Table, column: &Column) -> String;

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

    /// That a row of a board, as `c`, is the claim that was seen; of any version.
    fn is_claim(&self, board: &BoundBoard, seen: &Seen, params: &mut NamedParams) -> String;

    /// That a row of a registry, as `s`, is the session that was seen; of any version.
    fn is_session(&self, registry: &BoundRegistry, seen: &Registered, params: &mut NamedParams) -> String;

    /// That a row of a board, as `c`, has this key.
    fn has_key(&self, board: &BoundBoard, key: &[Value], params: &mut NamedParams) -> String;

    /// The same for a key that somebody typed: a number may be typed for a text, and a text for a number.
    fn has_typed_key(&self, board: &BoundBoard, key: &[Value], params: &mut NamedParams) -> String {
        self.has_key(board, key, params)
    }

    /// The number of the row called `alias`, where rows have numbers.
    fn row_number(&self, _table: &Table, _alias: &'static str) -> String {
        "NULL".into()
    }

    /// That a row of a board, as `c`, is at one of these places, of which there are at most
    /// [`Dialect::places_at_once`].
    fn is_among(&self, board: &BoundBoard, places: &[RowRef], params: &mut NamedParams) -> String;

    /// How many places one statement goes to.
    fn places_at_once(&self, board: &BoundBoard) -> usize;

    /// That the row called `alias` is where a change has it; nothing, if the table cannot have such a row.
    fn is_at(&self, table: &Table, at: &RowAt, alias: &str, params: &mut NamedParams) -> Option<String>;

    /// Where a row of a table is that looks like this, if its looks tell; else where it was.
    fn at_of(&self, table: &Table, row: &Image, was: &RowAt) -> RowAt;

    /// Locks a session's row against writers of it, without waiting; nothing, if the transaction has locked it.
    fn shared_lock(&self) -> Option<&'static str>;

    /// Locks the row called `alias`, without waiting; nothing, if the transaction has locked it.
    fn exclusive_lock(&self, alias: &str) -> Option<String>;

    /// Deletes one row of a table for which a condition on `c` holds.
    fn delete_one(&self, table: &Table, condition: &str) -> String {
        format!("DELETE FROM {} AS c WHERE {condition}", table.sql)
    }

    /// Ends a savepoint, and checks at once what would be checked at the commit: there it would cost all acts
    /// of the transaction.
    fn release(&self, savepoint: &str) -> String {
        format!("RELEASE {savepoint}")
    }

    /// Who compares a row with what was seen of it, before it is changed.
    fn row_comparison(&self) -> RowComparison {
        RowComparison::InStatement
    }

    /// Why nobody can tell the server session of a claim, if so.
    fn without_backends(&self) -> Option<Refusal> {
        Some(Refusal::NoServer)
    }

    /// The statements for the server session `backend` of the claim, as `c`, for which a condition holds; nothing,
    /// if the database is no server.
    fn backend_sql(&self, _from: &str, _backend: &str, _is_it: &str) -> Option<BackendSql> {
        None
    }

    /// An instant that is compared with columns of a form.
    fn add_time(&self, params: &mut NamedParams, name: &str, form: TimeForm<'_>, moment: Moment);

    /// An instant that an act may write, into columns of a form and of others.
    fn add_instant(&self, params: &mut NamedParams, name: &str, form: TimeForm<'_>, moment: Moment) {
        self.add_time(params, name, form, moment);
    }

    /// A length of time as it is added to columns of `unit`.
    fn add_span(&self, params: &mut NamedParams, name: &str, unit: TimeUnit, span: Span);
}

/// Who compares a row with what was seen of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowComparison {
    /// The statement that changes it: its conditions name every column.
    InStatement,
    /// The driver, byte by byte, under the lock on the row. There, equal by a collation is not the same, and
    /// assignments see what others of their statement have set: so the driver evaluates first and writes values.
    InClient,
}

/// How columns hold times.
#[derive(Debug, Clone, Copy)]
pub struct TimeForm<'a> {
    pub unit: TimeUnit,
    /// The zone of times that have none; nothing, if nobody knows it.
    pub zone: Option<&'a BoundZone>,
}

impl TimeForm<'_> {
    /// The zone in which this program reads and writes texts.
    pub(super) fn own_zone(&self) -> Zone {
        self.zone.and_then(|zone| zone.own).unwrap_or_default()
    }
}

/// How the time of a trace is selected and sorted, as SQL.
#[derive(Debug)]
pub struct TraceTime {
    pub selected: String,
    pub order: String,
}
