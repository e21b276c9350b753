//! Statements on one connection to a server, with sentences for what goes wrong.

use super::dialect::PostgresDialect;
use super::sentences::Sentences;
use crate::postgres::error::PgError;
use crate::postgres::link::{Link, Row};
use crate::store::StoreError;
use crate::store::driver::{Connection, Dialect, Executed, Failed, OnRow};
use crate::store::named_params::NamedParams;

/// The connection for polls, or the one for acts.
pub(super) struct OnLink<'a> {
    pub link: &'a mut Link,
    pub sentences: Sentences<'a>,
}

/// Rows that come with one answer of a cursor.
const FETCHED: usize = 5_000;

impl OnLink<'_> {
    pub(super) fn answered<T>(&self, doing: &str, answer: Result<T, PgError>) -> Result<T, Failed> {
        answer.map_err(|error| failed(&error, self.sentences.of(&error, doing)))
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

    fn page_through(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        row: &mut OnRow<'_>,
    ) -> Executed {
        let declare = format!("DECLARE claimtop_found NO SCROLL CURSOR FOR {sql}");
        self.execute(doing, &declare, params)?;
        let fetch = format!("FETCH FORWARD {FETCHED} FROM claimtop_found");
        loop {
            let rows = self.link.query(&fetch, &[]);
            let rows = self.answered(doing, rows)?;
            rows.iter().for_each(|next| row(next));
            if rows.len() < FETCHED {
                return self.run(doing, "CLOSE claimtop_found");
            }
        }
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

/// Runs a statement that names its values.
pub(super) fn query(link: &mut Link, params: &NamedParams, sql: &str) -> Result<Vec<Row>, PgError> {
    let put = params.put_into(sql);
    link.query(&put.sql, &put.values())
}

/// The failure that an error of the server is.
pub(super) fn failed(error: &PgError, sentence: StoreError) -> Failed {
    match error.code() {
        _ if is_locked(error) => Failed::Locked(sentence),
        // The server objects to the text of the statement, and neither to its time nor to who asks.
        Some("42501" | "0A000") => Failed::Denied(sentence),
        Some(code) if code.starts_with("42") => Failed::NotUnderstood(sentence),
        Some(code) if code.starts_with("22") => Failed::BadValue(sentence),
        _ => Failed::Other(sentence),
    }
}

/// Whether somebody else holds the row.
pub(super) fn is_locked(error: &PgError) -> bool {
    matches!(error.code(), Some("55P03" | "40P01" | "40001"))
}
