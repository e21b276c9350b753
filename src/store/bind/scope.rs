//! The fields of one row, looked up one by one.

use super::dialect::{Compiler, Fragment};
use super::misfit::{Misfit, Problem};
use crate::domain::time::TimeUnit;
use crate::profile::format::Time;
use crate::profile::similar::similar;
use crate::store::bound::{BoundRegistry, BoundZone, Sql, TimeSql};
use crate::store::schema::{Schema, Table, is_identifier, quoted};

/// Where the fields of one row are looked up.
pub(super) struct Scope<'a> {
    pub(super) dialect: &'a dyn Compiler,
    pub(super) table: &'a Table,
    pub(super) alias: &'a str,
    pub(super) from: String,
    pub(super) board: &'a str,
    /// The zone of times that have none.
    pub(super) zone: BoundZone,
    pub(super) misfit: Misfit,
}

impl Scope<'_> {
    /// The value as SQL; its absence makes the board a misfit.
    pub(super) fn required(&mut self, field: &str, value: &str) -> Option<Sql> {
        match self.lookup(value) {
            Ok(sql) => Some(sql),
            Err(problem) => {
                self.complain(field, problem);
                None
            }
        }
    }

    /// The value as SQL, if the database has it.
    pub(super) fn optional(&mut self, field: &str, value: &str) -> Option<Sql> {
        match self.lookup(value) {
            Ok(sql) => Some(sql),
            Err(problem @ Problem::Refused(_)) => {
                self.complain(field, problem);
                None
            }
            Err(_) => None,
        }
    }

    /// A value of the registry's row, if the database has it.
    pub(super) fn of_registry(
        &mut self,
        registry: &BoundRegistry,
        schema: &Schema,
        field: &str,
        value: &str,
    ) -> Option<String> {
        let table = schema.table(&registry.table)?;
        match table.column(value) {
            Some(column) => Some(format!("s.{}", quoted(&column.name))),
            None if is_identifier(value) => None,
            None => self.optional(field, value).map(|sql| sql.text),
        }
    }

    pub(super) fn predicate(&mut self, field: &str, value: &str) -> Option<String> {
        self.required(field, value).map(|sql| sql.text)
    }

    pub(super) fn time(
        &mut self,
        field: &str,
        time: &Time,
        usual: TimeUnit,
        required: bool,
    ) -> Option<TimeSql> {
        let sql = if required { self.required(field, time.sql()) } else { self.optional(field, time.sql()) }?;
        let unit = time.unit(usual);
        match self.dialect.time(sql, unit, &self.zone) {
            Ok(time) => Some(time),
            Err(problem) => {
                let problem = format!("column {}.{problem}", self.table.name);
                self.complain(field, Problem::Missing(problem));
                None
            }
        }
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

    pub(super) fn lookup(&self, value: &str) -> Result<Sql, Problem> {
        if let Some(column) = self.table.column(value) {
            let text = format!("{}.{}", self.alias, quoted(&column.name));
            let (column, declared) = (Some(column.name.to_string()), column.declared.clone());
            return Ok(Sql { text, column, declared });
        }
        if is_identifier(value) && !(self.table.has_rowid && value.eq_ignore_ascii_case("rowid")) {
            let names = self.table.columns.iter().map(|column| column.name.as_str());
            let near = similar(value, names).map(str::to_owned);
            let (table, column) = (self.table.name.to_string(), value.to_owned());
            return Err(Problem::NoColumn { table, column, near });
        }
        // The line break ends a comment.
        let text = if is_identifier(value) {
            format!("{}.{value}", self.alias)
        } else {
            format!("({}\n)", self.dialect.resolve(value, Fragment::Whole)?)
        };
        let declared = self.dialect.compile(&text, &self.from)?;
        Ok(Sql { text, column: None, declared })
    }
}
