//! Statements on one connection to a server, with sentences for what goes wrong.

use super::cell::put;
use super::dialect::{self, MysqlDialect};
use super::writable_server;
use crate::mysql::{Link, MyError, Purpose};
use crate::store::driver::{Connection, Dialect, Executed, Failed, OnRow};
use crate::store::named_params::NamedParams;
use crate::store::{Options, StoreError};

/// A connection, and what it is for.
pub(super) struct OnLink<'a> {
    pub link: &'a mut Link,
    pub options: &'a Options,
    pub purpose: Purpose,
}

impl OnLink<'_> {
    pub(super) fn flavored(&self) -> &'static MysqlDialect {
        dialect::of(self.link.flavor())
    }

    pub(super) fn answered<T>(&self, doing: &str, answer: Result<T, MyError>) -> Result<T, Failed> {
        answer.map_err(|error| {
            let sentence = match self.purpose {
                Purpose::Polls => self.options.my_sentence(&error, doing),
                Purpose::Acts => self.options.my_sentence_of_act(&error, doing),
            };
            failed(&error, sentence)
        })
    }
}

impl Connection for OnLink<'_> {
    fn dialect(&self) -> &'static dyn Dialect {
        self.flavored()
    }

    fn each(&mut self, doing: &str, sql: &str, params: &NamedParams, row: &mut OnRow<'_>) -> Executed {
        let put = put(params, sql);
        let rows = self.link.query(&put.sql, put.values);
        self.answered(doing, rows)?.iter().for_each(|next| row(next));
        Ok(())
    }

    fn execute(&mut self, doing: &str, sql: &str, params: &NamedParams) -> Result<u64, Failed> {
        let put = put(params, sql);
        let done = self.link.execute(&put.sql, put.values);
        self.answered(doing, done)
    }

    /// Several statements are sent one by one: the server never takes two in one text.
    fn run(&mut self, doing: &str, sql: &str) -> Executed {
        for one in sql.split("; ") {
            let done = self.link.run(one);
            self.answered(doing, done)?;
        }
        Ok(())
    }
}

/// The failure that an error of the server is.
pub(super) fn failed(error: &MyError, sentence: StoreError) -> Failed {
    match error {
        _ if error.is_locked() => Failed::Locked(sentence),
        _ if error.is_not_understood() => Failed::NotUnderstood(sentence),
        _ if error.is_bad_value() => Failed::BadValue(sentence),
        _ => Failed::Other(sentence),
    }
}

impl Options {
    /// What an error of a MySQL server means in an act.
    pub(super) fn my_sentence_of_act(&self, error: &MyError, doing: &str) -> StoreError {
        let source_name = self.name();
        match error {
            _ if error.is_of_a_row() => {
                StoreError::RowRefused { source_name, said: error.to_string(), doing: doing.into() }
            }
            _ if error.is_read_only() => writable_server::read_only(self),
            _ if error.is_not_allowed() => {
                let why = format!("{error}; `assets/schema/mysql/roles.sql` has a role that may");
                StoreError::ReadOnly { path: source_name.into(), why }
            }
            _ => self.my_sentence(error, doing),
        }
    }

    /// What an error of a MySQL server means.
    pub(super) fn my_sentence(&self, error: &MyError, doing: &str) -> StoreError {
        let source_name = self.name();
        match error {
            _ if error.is_too_slow() => {
                StoreError::TooSlow { path: source_name.into(), limit_ms: self.poll_timeout.as_millis() }
            }
            MyError::Server { code, .. } if error.is_locked() => StoreError::Locked {
                path: source_name.into(),
                waited_ms: self.busy_timeout.as_millis(),
                code: code.to_string(),
            },
            MyError::Server { .. } => {
                StoreError::Server { source_name, said: error.to_string(), doing: doing.into() }
            }
            MyError::Lost(_) | MyError::TimedOut(_) => {
                StoreError::Unreachable { source_name, why: error.to_string().into() }
            }
        }
    }
}
