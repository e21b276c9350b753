//! The fields of one row, looked up one by one.

use super::acts::expect_known;
use super::compiler::{Compiler, Fragment};
use super::misfit::{Misfit, Problem};
use super::optional::Optional;
use crate::domain::similar::similar;
use crate::domain::time::TimeUnit;
use crate::profile::format::Time;
use crate::store::bound::{BoundRegistry, BoundZone, Sql, TimeSql};
use crate::store::named_params::NamedParams;
use crate::store::schema::{Schema, Table, is_identifier, quoted};

/// Where the fields of one row are looked up.
pub(super) struct FieldScope<'a> {
    pub(super) dialect: &'a dyn Compiler,
    pub(super) table: &'a Table,
    pub(super) alias: &'a str,
    pub(super) from: String,
    pub(super) board: &'a str,
    /// The zone of times that have none.
    pub(super) zone: BoundZone,
    /// What only some versions of the system have.
    pub(super) optional: &'a Optional,
    pub(super) misfit: Misfit,
}

/// Whether a board does not fit without a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    /// It may be missing where the profile says so.
    Optional,
}

impl Need {
    pub(super) fn required_if(condition: bool) -> Need {
        if condition { Need::Required } else { Need::Optional }
    }
}

impl<'a> FieldScope<'a> {
    /// The rows of a table alone, of no board yet.
    pub(super) fn new(
        dialect: &'a dyn Compiler,
        optional: &'a Optional,
        table: &'a Table,
        alias: &'a str,
    ) -> FieldScope<'a> {
        let (from, zone, misfit) =
            (format!("{} AS {alias}", table.sql), BoundZone::default(), Misfit::default());
        FieldScope { dialect, table, alias, from, board: "", zone, optional, misfit }
    }
}

impl FieldScope<'_> {
    /// The value as SQL; its absence makes the board a misfit.
    pub(super) fn required(&mut self, field: &str, value: Option<&String>) -> Option<Sql> {
        self.lookup(value?).map_err(|problem| self.complain(field, problem)).ok()
    }

    /// The value as SQL; it may be missing only where the profile says so.
    pub(super) fn optional(&mut self, field: &str, value: Option<&String>) -> Option<Sql> {
        let value = value?;
        match self.lookup(value) {
            Err(problem) if self.optional.excuses(&problem, value) => None,
            found => found.map_err(|problem| self.complain(field, problem)).ok(),
        }
    }

    /// The same as a text.
    pub(super) fn optional_text(&mut self, field: &str, value: Option<&String>) -> Option<String> {
        self.optional(field, value).map(|sql| sql.text)
    }

    /// A value of the registry's row, if the database has it.
    pub(super) fn of_registry(
        &mut self,
        registry: &BoundRegistry,
        schema: &Schema,
        field: &str,
        value: Option<&String>,
    ) -> Option<String> {
        let (value, table) = (value?, schema.table(&registry.table)?);
        match table.column(value) {
            Some(column) => Some(format!("s.{}", quoted(&column.name))),
            None if is_identifier(value) => {
                let problem = no_column(table, value);
                if !self.optional.excuses(&problem, value) {
                    self.complain(field, problem);
                }
                None
            }
            None => self.optional_text(field, Some(value)),
        }
    }

    pub(super) fn predicate(&mut self, field: &str, value: Option<&String>) -> Option<String> {
        self.required(field, value).map(|sql| sql.text)
    }

    pub(super) fn time(
        &mut self,
        field: &str,
        time: Option<&Time>,
        usual: TimeUnit,
        need: Need,
    ) -> Option<TimeSql> {
        let (text, unit) = (time?.sql().to_owned(), time?.unit(usual));
        let sql = match need {
            Need::Required => self.required(field, Some(&text)),
            Need::Optional => self.optional(field, Some(&text)),
        };
        let time = self.dialect.time(sql?, unit, &self.zone);
        let missing = |problem| Problem::Missing(format!("column {}.{problem}", self.table.name));
        time.map_err(missing).map_err(|problem| self.complain(field, problem)).ok()
    }

    /// A bare name in an expression may be a column of the registry's as well.
    pub(super) fn expect_unambiguous<'a>(&mut self, expressions: impl Iterator<Item = &'a str>) {
        for sql in expressions {
            if let Err(Problem::Missing(what)) = self.dialect.compile(sql, &self.from) {
                let what = format!("{what}; write c. before the claim's own columns");
                self.complain(sql, Problem::Missing(what));
            }
        }
    }

    pub(super) fn complain(&mut self, field: &str, problem: Problem) {
        self.misfit.complain(self.board, field, problem);
    }

    /// SQL as the profile writes it, with every name meaning what its author sees.
    pub(super) fn resolved(&self, value: &str) -> Result<String, Problem> {
        match self.table.column(value) {
            Some(_) => Ok(value.to_owned()),
            None => self.dialect.resolve(value, Fragment::Whole),
        }
    }

    pub(super) fn lookup(&self, value: &str) -> Result<Sql, Problem> {
        if let Some(column) = self.table.column(value) {
            let text = format!("{}.{}", self.alias, quoted(&column.name));
            let (column, declared) = (Some(column.name.to_string()), column.declared.clone());
            return Ok(Sql { text, column, declared });
        }
        if is_identifier(value) && !(self.table.has_rowid && value.eq_ignore_ascii_case("rowid")) {
            return Err(no_column(self.table, value));
        }
        // The line break ends a comment.
        let text = if is_identifier(value) {
            format!("{}.{value}", self.alias)
        } else {
            format!("({}\n)", self.dialect.resolve(value, Fragment::Whole)?)
        };
        let mut known = NamedParams::default();
        known.add("now", "", None::<String>);
        expect_known(value, &known)?;
        let declared = self.dialect.compile(&text, &self.from)?;
        Ok(Sql { text, column: None, declared })
    }
}

fn no_column(table: &Table, column: &str) -> Problem {
    let names = table.columns.iter().map(|column| column.name.as_str());
    let near = similar(column, names).map(str::to_owned);
    Problem::NoColumn { table: table.name.clone(), column: column.to_owned(), near }
}
