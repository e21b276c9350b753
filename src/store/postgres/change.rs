//! Runs the statements of an act on a server, and finds out which rows they changed.

use std::collections::BTreeMap;

use super::actor::Actor;
use super::connection::query;
use super::dialect::PostgresDialect;
use super::named_params::NamedParams;
use super::touched;
use crate::postgres::error::PgError;
use crate::profile::format::Statement;
use crate::store::driver::{ActTarget, Changed, NotChanged};
use crate::store::image::Change;
use crate::store::image_sql;
use crate::store::statements::{RowEffect, Statements};

impl Actor {
    /// Runs the statements of an act, unless it does not change exactly the one row.
    pub(super) fn perform(
        &mut self,
        target: &ActTarget<'_>,
        statements: &Statements,
    ) -> Result<Changed, PgError> {
        let &ActTarget { table, row, .. } = target;
        let params = &statements.params;
        let mut changes = match self.beside(params, &statements.before)? {
            Ok(changes) => changes,
            Err(why) => return Ok(Err(why)),
        };
        let cascade = self.cascade_of(table, statements.effect.clone(), &[row])?;
        let left = image_sql::columns(&PostgresDialect, table, statements.alias);
        let act = format!("{} RETURNING {left}", statements.act);
        let rows = self.ask_link(|link| query(link, params, &act))?;
        let [left] = &rows[..] else { return Ok(Err(NotChanged::NotTheRow)) };
        let after = (statements.effect != RowEffect::Deleted).then(|| image_sql::read(table, left, 0));
        let mut left = BTreeMap::from([(0, after)]);
        let followed = self.after_cascade(cascade, &mut left)?;
        let after = left.into_values().next().flatten();
        changes.push(Change::of(table, Some(row.clone()), after));
        match self.beside(params, &statements.also)? {
            Ok(more) => changes.extend(more),
            Err(why) => return Ok(Err(why)),
        }
        changes.extend(followed.into_values().flatten());
        Ok(Ok(changes))
    }

    fn beside(&mut self, params: &NamedParams, all: &[Statement]) -> Result<Changed, PgError> {
        let mut changes = Vec::new();
        let Actor { reader, link, .. } = self;
        for statement in all {
            let touched = touched::run(link, &reader.schema, params, &statement.sql)?;
            if let Err(why) = NotChanged::unless_found(statement, touched.found) {
                return Ok(Err(why));
            }
            changes.extend(touched.changes);
        }
        Ok(Ok(changes))
    }
}
