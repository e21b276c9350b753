//! What an act of a profile can reach in a file: through its statements, triggers and foreign keys.

use rusqlite::Connection;

use super::actor::Actor;
use crate::store::StoreError;
use crate::store::schema::quoted;
use crate::store::scope::{Reach, Scope};

impl Actor {
    /// What an action on a board may change; nothing if no profile that fits knows it.
    pub(super) fn scope_of(
        &mut self,
        profile: &str,
        board: &str,
        action: &str,
    ) -> Result<Option<Scope>, StoreError> {
        self.read_schema()?;
        let watched = self.reader.watched.iter().find(|watched| watched.profile.name == profile);
        let scope = watched.and_then(|watched| Scope::of(&watched.profile, board, action, &self.schema));
        let Some(mut scope) = scope else { return Ok(None) };
        let tables: Vec<String> = self.schema.table_names().map(str::to_owned).collect();
        let (triggers, keys) = self.write("reading triggers and foreign keys", |writer| {
            Ok((triggers(writer)?, foreign_keys(writer, &tables)?))
        })?;
        let schema = &self.schema;
        scope.close(|scope, table, reach| {
            let mut more = false;
            for (_, sql) in triggers.iter().filter(|(on, _)| on.eq_ignore_ascii_case(table)) {
                more |= scope.add_statements(sql, schema);
            }
            for key in keys.iter().filter(|key| key.parent.eq_ignore_ascii_case(table)) {
                for passed_on in key.passes_on(reach) {
                    more |= scope.add(&key.child, passed_on);
                }
            }
            more
        });
        Ok(Some(scope))
    }
}

/// The triggers: each with its table and what it does.
fn triggers(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let sql = "SELECT tbl_name, sql FROM sqlite_master WHERE type = 'trigger' AND sql IS NOT NULL";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        let (table, text): (String, String) = (row.get(0)?, row.get(1)?);
        // What stands before says when it fires: AFTER UPDATE OF a column.
        let start = text.to_ascii_lowercase().find("begin").unwrap_or(0);
        Ok((table, text.get(start..).unwrap_or_default().to_owned()))
    })?;
    rows.collect()
}

/// A column that refers to another table, and what becomes of it when that changes.
struct ForeignKey {
    parent: String,
    child: String,
    column: String,
    on_update: String,
    on_delete: String,
}

impl ForeignKey {
    fn passes_on(&self, reach: &Reach) -> Vec<Reach> {
        let mut passed_on = Vec::new();
        match self.on_delete.as_str() {
            "CASCADE" if reach.deletes => passed_on.push(Reach::deletes()),
            "SET NULL" | "SET DEFAULT" if reach.deletes => passed_on.push(Reach::sets(&self.column)),
            _ => {}
        }
        if matches!(self.on_update.as_str(), "CASCADE" | "SET NULL" | "SET DEFAULT")
            && (reach.sets_any || !reach.sets.is_empty())
        {
            passed_on.push(Reach::sets(&self.column));
        }
        passed_on
    }
}

fn foreign_keys(connection: &Connection, tables: &[String]) -> rusqlite::Result<Vec<ForeignKey>> {
    let mut keys = Vec::new();
    for child in tables {
        let mut statement = connection.prepare(&format!("PRAGMA foreign_key_list({})", quoted(child)))?;
        let rows = statement.query_map([], |row| {
            Ok(ForeignKey {
                parent: row.get(2)?,
                child: child.clone(),
                column: row.get(3)?,
                on_update: row.get(5)?,
                on_delete: row.get(6)?,
            })
        })?;
        for key in rows {
            keys.push(key?);
        }
    }
    Ok(keys)
}
