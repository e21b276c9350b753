//! The table `claimtop_audit` on a server: created, trusted or not, and filled by many acts at once.

use super::schema;
use crate::postgres::error::PgError;
use crate::postgres::link::Link;
use crate::store::audit_table::NAME;
use crate::store::schema::{Schema, Table, TableTrust};

/// Append-only by a trigger: what is written stays.
pub(super) const CREATE: &str = include_str!("../../../assets/schema/postgres/audit.sql");

/// The table, unless it belongs to somebody who owns neither the database nor a table of the claims: its triggers
/// would run with our rights, and its rows could say anything. Then the reason why it is not used.
pub(super) fn trusted<'a>(
    schema: &Schema,
    mut claims: impl Iterator<Item = &'a Table>,
) -> (Option<Table>, Option<String>) {
    let Some(table) = schema.table(NAME) else { return (None, None) };
    let TableTrust { owner, owner_is_trusted, runs, .. } = &table.standing;
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

/// Many records of one instant, while something else is done.
pub(super) fn insert_all(
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
