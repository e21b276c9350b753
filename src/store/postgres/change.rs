//! Runs the statements of an act on a server, and finds out which rows they changed.

use std::collections::BTreeMap;

use super::actor::Actor;
use super::error::PgError;
use super::image;
use super::named_params::NamedParams;
use super::touched;
use super::watch::query;
use crate::store::driver::Target;
use crate::store::image::Change;
use crate::store::statements::{RowEffect, Statements};

impl Actor {
    /// Runs the statements of an act; nothing, if it did not change exactly the one row.
    pub(super) fn perform(
        &mut self,
        target: &Target<'_>,
        statements: &Statements,
    ) -> Result<Option<Vec<Change>>, PgError> {
        let &Target { table, row, .. } = target;
        let params = &statements.params;
        let mut changes = self.beside(params, &statements.before, false)?;
        let cascade = self.cascade_of(table, statements.effect.clone(), &[row])?;
        let left = image::columns(table, statements.alias).join(", ");
        let act = format!("{} RETURNING {left}", statements.act);
        let rows = self.ask_link(|link| query(link, params, &act))?;
        let [left] = &rows[..] else { return Ok(None) };
        let after = (statements.effect != RowEffect::Deleted).then(|| image::read(table, left, 0));
        let mut left = BTreeMap::from([(0, after)]);
        let followed = self.after_cascade(cascade, &mut left)?;
        let after = left.into_values().next().flatten();
        changes.push(image::change(table, Some(row.clone()), after));
        changes.extend(self.beside(params, &statements.also, true)?);
        changes.extend(followed.into_values().flatten());
        Ok(Some(changes))
    }

    fn beside(
        &mut self,
        params: &NamedParams,
        all: &[String],
        optional: bool,
    ) -> Result<Vec<Change>, PgError> {
        let mut changes = Vec::new();
        if all.is_empty() {
            return Ok(changes);
        }
        let Actor { reader, link, .. } = self;
        for sql in all {
            changes.extend(touched::run(link, &reader.schema, params, sql, optional)?);
        }
        Ok(changes)
    }
}
