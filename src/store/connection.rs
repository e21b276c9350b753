//! Statements on an open connection, whatever engine it leads to.

use super::dialect::{Dialect, Row};
use super::error::StoreError;
use super::named_params::NamedParams;

/// Why a statement was not done.
#[derive(Debug)]
pub enum Failed {
    /// Somebody else holds a row that it needs.
    Locked(StoreError),
    /// The database does not understand it: a table, a column or a function is not there.
    NotUnderstood(StoreError),
    /// It may not be asked any more: rights, or the types of columns, have changed.
    Denied(StoreError),
    /// A value is none of the type that it is compared with.
    BadValue(StoreError),
    Other(StoreError),
}

impl Failed {
    /// Whether the tables may have changed since the profiles were laid onto them.
    pub(super) fn is_of_old_tables(&self) -> bool {
        matches!(self, Failed::NotUnderstood(_) | Failed::Denied(_))
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Failed {
        Failed::Other(error)
    }
}

impl From<Failed> for StoreError {
    fn from(failed: Failed) -> StoreError {
        match failed {
            Failed::Locked(error)
            | Failed::NotUnderstood(error)
            | Failed::Denied(error)
            | Failed::BadValue(error)
            | Failed::Other(error) => error,
        }
    }
}

/// Takes the rows of a statement.
pub(super) type OnRow<'a> = dyn FnMut(&dyn Row) + 'a;

/// Whether a statement was done.
pub(super) type Executed = Result<(), Failed>;

/// An open connection, inside a transaction. `doing` names the step in an error.
pub(super) trait Connection {
    fn dialect(&self) -> &'static dyn Dialect;

    /// Runs a statement and hands on its rows as they come. Parameters that the statement does not name
    /// are left out.
    fn each(&mut self, doing: &str, sql: &str, params: &NamedParams, row: &mut OnRow<'_>) -> Executed;

    /// The same where there may be more rows than fit into memory.
    fn stream(&mut self, doing: &str, sql: &str, params: &NamedParams, row: &mut OnRow<'_>) -> Executed {
        self.each(doing, sql, params, row)
    }

    /// The same where that may take longer than one statement may: page by page.
    fn page_through(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        row: &mut OnRow<'_>,
    ) -> Executed {
        self.each(doing, sql, params, row)
    }

    /// Runs a statement; how many rows it changed.
    fn execute(&mut self, doing: &str, sql: &str, params: &NamedParams) -> Result<u64, Failed>;

    /// Runs a statement without parameters or rows: a savepoint, the way back to it, its release.
    fn run(&mut self, doing: &str, sql: &str) -> Executed;
}

/// Rows of a statement as values.
pub(super) trait QueryRows: Connection {
    /// What `read` makes of every row.
    fn all<T>(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        read: impl Fn(&dyn Row) -> T,
    ) -> Result<Vec<T>, Failed> {
        let mut all = Vec::new();
        self.each(doing, sql, params, &mut |row| all.push(read(row)))?;
        Ok(all)
    }

    /// What `read` makes of the first row, if there is one.
    fn first<T>(
        &mut self,
        doing: &str,
        sql: &str,
        params: &NamedParams,
        read: impl Fn(&dyn Row) -> T,
    ) -> Result<Option<T>, Failed> {
        Ok(self.all(doing, sql, params, read)?.into_iter().next())
    }

    /// Whether a statement selects anything.
    fn exists(&mut self, doing: &str, sql: &str, params: &NamedParams) -> Result<bool, Failed> {
        Ok(self.first(doing, sql, params, |_| ())?.is_some())
    }

    /// The one count that a statement selects.
    fn count(&mut self, doing: &str, sql: &str, params: &NamedParams) -> Result<u64, Failed> {
        Ok(self.first(doing, sql, params, |row| row.count(0))?.unwrap_or(0))
    }
}

impl<T: Connection + ?Sized> QueryRows for T {}
