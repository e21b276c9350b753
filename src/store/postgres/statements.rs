//! PostgreSQL's rows, and statements on one link.

use super::cell;
use super::dialect::PostgresDialect;
use super::error::PgError;
use super::link::{self, Link};
use crate::domain::value::Value;
use crate::store::StoreError;
use crate::store::driver::{Connection, Dialect, Failed, Row};
use crate::store::named_params::NamedParams;

impl Row for link::Row {
    fn value(&self, at: usize, declared: &str) -> Value {
        cell::cell(self, at, declared)
    }

    fn number(&self, at: usize) -> Value {
        cell::number(self, at)
    }

    fn time(&self, at: usize, declared: &str) -> Value {
        cell::time(self, at, declared)
    }

    fn text(&self, at: usize) -> Option<String> {
        cell::text(self, at)
    }

    fn is_true(&self, at: usize) -> bool {
        cell::is_true(self, at)
    }
}

/// Statements on a link, with sentences for what goes wrong.
pub struct Statements<'a> {
    pub link: &'a mut Link,
    pub explain: &'a dyn Fn(&PgError, &str) -> StoreError,
}

impl Statements<'_> {
    fn failed(&self, error: &PgError, doing: &str) -> Failed {
        failed(error, (self.explain)(error, doing))
    }
}

/// The failure that an error of the server is.
pub fn failed(error: &PgError, sentence: StoreError) -> Failed {
    match error.code() {
        _ if is_locked(error) => Failed::Locked(sentence),
        // The server objects to the text of the statement, and neither to its time nor to who asks.
        Some(code) if code.starts_with("42") && code != "42501" => Failed::NotUnderstood(sentence),
        _ => Failed::Other(sentence),
    }
}

/// Whether somebody else holds the row.
pub fn is_locked(error: &PgError) -> bool {
    matches!(error.code(), Some("55P03" | "40P01" | "40001"))
}

impl Connection for Statements<'_> {
    fn dialect(&self) -> &'static dyn Dialect {
        &PostgresDialect
    }

    fn each(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        row: &mut dyn FnMut(&dyn Row),
    ) -> Result<(), Failed> {
        let put = params.put_into(sql);
        let rows = self.link.query(&put.sql, &put.values());
        rows.map_err(|error| self.failed(&error, doing))?.iter().for_each(|next| row(next));
        Ok(())
    }

    fn stream(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        row: &mut dyn FnMut(&dyn Row),
    ) -> Result<(), Failed> {
        let put = params.put_into(sql);
        let first = self.link.patience();
        let done = self.link.each_after(&first, &put.sql, &put.values(), |next| row(next));
        done.map_err(|error| self.failed(&error, doing))
    }

    fn execute(&mut self, doing: &str, sql: &str, params: &NamedParams) -> Result<u64, Failed> {
        let put = params.put_into(sql);
        self.link.execute(&put.sql, &put.values()).map_err(|error| self.failed(&error, doing))
    }

    fn run(&mut self, doing: &str, sql: &str) -> Result<(), Failed> {
        self.link.batch(sql).map_err(|error| self.failed(&error, doing))
    }
}
