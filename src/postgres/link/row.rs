//! One row, cell by cell, as text.

use std::error::Error;
use tokio_postgres::types::{FromSql, Type};

#[derive(Debug, Clone)]
pub struct Row(tokio_postgres::Row);

impl Row {
    pub(super) fn new(row: tokio_postgres::Row) -> Row {
        Row(row)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text of a cell; None if it is NULL, no UTF-8, or not there.
    pub fn get(&self, at: usize) -> Option<&str> {
        std::str::from_utf8(self.bytes(at)?).ok()
    }

    /// The bytes of a cell, for a database that promises no encoding; None if it is NULL or not there.
    pub fn bytes(&self, at: usize) -> Option<&[u8]> {
        let cell: Option<Raw<'_>> = self.0.try_get(at).ok()?;
        cell.map(|raw| raw.0)
    }
}

/// Whatever came, unread.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Raw<'a>, Box<dyn Error + Sync + Send>> {
        Ok(Raw(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
