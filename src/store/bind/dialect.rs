//! What binding asks of a database engine.

use super::misfit::Problem;
use crate::domain::time::{TimeUnit, ZoneName};
use crate::store::bound::{BoundZone, Sql, TimeSql};
use crate::store::schema::Table;

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
