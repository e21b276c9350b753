//! The system's own recovery, where it is a function in the database.

use super::named_params::array;
use crate::domain::rules::Rules;
use crate::postgres::error::PgError;
use crate::postgres::link::Link;
use crate::profile::format::Board;
use crate::profile::installed::{Difference, differences};

/// Those that PostgreSQL itself brings apart.
const SOURCES: &str = "
    SELECT DISTINCT ON (p.proname) p.proname::text, p.prosrc
    FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
    WHERE p.proname = ANY (($1::text)::name[]) AND n.nspname NOT IN ('pg_catalog', 'information_schema')
    ORDER BY p.proname, p.oid";

/// Where the functions that recover a board's claims differ from its rules.
pub fn compared(link: &mut Link, board: &Board, rules: &Rules) -> Result<Vec<Difference>, PgError> {
    if board.recovered_by.is_empty() {
        return Ok(Vec::new());
    }
    let rows = link.query(SOURCES, &[Some(&array(board.recovered_by.iter().map(Some)))])?;
    let source = |function: &String| rows.iter().find(|row| row.get(0) == Some(function))?.get(1);
    let found = board.recovered_by.iter().filter_map(|function| Some((function, source(function)?)));
    Ok(found.flat_map(|(function, source)| differences(function, source, board, rules)).collect())
}
