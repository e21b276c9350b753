//! The search path of a session.

use super::error::PgError;
use super::link::{CATALOG_ONLY, Link, Step};

/// The schemas that are searched, in this order. Only this is asked under the session's own path, and every
/// name in it has its schema.
const PATH: &str = "SELECT (pg_catalog.current_schemas(false))::pg_catalog.text";

/// The search path that the session was given, as an array; the transaction's own stays as it is.
pub fn search_path(link: &mut Link) -> Result<String, PgError> {
    let own = Step::Batch("SET LOCAL search_path TO DEFAULT".into());
    let answers = link.query_all(vec![own, Step::query(PATH, &[]), Step::Batch(CATALOG_ONLY.into())])?;
    Ok(answers.iter().flatten().next().and_then(|row| row.get(0)).unwrap_or("{}").to_owned())
}

/// The schema in which a table without one would be made, as SQL.
pub fn home(link: &mut Link) -> Result<Option<String>, PgError> {
    let path = search_path(link)?;
    let rows = link.query("SELECT quote_ident((($1::text)::text[])[1])", &[Some(&path)])?;
    Ok(rows.first().and_then(|row| row.get(0)).map(str::to_owned))
}
