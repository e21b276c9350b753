//! What binding asks of a database engine.

use super::misfit::Problem;
use crate::domain::time::{Span, TimeUnit, ZoneName};
use crate::profile::format::Act;
use crate::store::bound::{BoundZone, Sql, TimeSql};
use crate::store::driver::Dialect;
use crate::store::named_params::NamedParams;
use crate::store::schema::Table;
use crate::store::statements::{Guarded, guarded};

/// What a piece of a profile's SQL is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fragment {
    /// A value, a condition or a whole statement.
    Whole,
    /// After the table of a `FROM`.
    Joins,
}

/// The rows of a table, and what they are called.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AliasedTable<'a> {
    pub table: &'a Table,
    pub alias: &'static str,
}

/// What binding asks of a live database; what needs no connection is in [`crate::store::driver::Dialect`].
pub(crate) trait Compiler {
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

    /// Compiles what an act itself does to rows, and does not run it.
    fn prepare_act(&self, act: &Act, rows: &AliasedTable<'_>, params: &NamedParams) -> Result<(), Problem> {
        let AliasedTable { table, alias } = *rows;
        let rows = Guarded { table, alias, from: "", conditions: self.always() };
        match guarded(self.dialect(), act, &rows, "the act") {
            Ok(sql) => self.prepare(&sql, params),
            Err(refusal) => Err(Problem::Missing(refusal.to_string())),
        }
    }

    /// Compiles a statement that may change rows, and does not run it.
    fn prepare(&self, sql: &str, params: &NamedParams) -> Result<(), Problem>;

    /// The functions in a piece of SQL whose effects a rollback may not take back.
    fn effects(&self, _sql: &str) -> Vec<String> {
        Vec::new()
    }

    /// What needs no connection.
    fn dialect(&self) -> &'static dyn Dialect;

    /// An expression, maybe a plain column, as a time of a unit; times without a zone are in `zone`.
    fn time(&self, sql: Sql, unit: TimeUnit, zone: &BoundZone) -> Result<TimeSql, String>;

    /// The time of a column or, where that is NULL, the last of some others plus a length of time.
    fn or_after(&self, column: &TimeSql, since: &[&TimeSql], length: Span) -> Result<TimeSql, String>;

    /// The zone that a name means for the times of a table.
    fn zone(&self, name: &ZoneName, table: &Table) -> Result<BoundZone, String>;

    /// The condition that every row meets.
    fn always(&self) -> &'static str;
}
