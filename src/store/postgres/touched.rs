//! The statements that run beside an act, and the rows they change, with their images.

use super::error::PgError;
use super::image;
use super::link::Link;
use super::schema::literal;
use super::words::Words;
use crate::store::image::{Change, Image, RowAt};
use crate::store::schema::{Schema, Table};

/// Runs a statement of the profile's; what it changed. `onlooker` is another connection, which sees rows as
/// they were. A log that this version of the system does not keep is passed over.
pub fn run(
    link: &mut Link,
    onlooker: &mut Link,
    schema: &Schema,
    words: &Words,
    sql: &str,
    optional: bool,
) -> Result<Vec<Change>, PgError> {
    link.batch("SAVEPOINT claimtop_also")?;
    let verb = Verb::of(sql);
    let traced = words.put_into(&format!("{sql}\nRETURNING tableoid::regclass::text, ctid::text"));
    let touched = match link.query(&traced.sql, &traced.values()) {
        Err(PgError::Server { code, .. })
            if optional && matches!(code.as_str(), "42P01" | "42703") && verb == Verb::Insert =>
        {
            link.batch("ROLLBACK TO claimtop_also; RELEASE claimtop_also")?;
            return Ok(Vec::new());
        }
        // It says itself what it returns, or touches several tables: then nobody can tell which rows.
        Err(PgError::Server { code, .. }) if matches!(code.as_str(), "42601" | "42702" | "42703") => {
            link.batch("ROLLBACK TO claimtop_also")?;
            let plain = words.put_into(sql);
            link.execute(&plain.sql, &plain.values())?;
            Vec::new()
        }
        other => other?,
    };
    link.batch("RELEASE claimtop_also")?;
    let mut changes = Vec::new();
    for row in &touched {
        let (Some(name), Some(ctid)) = (row.get(0), row.get(1)) else { continue };
        let Some(table) = schema.table(&name.replace('"', "")) else { continue };
        let after = if verb == Verb::Delete { None } else { at_place(link, table, ctid)? };
        let before = match (verb, &after) {
            (Verb::Insert, _) => None,
            (Verb::Delete, _) => at_place_apart(onlooker, table, ctid)?,
            (_, Some(after)) => before(onlooker, table, after)?,
            (_, None) => None,
        };
        changes.push(image::change(table, before, after));
    }
    Ok(changes)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Insert,
    Update,
    Delete,
    Other,
}

impl Verb {
    fn of(sql: &str) -> Verb {
        let first = sql.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        match first.as_str() {
            "INSERT" => Verb::Insert,
            "UPDATE" => Verb::Update,
            "DELETE" => Verb::Delete,
            _ => Verb::Other,
        }
    }
}

fn at_place(link: &mut Link, table: &Table, ctid: &str) -> Result<Option<Image>, PgError> {
    let columns = image::columns(table, "c").join(", ");
    let sql = format!("SELECT {columns} FROM {} AS c WHERE c.ctid = {}::tid", table.sql, literal(ctid));
    Ok(link.query(&sql, &[])?.first().map(|row| image::read(table, row, 0)))
}

/// The row as the others still see it.
fn at_place_apart(onlooker: &mut Link, table: &Table, ctid: &str) -> Result<Option<Image>, PgError> {
    apart(onlooker, |link| at_place(link, table, ctid))
}

/// The row as it was before a change that nobody else can see yet.
fn before(onlooker: &mut Link, table: &Table, after: &Image) -> Result<Option<Image>, PgError> {
    let RowAt::Key(key) = image::change(table, None, Some(after.clone())).at else { return Ok(None) };
    if key.0.is_empty() {
        return Ok(None);
    }
    apart(onlooker, |link| {
        let mut words = Words::default();
        let condition = image::at(table, &key, "c", &mut words);
        let columns = image::columns(table, "c").join(", ");
        let put = words.put_into(&format!("SELECT {columns} FROM {} AS c WHERE {condition}", table.sql));
        Ok(link.query(&put.sql, &put.values())?.first().map(|row| image::read(table, row, 0)))
    })
}

fn apart<T>(onlooker: &mut Link, look: impl FnOnce(&mut Link) -> Result<T, PgError>) -> Result<T, PgError> {
    onlooker.begin(super::link::Begin::Reading)?;
    let found = look(onlooker);
    onlooker.rollback()?;
    found
}
