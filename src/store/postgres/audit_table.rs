//! The table `claimtop_audit`: a record in the same transaction as the act, where it exists.

use super::error::PgError;
use super::link::Link;
use crate::domain::time::Moment;
use crate::store::act::{Note, SWEEPER, first_id_at, swept_address};

pub const NAME: &str = "claimtop_audit";

/// Append-only by a trigger: what is written stays.
pub const CREATE: &str = include_str!("../../../assets/schema/postgres/audit.sql");

pub fn insert(link: &mut Link, action_id: &str, at: &str, note: &Note<'_>) -> Result<(), PgError> {
    let sql = "INSERT INTO claimtop_audit (action_id, at, record) VALUES ($1, $2, $3)";
    link.execute(sql, &[Some(action_id), Some(at), Some(&text(note)?)]).map(|_| ())
}

/// Many records of one instant, while something else is done.
pub fn insert_all(
    link: &mut Link,
    at: &str,
    all: Vec<(String, String)>,
    meanwhile: impl FnOnce(),
) -> Result<(), PgError> {
    let (ids, records) = all.into_iter().unzip();
    let sql = "INSERT INTO claimtop_audit (action_id, at, record)
               SELECT n.id, $3[1], n.record FROM unnest($1, $2) AS n(id, record)";
    // The statement before may have set another limit for itself.
    let first = link.patience();
    link.execute_lists(&first, sql, vec![ids, records, vec![at.to_owned()]], meanwhile)
}

/// What is kept of an act.
pub fn text(note: &Note<'_>) -> Result<String, PgError> {
    note.text().map_err(|error| PgError::server("22023", &error.to_string()))
}

/// Whether the act with this id was committed.
pub fn contains(link: &mut Link, action_id: &str) -> Result<bool, PgError> {
    let rows = link.query("SELECT 'x' FROM claimtop_audit WHERE action_id = $1", &[Some(action_id)])?;
    Ok(!rows.is_empty())
}

/// Hands on the id and the claim of every reclaim that a sweep has recorded since an instant.
pub fn each_swept_since(
    link: &mut Link,
    since: Moment,
    each: &mut dyn FnMut(&str, &str),
) -> Result<(), PgError> {
    let sql = "SELECT action_id, record FROM claimtop_audit
               WHERE action_id >= $1 AND at >= $2 AND strpos(record, $3) > 0";
    let by = format!("\"by\":\"{SWEEPER}\"");
    let values = [Some(first_id_at(since)), Some(since.rfc3339()), Some(by)];
    let values: Vec<Option<&str>> = values.iter().map(Option::as_deref).collect();
    link.each_after("", sql, &values, |row| {
        if let (Some(id), Some(address)) = (row.get(0), row.get(1).and_then(swept_address)) {
            each(id, &address);
        }
    })
}
