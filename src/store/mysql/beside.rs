//! The statements that run beside an act, and the rows they change, with their images.
//!
//! The server does not return the rows that a statement changed. So those of an UPDATE or DELETE are locked and read by
//! its own condition before it runs, and those of an INSERT are found by the key that it gave them. A statement of which
//! neither can be done is refused.

use super::actor::Actor;
use super::beside_text::{BesideText, StatementVerb};
use super::change::done;
use crate::domain::recovery::{Refusal, UntoldRows};
use crate::domain::value::Value;
use crate::mysql::link::Flavor;
use crate::profile::format::Statement;
use crate::store::driver::{Changed, Connection as _, Dialect, Failed, NotChanged, QueryRows as _};
use crate::store::image::{Change, Image};
use crate::store::image_sql;
use crate::store::named_params::NamedParams;
use crate::store::schema::{Names, Table, quoted};
use crate::store::statements::RowEffect;

const BESIDE: &str = "acting beside the claim";

fn untold(statement: &Statement) -> NotChanged {
    NotChanged::Refused(Refusal::UntoldRows(UntoldRows::Statement { sql: statement.sql.clone() }))
}

impl Actor {
    /// Runs a statement of the profile's; what it changed.
    pub(super) fn beside(&mut self, statement: &Statement, params: &NamedParams) -> Result<Changed, Failed> {
        let Some(text) = BesideText::of(&statement.sql) else { return Ok(Err(untold(statement))) };
        if text.verb == StatementVerb::Select {
            let found = self.on_link().all(BESIDE, &statement.sql, params, |_| ())?.len() as u64;
            return Ok(NotChanged::unless_found(statement, found).map(|()| Vec::new()));
        }
        let Some(table) = self.reader.schema.table(&text.table).cloned() else {
            return Ok(Err(untold(statement)));
        };
        done!(table.expect_safe_for_acts().map_err(NotChanged::Refused));
        let changes = match text.verb {
            StatementVerb::Insert => self.insert_beside(&table, statement, params)?,
            _ => self.change_beside(&table, &text, statement, params)?,
        };
        let changes = done!(changes);
        done!(NotChanged::unless_found(statement, changes.len() as u64));
        Ok(Ok(changes))
    }

    /// Adds rows, and finds them by their keys.
    fn insert_beside(
        &mut self,
        table: &Table,
        statement: &Statement,
        params: &NamedParams,
    ) -> Result<Changed, Failed> {
        let keys: Vec<Image> = if self.link.flavor() == Flavor::MariaDb {
            let key: Vec<String> = table.key.iter().map(quoted).collect();
            let sql = format!("{}\nRETURNING {}", statement.sql.trim_end_matches(';'), key.join(", "));
            self.on_link().all(BESIDE, &sql, params, |row| {
                Image::new(&table.key, (0..table.key.len()).map(|at| row.value(at, "")))
            })?
        } else {
            let added = self.on_link().execute(BESIDE, &statement.sql, params)?;
            let numbered = self.dependencies.numbered(&table.name).map(str::to_owned);
            let is_key = numbered.is_some_and(|column| *table.key == Names::new(vec![column]));
            // Only of a single row is it certain which number it got.
            if added > 1 || (added == 1 && !is_key) {
                return Ok(Err(untold(statement)));
            }
            let sql = "SELECT LAST_INSERT_ID()";
            let number = self.on_link().first(BESIDE, sql, &NamedParams::default(), |row| row.number(0))?;
            let keys = number.into_iter().take(added as usize);
            keys.map(|number: Value| Image::new(&table.key, [number].into_iter())).collect()
        };
        let mut changes = Vec::new();
        for key in keys {
            let added = Change::of(table, None, Some(key));
            let Some(after) = image_sql::current(&mut self.on_link(), table, &added, None)? else {
                return Ok(Err(untold(statement)));
            };
            changes.push(Change::of(table, None, Some(after)));
        }
        Ok(Ok(changes))
    }

    /// Changes or deletes rows, which are locked and read before.
    fn change_beside(
        &mut self,
        table: &Table,
        text: &BesideText<'_>,
        statement: &Statement,
        params: &NamedParams,
    ) -> Result<Changed, Failed> {
        let alias = &text.alias;
        let columns = image_sql::columns(self.dialect, table, &quoted(alias));
        let lock = self.dialect.exclusive_lock(alias).unwrap_or_default();
        let sql = format!(
            "SELECT {columns} FROM {} AS {} WHERE ({}\n) {lock}",
            table.sql,
            quoted(alias),
            text.condition
        );
        let before = self.on_link().all(BESIDE, &sql, params, |row| image_sql::read(table, row, 0))?;
        let effect = match text.verb {
            StatementVerb::Delete => RowEffect::Deleted,
            _ => RowEffect::Changed(
                table.names.iter().filter(|name| text.may_set(name)).map(str::to_owned).collect(),
            ),
        };
        for row in &before {
            done!(self.expect_no_followers(table, &effect, row)?);
        }
        let found = self.on_link().execute(BESIDE, &statement.sql, params)?;
        if found != before.len() as u64 {
            return Ok(Err(untold(statement)));
        }
        let mut changes = Vec::new();
        for row in before {
            if effect == RowEffect::Deleted {
                changes.push(Change::of(table, Some(row), None));
            } else {
                changes.push(done!(self.changed(table, &row, &row)?));
            }
        }
        Ok(Ok(changes))
    }
}
