//! Runs the statements of an act on a server, and finds out which rows they changed.
//!
//! The row is read under its lock, byte by byte, together with the values of all expressions that the act sets; then
//! these values are written by the row's key. So no collation decides whether it is the row that was seen, and no
//! assignment sees what another has set.

use super::actor::Actor;
use super::row_counts::RowCounts;
use crate::domain::recovery::{Refusal, UntoldRows};
use crate::domain::value::Value;
use crate::profile::format::Statement;
use crate::store::driver::{
    ActTarget, Changed, Connection as _, Dialect, Failed, NotChanged, QueryRows as _, Row,
};
use crate::store::image::{Change, Image, RowAt};
use crate::store::image_sql;
use crate::store::named_params::NamedParams;
use crate::store::schema::{Table, quoted};
use crate::store::statements::{RowEffect, Statements};

const ACTING: &str = "acting";

/// Ends a function early with what it answers, unless something was done.
macro_rules! done {
    ($answer:expr) => {
        match $answer {
            Ok(done) => done,
            Err(why) => return Ok(Err(why)),
        }
    };
}
pub(super) use done;

/// A row, and the values that an act sets in it, by their columns.
type Evaluated = (Image, Vec<(String, Value)>);

impl Actor {
    /// Runs the statements of an act, unless it does not change exactly the one row, or rows that nobody can name.
    pub(super) fn perform(
        &mut self,
        target: &ActTarget<'_>,
        statements: &Statements,
    ) -> Result<Changed, Failed> {
        done!(self.expect_safe_audit_table());
        let before = self.ask_for_act(ACTING, RowCounts::read)?;
        let mut changes = done!(self.all_beside(&statements.before, &statements.params)?);
        changes.push(done!(self.change_row(target, statements)?));
        changes.extend(done!(self.all_beside(&statements.also, &statements.params)?));
        let written = self.ask_for_act(ACTING, RowCounts::read)?.since(before);
        let named = RowCounts::of(&changes, |table| self.dependencies.counted(table));
        if written.exceeds(named) {
            let table = target.table.name.clone();
            return Ok(Err(NotChanged::Refused(Refusal::UntoldRows(UntoldRows::Trigger { table }))));
        }
        Ok(Ok(changes))
    }

    fn all_beside(&mut self, all: &[Statement], params: &NamedParams) -> Result<Changed, Failed> {
        let mut changes = Vec::new();
        for statement in all {
            changes.extend(done!(self.beside(statement, params)?));
        }
        Ok(Ok(changes))
    }

    /// The act itself.
    fn change_row(
        &mut self,
        target: &ActTarget<'_>,
        statements: &Statements,
    ) -> Result<Result<Change, NotChanged>, Failed> {
        let &ActTarget { table, row, .. } = target;
        let values = match self.evaluate(table, statements)? {
            Some((is, values)) if is == *row => values,
            _ => return Ok(Err(NotChanged::NotTheRow)),
        };
        done!(self.expect_no_followers(table, &statements.effect, row)?);
        let at = RowAt::Key(row.part(&table.key));
        let mut params = NamedParams::default();
        let Some(is_it) = self.dialect.is_at(table, &at, "c", &mut params) else {
            return Ok(Err(NotChanged::NotTheRow));
        };
        if statements.effect == RowEffect::Deleted {
            let sql = self.dialect.delete_one(table, &is_it);
            return Ok(match self.on_link().execute(ACTING, &sql, &params)? {
                1 => Ok(Change::of(table, Some(row.clone()), None)),
                _ => Err(NotChanged::NotTheRow),
            });
        }
        let mut set = Vec::new();
        for (number, (column, value)) in values.iter().enumerate() {
            let declared = table.column(column).map_or("", |column| column.declared.as_str());
            params.add_value(&format!("set{number}"), declared, value.clone());
            set.push(format!("{} = :set{number}", quoted(column)));
        }
        let sql = format!("UPDATE {} AS c SET {} WHERE {is_it}", table.sql, set.join(", "));
        if self.on_link().execute(ACTING, &sql, &params)? != 1 {
            return Ok(Err(NotChanged::NotTheRow));
        }
        // The key may be one of the columns that were set.
        let written = row.map(|name, old| {
            let new = values.iter().find(|(column, _)| column.eq_ignore_ascii_case(name));
            new.map_or_else(|| old.clone(), |(_, value)| value.clone())
        });
        self.changed(table, row, &written)
    }

    /// The row as it is, under its lock, and the values that the act sets.
    fn evaluate(&mut self, table: &Table, statements: &Statements) -> Result<Option<Evaluated>, Failed> {
        let alias = statements.alias;
        let image = image_sql::columns(self.dialect, table, alias);
        // The line break ends a comment in the expression.
        let values = statements.assignments.iter().map(|(_, sql)| format!(", ({sql}\n)"));
        let lock = self.dialect.exclusive_lock(alias).unwrap_or_default();
        let sql = format!(
            "SELECT {image}{} FROM {} AS {alias} WHERE {} {lock}",
            values.collect::<String>(),
            table.sql,
            statements.conditions
        );
        let first = table.names.len();
        let read = |row: &dyn Row| {
            let names = statements.assignments.iter().enumerate();
            let values = names.map(|(at, (column, _))| (column.clone(), row.value(first + at, "")));
            (image_sql::read(table, row, 0), values.collect())
        };
        let mut found = self.on_link().all(ACTING, &sql, &statements.params, read)?;
        Ok(if found.len() == 1 { found.pop() } else { None })
    }

    /// A row that was changed, with what is there now.
    pub(super) fn changed(
        &mut self,
        table: &Table,
        before: &Image,
        written: &Image,
    ) -> Result<Result<Change, NotChanged>, Failed> {
        let change = Change::of(table, Some(before.clone()), Some(written.clone()));
        let after = image_sql::current(&mut self.on_link(), table, &change, None)?;
        let Some(after) = after else {
            let by_trigger = UntoldRows::Trigger { table: table.name.clone() };
            return Ok(Err(NotChanged::Refused(Refusal::UntoldRows(by_trigger))));
        };
        Ok(Ok(Change::of(table, Some(before.clone()), Some(after))))
    }

    /// Unless nothing refers to the row that would change along.
    pub(super) fn expect_no_followers(
        &mut self,
        table: &Table,
        effect: &RowEffect,
        row: &Image,
    ) -> Result<Result<(), NotChanged>, Failed> {
        let Actor { reader, link, dependencies, .. } = self;
        let asked = dependencies.expect_no_followers(link, &reader.schema, table, effect, row);
        let asked = self.on_link().answered("looking for rows that refer to it", asked)?;
        Ok(asked.map_err(NotChanged::Refused))
    }
}
