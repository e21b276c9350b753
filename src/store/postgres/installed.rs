//! The system's own recovery, where it is a function in the database.

use crate::domain::rules::Rules;
use crate::postgres::error::PgError;
use crate::postgres::link::Link;
use crate::profile::format::Board;
use crate::profile::installed::{Difference, differences};

/// Those that PostgreSQL itself brings apart.
const SOURCES: &str = "
    SELECT p.proname::text, p.prosrc FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
    WHERE p.proname = $1::text AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY p.oid LIMIT 1";

/// Where the functions that recover a board's claims differ from its rules.
pub fn compared(link: &mut Link, board: &Board, rules: &Rules) -> Result<Vec<Difference>, PgError> {
    let mut found = Vec::new();
    for function in &board.recovered_by {
        let rows = link.query(SOURCES, &[Some(function)])?;
        if let Some(source) = rows.first().and_then(|row| row.get(1)) {
            found.extend(differences(function, source, board, rules));
        }
    }
    Ok(found)
}
