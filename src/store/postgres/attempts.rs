//! The attempts that document 003's system writes down: what came since the last look.

use super::cell::{is_true, number, text};
use super::reader::Reader;
use super::schema::literal;
use super::zone;
use crate::domain::time::ZoneName;
use crate::store::StoreError;
use crate::store::attempts::{Attempt, Attempts, MOST, TABLE};
use crate::store::schema::Table;

/// Attempts are committed a moment after they are stamped: younger ones wait for the next look, so that
/// none is passed over.
const COMMITTED_AFTER: &str = "5 seconds";

impl Reader {
    /// As on SQLite: see [`crate::store::Reader::attempts`]. Where attempts have no number, the microsecond
    /// of each stands for one.
    pub fn attempts(&mut self, after: Option<i64>) -> Result<Option<Attempts>, StoreError> {
        let known = self.watched.iter().any(|watched| watched.name == "finalization");
        let is_plain = |table: &&Table| table.standing.runs.is_none() && table.standing.ambiguous.is_none();
        let table = self.schema.table(TABLE).filter(|_| known).filter(is_plain);
        let needed = ["claimed", "message"];
        let Some(table) = table.filter(|table| needed.iter().all(|name| table.column(name).is_some())) else {
            return Ok(None);
        };
        let (has_number, has_time) = (has_number(table), table.column("attempted_at").is_some());
        if !has_number && !has_time {
            return Ok(None);
        }
        let sql = table.sql.clone();
        self.aside("reading attempts", |link| {
            let (key, only) = if has_number {
                ("id".to_owned(), "TRUE".to_owned())
            } else {
                let zone = zone::bound(link, &ZoneName::Server, &sql)?.unwrap_or_default();
                let now = format!("(now() AT TIME ZONE {})", literal(&zone.sql));
                let key = "(extract(epoch FROM attempted_at::timestamp) * 1000000)::bigint".to_owned();
                (key, format!("attempted_at < {now} - interval '{COMMITTED_AFTER}'"))
            };
            let newest = format!("SELECT coalesce(max({key}), 0)::text FROM {sql} WHERE {only}");
            let rows = link.query(&newest, &[])?;
            let last = rows.first().and_then(|row| number(row, 0).int()).unwrap_or(0);
            // Numbers that start anew mean another table; its rows are counted from here.
            let Some(after) = after.filter(|after| *after <= last) else {
                return Ok(Some(Attempts { new: Vec::new(), up_to: last }));
            };
            let sql = format!(
                "SELECT ({key})::text, claimed::text, message::text FROM {sql} WHERE {only} AND {key} > {}::bigint \
                 ORDER BY {key} LIMIT {MOST}",
                literal(&after.to_string())
            );
            let rows = link.query(&sql, &[])?;
            let up_to = rows.last().and_then(|row| number(row, 0).int()).unwrap_or(after);
            let new = rows.iter().map(|row| Attempt { claimed: is_true(row, 1), message: text(row, 2) });
            Ok(Some(Attempts { new: new.collect(), up_to }))
        })
    }
}

fn has_number(table: &Table) -> bool {
    table.column("id").is_some_and(|id| super::dialect::is_whole(&id.declared))
}
