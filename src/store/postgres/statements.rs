//! PostgreSQL's rows and errors, as the rest of the program sees them.

use super::cell;
use super::error::PgError;
use super::link;
use crate::domain::value::Value;
use crate::store::StoreError;
use crate::store::driver::{Failed, Row};

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
