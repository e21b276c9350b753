//! The attempts that the finalization system writes down: what came since the last look.

use super::driver::Row;
use super::named_params::NamedParams;
use super::schema::Table;
use super::{Reader, StoreError};
use crate::domain::value::Value;
use crate::store::driver::QueryRows;

/// The table they are in.
const TABLE: &str = "tasker_finalization_attempts";
/// The profile that knows it.
const PROFILE: &str = "finalization";
/// Rows that one look reads; what is beyond them comes with the next.
const MOST: usize = 10_000;

/// One attempt to claim a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub claimed: bool,
    pub message: Option<String>,
}

/// New attempts, oldest first, and the number up to which they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempts {
    pub new: Vec<Attempt>,
    pub up_to: i64,
}

/// What numbers the attempts in the order in which they came, as SQL, and which of them can be read yet.
#[derive(Debug)]
pub struct AttemptOrder {
    pub number: String,
    pub only: Option<String>,
}

impl Reader {
    /// What came after the number up to which somebody has read; without one, none of the attempts but
    /// the number of the last. Nothing where no such table is.
    pub fn attempts(&mut self, after: Option<i64>) -> Result<Option<Attempts>, StoreError> {
        let table = self.look("reading attempts", |look| {
            let is_known = look.profiles().into_iter().any(|profile| profile.name == PROFILE);
            Ok(look.schema.table(TABLE).filter(|table| is_known && is_readable(table)).cloned())
        })?;
        let Some(table) = table else { return Ok(None) };
        let Some(AttemptOrder { number, only }) = self.engine.attempt_order(&table)? else {
            return Ok(None);
        };
        let from = only.map_or_else(|| table.sql.clone(), |only| format!("{} WHERE {only}", table.sql));
        self.look("reading attempts", |look| {
            let dialect = look.connection.dialect();
            let newest = dialect.selected(&format!("coalesce(max({number}), 0)"));
            let newest = format!("SELECT {newest} FROM {from}");
            let read = |row: &dyn Row| row.number(0).int().unwrap_or(0);
            let last = look.connection.first("reading attempts", &newest, &NamedParams::default(), read)?;
            let last = last.unwrap_or(0);
            // Numbers that start anew mean another table; its rows are counted from here.
            let Some(after) = after.filter(|after| *after <= last) else {
                return Ok(Attempts { new: Vec::new(), up_to: last });
            };
            let columns = [number.as_str(), "claimed", "message"].map(|sql| dialect.selected(sql)).join(", ");
            let sql = format!(
                "SELECT {columns} FROM {from} {} {number} > :after ORDER BY {number} LIMIT {MOST}",
                if from.contains(" WHERE ") { "AND" } else { "WHERE" }
            );
            let mut params = NamedParams::default();
            params.add_value("after", "bigint", Value::Int(after));
            let mut attempts = Attempts { new: Vec::new(), up_to: after };
            look.connection.each("reading attempts", &sql, &params, &mut |row| {
                attempts.up_to = row.number(0).int().unwrap_or(attempts.up_to);
                attempts.new.push(Attempt { claimed: row.is_true(1), message: row.text(2) });
            })?;
            Ok(attempts)
        })
        .map(Some)
    }
}

/// Whether it has the columns, and reading it runs no code of others.
fn is_readable(table: &Table) -> bool {
    let is_plain = table.standing.runs.is_none() && table.standing.ambiguous.is_none();
    is_plain && ["claimed", "message"].iter().all(|name| table.column(name).is_some())
}
