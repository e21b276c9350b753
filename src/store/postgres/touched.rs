//! The statements that run beside an act, and the rows they change, with their images.

use super::dialect::PostgresDialect;
use super::named_params::NamedParams;
use super::schema::literal;
use crate::postgres::error::{Fault, PgError};
use crate::postgres::link::{Link, Row};
use crate::store::driver::Dialect;
use crate::store::image::{Change, Image};
use crate::store::image_sql;
use crate::store::schema::{Schema, Table};

/// What a statement beside an act did.
#[derive(Debug)]
pub(super) struct TouchedRows {
    pub changes: Vec<Change>,
    /// How many rows it changed, or selected.
    pub found: u64,
}

/// Runs a statement of the profile's; what it changed.
///
/// What a statement will touch shows only when it has. So one that may change rows that are there runs
/// twice: the first time to learn which, then taken back to read them as they were.
pub(super) fn run(
    link: &mut Link,
    schema: &Schema,
    params: &NamedParams,
    sql: &str,
) -> Result<TouchedRows, PgError> {
    let verb = StatementKind::of(sql).ok_or_else(|| more_than_rows(sql))?;
    link.batch("SAVEPOINT claimtop_also")?;
    let traced = params.put_into(&format!("{sql}\nRETURNING tableoid::regclass::text, ctid::text"));
    let mut found = None;
    let touched = match link.query(&traced.sql, &traced.values()) {
        // It says itself what it returns, or touches several tables: then nobody can tell which rows.
        Err(PgError::Server { code, .. }) if matches!(code.as_str(), "42601" | "42702" | "42703") => {
            link.batch("ROLLBACK TO claimtop_also")?;
            let plain = params.put_into(sql);
            found = Some(link.execute(&plain.sql, &plain.values())?);
            Vec::new()
        }
        other => other?,
    };
    let found = found.unwrap_or(touched.len() as u64);
    let changes = match verb {
        StatementKind::Insert => added(link, schema, &touched)?,
        _ if touched.is_empty() => Vec::new(),
        StatementKind::Delete => {
            link.batch("ROLLBACK TO claimtop_also")?;
            let gone = places(link, schema, &touched)?;
            link.query(&traced.sql, &traced.values())?;
            gone.into_iter().map(|(table, before)| Change::of(table, Some(before), None)).collect()
        }
        StatementKind::Changing => {
            let after = places(link, schema, &touched)?;
            link.batch("ROLLBACK TO claimtop_also")?;
            let before = as_they_were(link, &after)?;
            let touched = link.query(&traced.sql, &traced.values())?;
            let after = places(link, schema, &touched)?;
            after.into_iter().map(|(table, after)| paired(table, after, &before)).collect()
        }
    };
    link.batch("RELEASE claimtop_also")?;
    Ok(TouchedRows { changes, found })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatementKind {
    /// Only adds rows.
    Insert,
    Delete,
    /// Changes rows that are there, or may.
    Changing,
}

impl StatementKind {
    /// None for a statement that may change more than rows: a table, a role, or the transaction it is in.
    fn of(sql: &str) -> Option<StatementKind> {
        let sql = without_comments(sql).to_ascii_uppercase();
        let words = sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        match *words.first()? {
            "INSERT" if !sql.contains("CONFLICT") => Some(StatementKind::Insert),
            "DELETE" => Some(StatementKind::Delete),
            "INSERT" | "UPDATE" | "MERGE" => Some(StatementKind::Changing),
            // Unless it makes a table of what it reads.
            "WITH" | "SELECT" | "VALUES" => {
                let is_new_table =
                    |pair: &[&str]| pair[1] == "INTO" && !matches!(pair[0], "INSERT" | "MERGE");
                (!words.windows(2).any(is_new_table)).then_some(StatementKind::Changing)
            }
            _ => None,
        }
    }
}

fn without_comments(sql: &str) -> &str {
    let sql = sql.trim_start();
    let rest = match (sql.strip_prefix("--"), sql.strip_prefix("/*")) {
        (Some(comment), _) => comment.split_once('\n').map(|(_, rest)| rest),
        (_, Some(comment)) => comment.split_once("*/").map(|(_, rest)| rest),
        (None, None) => return sql,
    };
    rest.map_or("", without_comments)
}

fn more_than_rows(sql: &str) -> PgError {
    let what = sql.split_whitespace().next().unwrap_or_default();
    PgError::Server {
        code: "42501".into(),
        message: format!("in an act a profile may only change rows, and {what} may do more"),
        detail: None,
        hint: None,
        fault: Fault::Statement,
    }
}

fn added(link: &mut Link, schema: &Schema, touched: &[Row]) -> Result<Vec<Change>, PgError> {
    let rows = places(link, schema, touched)?;
    Ok(rows.into_iter().map(|(table, after)| Change::of(table, None, Some(after))).collect())
}

/// The rows at the places that a statement has returned.
fn places<'a>(
    link: &mut Link,
    schema: &'a Schema,
    touched: &[Row],
) -> Result<Vec<(&'a Table, Image)>, PgError> {
    let mut found = Vec::new();
    for row in touched {
        let (Some(name), Some(ctid)) = (row.get(0), row.get(1)) else { continue };
        let Some(table) = schema.table(&name.replace('"', "")) else { continue };
        let columns = image_sql::columns(&PostgresDialect, table, "c");
        let sql = format!("SELECT {columns} FROM {} AS c WHERE c.ctid = {}::tid", table.sql, literal(ctid));
        found.extend(link.query(&sql, &[])?.first().map(|row| (table, image_sql::read(table, row, 0))));
    }
    Ok(found)
}

/// The rows with the same keys, as they are before the statement.
fn as_they_were(link: &mut Link, after: &[(&Table, Image)]) -> Result<Vec<Change>, PgError> {
    let mut found = Vec::new();
    for (table, after) in after {
        let change = Change::of(table, None, Some(after.clone()));
        let mut params = NamedParams::default();
        let Some(condition) = PostgresDialect.is_at(table, &change.at, "c", &mut params) else { continue };
        let columns = image_sql::columns(&PostgresDialect, table, "c");
        let put = params.put_into(&format!("SELECT {columns} FROM {} AS c WHERE {condition}", table.sql));
        let before = link.query(&put.sql, &put.values())?.first().map(|row| image_sql::read(table, row, 0));
        found.push(Change { before, ..change });
    }
    Ok(found)
}

/// A changed row with what it was. Where nothing tells rows apart, nobody knows; then an undo leaves it.
fn paired(table: &Table, after: Image, before: &[Change]) -> Change {
    let change = Change::of(table, None, Some(after.clone()));
    let was = before.iter().find(|was| was.table == change.table && was.at == change.at);
    let before = if table.key.is_empty() { Some(after) } else { was.and_then(|was| was.before.clone()) };
    Change { before, ..change }
}
