//! The table `claimtop_audit`: a record in the same transaction as the act, where it exists.

use super::act::{Note, SWEEPER, first_id_at, swept_address};
use super::driver::{Connection, Failed, QueryRows};
use super::named_params::NamedParams;
use super::schema::Table;
use crate::domain::time::Moment;

pub(super) const NAME: &str = "claimtop_audit";

pub(super) fn insert(
    connection: &mut dyn Connection,
    table: &Table,
    action_id: &str,
    at: Moment,
    note: &Note<'_>,
) -> Result<(), Failed> {
    let mut params = NamedParams::default();
    params.add("action_id", "", Some(action_id));
    params.add("at", "", Some(at.rfc3339()));
    params.add("record", "", Some(note.text()));
    let sql = format!("INSERT INTO {} (action_id, at, record) VALUES (:action_id, :at, :record)", table.sql);
    connection.execute("writing the record", &sql, &params).map(|_| ())
}

/// Whether the act with this id was committed.
pub(super) fn contains(
    connection: &mut dyn Connection,
    table: &Table,
    action_id: &str,
) -> Result<bool, Failed> {
    let mut params = NamedParams::default();
    params.add("action_id", "", Some(action_id));
    let sql = format!("SELECT 'x' FROM {} WHERE action_id = :action_id", table.sql);
    connection.exists("looking up the act", &sql, &params)
}

/// Hands on the id and the claim of every reclaim that a sweep has recorded since an instant.
pub(super) fn each_swept_since(
    connection: &mut dyn Connection,
    table: &Table,
    since: Moment,
    each: &mut dyn FnMut(&str, &str),
) -> Result<(), Failed> {
    let mut params = NamedParams::default();
    params.add("first", "", Some(first_id_at(since)));
    params.add("since", "", Some(since.rfc3339()));
    let sql = format!(
        "SELECT action_id, record FROM {} WHERE action_id >= :first AND at >= :since \
         AND record LIKE '%\"by\":\"{SWEEPER}\"%'",
        table.sql
    );
    connection.stream("reading claimtop_audit", &sql, &params, &mut |row| {
        let (id, record) = (row.text(0), row.text(1));
        if let (Some(id), Some(address)) = (id, record.as_deref().and_then(swept_address)) {
            each(&id, &address);
        }
    })
}
