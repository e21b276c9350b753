//! The attempts that document 003's system writes down: what came since the last look.

use super::cell::{is_true, number, text};
use super::reader::Reader;
use super::schema::literal;
use crate::store::StoreError;
use crate::store::attempts::{Attempt, Attempts, MOST, TABLE};
use crate::store::schema::Table;

impl Reader {
    /// As on SQLite: see [`crate::store::Reader::attempts`].
    pub fn attempts(&mut self, after: Option<i64>) -> Result<Option<Attempts>, StoreError> {
        let known = self.watched.iter().any(|watched| watched.name == "finalization");
        let is_plain = |table: &&Table| table.standing.runs.is_none() && table.standing.ambiguous.is_none();
        let table = self.schema.table(TABLE).filter(|_| known).filter(is_plain);
        let needed = ["id", "claimed", "message"];
        let Some(table) = table.filter(|table| needed.iter().all(|name| table.column(name).is_some())) else {
            return Ok(None);
        };
        // A system that numbers them otherwise is not followed.
        if !table.column("id").is_some_and(|id| super::dialect::is_whole(&id.declared)) {
            return Ok(None);
        }
        let sql = table.sql.clone();
        self.aside("reading attempts", |link| {
            let rows = link.query(&format!("SELECT coalesce(max(id), 0)::text FROM {sql}"), &[])?;
            let last = rows.first().and_then(|row| number(row, 0).int()).unwrap_or(0);
            // Numbers that start anew mean another table; its rows are counted from here.
            let Some(after) = after.filter(|after| *after <= last) else {
                return Ok(Some(Attempts { new: Vec::new(), up_to: last }));
            };
            let sql = format!(
                "SELECT id::text, claimed::text, message::text FROM {sql} WHERE id > {}::bigint ORDER BY id LIMIT {MOST}",
                literal(&after.to_string())
            );
            let rows = link.query(&sql, &[])?;
            let up_to = rows.last().and_then(|row| number(row, 0).int()).unwrap_or(after);
            let new = rows.iter().map(|row| Attempt { claimed: is_true(row, 1), message: text(row, 2) });
            Ok(Some(Attempts { new: new.collect(), up_to }))
        })
    }
}
