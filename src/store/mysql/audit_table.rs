//! The table `claimtop_audit` on a server.

use super::actor::Actor;
use crate::mysql::{Link, MyError};
use crate::store::audit_table::NAME;
use crate::store::driver::NotChanged;
use crate::store::schema::Table;

const CREATE: &str = include_str!("../../../assets/schema/mysql/audit.sql");

/// Makes it, statement by statement: the server takes one at a time.
pub(super) fn create(link: &mut Link) -> Result<(), MyError> {
    let lines: Vec<&str> = CREATE.lines().filter(|line| !line.starts_with("--")).collect();
    let text = lines.join("\n");
    text.split(";\n")
        .map(str::trim)
        .filter(|one| !one.is_empty())
        .try_for_each(|one| link.run(one.trim_end_matches(';')))
}

impl Actor {
    /// It, where records can be part of an act's transaction.
    pub(super) fn safe_audit_table(&self) -> Option<Table> {
        self.reader.schema.bare(NAME).filter(|table| table.expect_safe_for_acts().is_ok()).cloned()
    }

    /// Unless there is one, or none.
    pub(super) fn expect_safe_audit_table(&self) -> Result<(), NotChanged> {
        let table = self.reader.schema.bare(NAME);
        table.map_or(Ok(()), |table| table.expect_safe_for_acts().map_err(NotChanged::Refused))
    }
}
