//! Statements on one connection to a server, with sentences for what goes wrong.

use super::dialect::PostgresDialect;
use super::sentences::Sentences;
use super::watch::query;
use crate::postgres::error::PgError;
use crate::postgres::link::Link;
use crate::store::StoreError;
use crate::store::driver::{Connection, Dialect, Executed, Failed, OnRow};
use crate::store::named_params::NamedParams;

/// The connection for polls, or the one for acts.
pub(super) struct OnLink<'a> {
    pub link: &'a mut Link,
    pub sentences: Sentences<'a>,
    /// Takes what the server said last instead of an answer.
    pub error: Option<&'a mut Option<PgError>>,
}

impl OnLink<'_> {
    fn answered<T>(&mut self, doing: &str, answer: Result<T, PgError>) -> Result<T, Failed> {
        answer.map_err(|error| {
            let failed = failed(&error, self.sentences.of(&error, doing));
            if let Some(last) = &mut self.error {
                **last = Some(error);
            }
            failed
        })
    }
}

impl Connection for OnLink<'_> {
    fn dialect(&self) -> &'static dyn Dialect {
        &PostgresDialect
    }

    fn each(&mut self, doing: &str, sql: &str, params: &NamedParams, row: &mut OnRow<'_>) -> Executed {
        let rows = query(self.link, params, sql);
        self.answered(doing, rows)?.iter().for_each(|next| row(next));
        Ok(())
    }

    fn stream(&mut self, doing: &str, sql: &str, params: &NamedParams, row: &mut OnRow<'_>) -> Executed {
        let (put, first) = (params.put_into(sql), self.link.patience());
        let done = self.link.each_after(&first, &put.sql, &put.values(), |next| row(next));
        self.answered(doing, done)
    }

    fn execute(&mut self, doing: &str, sql: &str, params: &NamedParams) -> Result<u64, Failed> {
        let put = params.put_into(sql);
        let done = self.link.execute(&put.sql, &put.values());
        self.answered(doing, done)
    }

    fn run(&mut self, doing: &str, sql: &str) -> Executed {
        let done = self.link.batch(sql);
        self.answered(doing, done)
    }
}

/// The failure that an error of the server is.
pub(super) fn failed(error: &PgError, sentence: StoreError) -> Failed {
    match error.code() {
        _ if is_locked(error) => Failed::Locked(sentence),
        // The server objects to the text of the statement, and neither to its time nor to who asks.
        Some(code) if code.starts_with("42") && code != "42501" => Failed::NotUnderstood(sentence),
        Some(code) if code.starts_with("22") => Failed::BadValue(sentence),
        _ => Failed::Other(sentence),
    }
}

/// Whether somebody else holds the row.
pub(super) fn is_locked(error: &PgError) -> bool {
    matches!(error.code(), Some("55P03" | "40P01" | "40001"))
}
