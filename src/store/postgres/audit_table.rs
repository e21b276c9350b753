//! The table `claimtop_audit`: a record in the same transaction as the act, where it exists.

use super::error::PgError;
use super::link::Link;
use super::schema;
use crate::domain::time::Moment;
use crate::store::act::{Note, SWEEPER, first_id_at, swept_address};
use crate::store::schema::{Schema, Standing, Table};

pub const NAME: &str = "claimtop_audit";

/// Append-only by a trigger: what is written stays.
pub const CREATE: &str = include_str!("../../../assets/schema/postgres/audit.sql");

/// The table, unless it belongs to somebody who owns neither the database nor a table of the claims: its triggers
/// would run with our rights, and its rows could say anything. Then the reason why it is not used.
pub fn trusted<'a>(
    schema: &Schema,
    mut claims: impl Iterator<Item = &'a Table>,
) -> (Option<Table>, Option<String>) {
    let Some(table) = schema.table(NAME) else { return (None, None) };
    let Standing { owner, owner_is_trusted, runs, .. } = &table.standing;
    let owns_claims = claims.any(|claims| claims.standing.owner == *owner);
    if table.has_rowid && runs.is_none() && (*owner_is_trusted || owns_claims) {
        return (Some(table.clone()), None);
    }
    let sentence = format!(
        "{} is not used for the records of acts: its owner {owner} is neither a superuser, nor the owner of the \
         database or of the claims",
        table.sql
    );
    (None, Some(sentence))
}

/// The same for whoever has not read the tables; the claims by their tables as SQL.
pub fn find(link: &mut Link, claims: &[String]) -> Result<(Option<String>, Option<String>), PgError> {
    let catalog = schema::read(link)?;
    let of_claims = catalog.schema.tables().filter(|table| claims.contains(&table.sql));
    let (table, distrust) = trusted(&catalog.schema, of_claims);
    let unreadable = || catalog.schema.unreadable_as(NAME).map(str::to_owned);
    Ok((table.map(|table| table.sql).or_else(unreadable), distrust))
}

pub fn insert(
    link: &mut Link,
    table: &Table,
    action_id: &str,
    at: &str,
    note: &Note<'_>,
) -> Result<(), PgError> {
    let sql = &format!("INSERT INTO {} (action_id, at, record) VALUES ($1, $2, $3)", table.sql);
    link.execute(sql, &[Some(action_id), Some(at), Some(&text(note)?)]).map(|_| ())
}

/// Many records of one instant, while something else is done.
pub fn insert_all(
    link: &mut Link,
    table: &Table,
    at: &str,
    all: Vec<(String, String)>,
    meanwhile: impl FnOnce(),
) -> Result<(), PgError> {
    let (ids, records) = all.into_iter().unzip();
    let sql = format!(
        "INSERT INTO {} (action_id, at, record)
         SELECT n.id, $3[1], n.record FROM unnest($1, $2) AS n(id, record)",
        table.sql
    );
    // The statement before may have set another limit for itself.
    let first = link.patience();
    link.execute_lists(&first, &sql, vec![ids, records, vec![at.to_owned()]], meanwhile)
}

/// What is kept of an act.
pub fn text(note: &Note<'_>) -> Result<String, PgError> {
    note.text().map_err(|error| PgError::server("22023", &error.to_string()))
}

/// Whether the act with this id was committed.
pub fn contains(link: &mut Link, table: &Table, action_id: &str) -> Result<bool, PgError> {
    let sql = format!("SELECT 'x' FROM {} WHERE action_id = $1", table.sql);
    let rows = link.query(&sql, &[Some(action_id)])?;
    Ok(!rows.is_empty())
}

/// Hands on the id and the claim of every reclaim that a sweep has recorded since an instant.
pub fn each_swept_since(
    link: &mut Link,
    table: &Table,
    since: Moment,
    each: &mut dyn FnMut(&str, &str),
) -> Result<(), PgError> {
    let sql = format!(
        "SELECT action_id, record FROM {} WHERE action_id >= $1 AND at >= $2 AND strpos(record, $3) > 0",
        table.sql
    );
    let by = format!("\"by\":\"{SWEEPER}\"");
    let values = [Some(first_id_at(since)), Some(since.rfc3339()), Some(by)];
    let values: Vec<Option<&str>> = values.iter().map(Option::as_deref).collect();
    link.each_after("", &sql, &values, |row| {
        if let (Some(id), Some(address)) = (row.get(0), row.get(1).and_then(swept_address)) {
            each(id, &address);
        }
    })
}
