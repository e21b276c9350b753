//! What binding asks of a database engine, and why a profile may not fit.

use crate::domain::time::{TimeUnit, ZoneName};
use crate::store::bound::{BoundZone, Sql, TimeSql};
use crate::store::schema::Table;

/// Why a profile or a board cannot be used on this database.
#[derive(Debug, Default)]
pub struct Misfit {
    pub missing: Vec<String>,
    /// A table with the right name is there, so the profile is probably meant.
    pub near: bool,
    /// The SQL of this field tries to do more than read.
    pub refused: Option<(String, String)>,
}

/// What a piece of a profile's SQL is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fragment {
    /// A value, a condition or a whole statement.
    Whole,
    /// After the table of a `FROM`.
    Joins,
}

/// What binding asks of a live database; what needs no connection is in [`crate::store::driver::Dialect`].
pub trait Compiler {
    /// SQL of the profile's author in a form in which every name means what the author sees, if it may run.
    fn resolve(&self, sql: &str, _fragment: Fragment) -> Result<String, Problem> {
        Ok(sql.to_owned())
    }

    /// Why a table may not be used by the name that the profile writes.
    fn usable(&self, _table: &Table, _written: &str) -> Result<(), Problem> {
        Ok(())
    }

    /// The operator that compares two values of a type.
    fn equality(&self, _declared: &str) -> String {
        "=".into()
    }

    /// The type of an expression over some tables, as far as the engine knows one, if it compiles and
    /// stands by itself.
    fn compile(&self, expression: &str, from: &str) -> Result<String, Problem>;

    /// An expression, maybe a plain column, as a time of a unit; times without a zone are in `zone`.
    fn time(&self, sql: Sql, unit: TimeUnit, zone: &BoundZone) -> Result<TimeSql, String>;

    /// The zone that a name means for the times of a table.
    fn zone(&self, name: &ZoneName, table: &Table) -> Result<BoundZone, String>;

    /// The condition that every row meets.
    fn always(&self) -> &'static str;
}

/// Why an expression cannot be used.
#[derive(Debug)]
pub enum Problem {
    Missing(String),
    Refused(String),
}

impl Misfit {
    /// The one of a board whose table is there.
    pub(super) fn of(board: &str, field: &str, problem: Problem) -> Misfit {
        let mut misfit = Misfit { near: true, ..Misfit::default() };
        misfit.complain(board, field, problem);
        misfit
    }

    pub(super) fn complain(&mut self, board: &str, field: &str, problem: Problem) {
        match problem {
            Problem::Missing(what) => self.missing.push(format!("board {board}: {what} ({field})")),
            Problem::Refused(why) => self.refused = Some((format!("{board}.{field}"), why)),
        }
    }
}
