//! The attempts that the finalization system writes down: what came since the last look.

use std::collections::BTreeSet;

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
/// How many numbers an attempt may be committed late.
const LATE: i64 = 1_000;

/// One attempt to claim a task, to extend a claim, or to release it.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// `claim`, `extend` or `release`; nothing where the table or the writer does not say.
    pub operation: Option<String>,
    pub claimed: bool,
    pub message: Option<String>,
    /// How long it took, in seconds.
    pub took: Option<f64>,
}

/// Up to where the attempts were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttemptCursor {
    up_to: i64,
    /// Numbers below that were not there yet: they are given out before the commit, which may come later.
    open: BTreeSet<i64>,
}

/// New attempts, oldest first, and up to where they were read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attempts {
    pub new: Vec<Attempt>,
    pub cursor: AttemptCursor,
}

/// What numbers the attempts in the order in which they came.
#[derive(Debug)]
pub struct AttemptOrder {
    /// As SQL.
    pub number: String,
    pub numbers: AttemptNumbers,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptNumbers {
    /// Each has its own; a lower one may be committed later.
    Serial,
    /// Their times: several may share one, and only those that pass this condition can be read yet.
    Times { only: String },
}

impl AttemptCursor {
    fn at(up_to: i64) -> AttemptCursor {
        AttemptCursor { up_to, open: BTreeSet::new() }
    }

    /// The number after which to read.
    fn after(&self) -> i64 {
        self.open.first().map_or(self.up_to, |first| first - 1)
    }

    /// Whether the attempt with this number is new.
    fn take(&mut self, number: i64, numbers: &AttemptNumbers) -> bool {
        match numbers {
            AttemptNumbers::Serial if number <= self.up_to => return self.open.remove(&number),
            AttemptNumbers::Serial => self.open.extend((self.up_to + 1).max(number - LATE)..number),
            AttemptNumbers::Times { .. } => {}
        }
        self.up_to = number;
        true
    }

    /// Forgets numbers that were rolled back.
    fn forget_rolled_back(&mut self) {
        self.open.retain(|open| *open >= self.up_to - LATE);
    }
}

impl Reader {
    /// What came after the cursor; without one, none of the attempts but a cursor at the last. Nothing where no such
    /// table is.
    pub fn attempts(&mut self, after: Option<&AttemptCursor>) -> Result<Option<Attempts>, StoreError> {
        let table = self.look("reading attempts", |look| {
            let is_known = look.profiles().into_iter().any(|profile| profile.name == PROFILE);
            Ok(look.schema.table(TABLE).filter(|table| is_known && is_readable(table)).cloned())
        })?;
        let Some(table) = table else { return Ok(None) };
        let Some(AttemptOrder { number, numbers }) = self.engine.attempt_order(&table)? else {
            return Ok(None);
        };
        let only = match &numbers {
            AttemptNumbers::Serial => "true",
            AttemptNumbers::Times { only } => only,
        };
        self.look("reading attempts", |look| {
            let dialect = look.connection.dialect();
            let newest = dialect.selected(&format!("coalesce(max({number}), 0)"));
            let newest = format!("SELECT {newest} FROM {} WHERE {only}", table.sql);
            let read = |row: &dyn Row| row.number(0).int().unwrap_or(0);
            let last = look.connection.first("reading attempts", &newest, &NamedParams::default(), read)?;
            let last = last.unwrap_or(0);
            // Numbers that start anew mean another table; its rows are counted from here.
            let Some(after) = after.filter(|after| after.up_to <= last) else {
                return Ok(Attempts { new: Vec::new(), cursor: AttemptCursor::at(last) });
            };
            let sql = format!(
                "SELECT {} FROM {} WHERE {only} AND {number} > :after ORDER BY {number} LIMIT {MOST}",
                columns(&table, &number).map(|sql| dialect.selected(sql)).join(", "),
                table.sql
            );
            let mut params = NamedParams::default();
            params.add_value("after", "bigint", Value::Int(after.after()));
            let mut attempts = Attempts { new: Vec::new(), cursor: after.clone() };
            look.connection.each("reading attempts", &sql, &params, &mut |row| {
                let Some(number) = row.number(0).int() else { return };
                if attempts.cursor.take(number, &numbers) {
                    attempts.new.push(attempt(row));
                }
            })?;
            attempts.cursor.forget_rolled_back();
            Ok(attempts)
        })
        .map(Some)
    }
}

/// What is read of an attempt; a column that this version of the system lacks reads as NULL.
fn columns<'a>(table: &Table, number: &'a str) -> [&'a str; 5] {
    let optional = |name: &'static str| if table.column(name).is_some() { name } else { "NULL" };
    [number, "claimed", "message", optional("operation"), optional("duration_seconds")]
}

fn attempt(row: &dyn Row) -> Attempt {
    let took = match row.number(4) {
        Value::Real(seconds) => Some(seconds),
        Value::Int(seconds) => Some(seconds as f64),
        Value::Null | Value::Text(_) | Value::BadText(_) | Value::Bytes(_) => None,
    };
    Attempt {
        operation: row.text(3),
        claimed: row.is_true(1),
        message: row.text(2),
        took: took.filter(|seconds| seconds.is_finite() && *seconds >= 0.0),
    }
}

/// Whether it has the columns, and reading it runs no code of others.
fn is_readable(table: &Table) -> bool {
    let is_plain = table.standing.runs.is_none() && table.standing.ambiguous.is_none();
    is_plain && ["claimed", "message"].iter().all(|name| table.column(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_that_is_committed_late_is_taken_once() {
        let mut cursor = AttemptCursor::at(4);
        assert!(cursor.take(7, &AttemptNumbers::Serial));
        assert_eq!(cursor.after(), 4);
        assert!(cursor.take(5, &AttemptNumbers::Serial));
        assert!(!cursor.take(5, &AttemptNumbers::Serial));
        assert!(!cursor.take(7, &AttemptNumbers::Serial));
        assert_eq!(cursor.after(), 5);
        assert!(cursor.take(6 + LATE + 1, &AttemptNumbers::Serial));
        cursor.forget_rolled_back();
        assert!(!cursor.open.contains(&6));
        assert!(cursor.open.len() <= LATE as usize);
    }

    #[test]
    fn attempts_of_the_same_instant_are_all_taken() {
        let times = AttemptNumbers::Times { only: "true".into() };
        let mut cursor = AttemptCursor::at(4);
        assert!(cursor.take(9, &times) && cursor.take(9, &times));
        assert_eq!(cursor.after(), 9);
    }
}
