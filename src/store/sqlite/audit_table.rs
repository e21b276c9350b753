//! The table `claimtop_audit`: a record in the same transaction as the act, where it exists.

use rusqlite::Connection;

use crate::domain::time::Moment;
use crate::store::act::{Note, first_id_at, swept_address};

pub const NAME: &str = "claimtop_audit";

/// Append-only by triggers: what is written stays. Replacing a row deletes it without asking the
/// trigger on deletions, so that has one of its own.
const CREATE: &str = "
    CREATE TABLE IF NOT EXISTS claimtop_audit (
      action_id TEXT PRIMARY KEY NOT NULL, at TEXT NOT NULL, record TEXT NOT NULL);
    CREATE TRIGGER IF NOT EXISTS claimtop_audit_keeps BEFORE UPDATE ON claimtop_audit
      BEGIN SELECT RAISE(ABORT, 'claimtop_audit is append-only'); END;
    CREATE TRIGGER IF NOT EXISTS claimtop_audit_stays BEFORE DELETE ON claimtop_audit
      BEGIN SELECT RAISE(ABORT, 'claimtop_audit is append-only'); END;
    CREATE TRIGGER IF NOT EXISTS claimtop_audit_once BEFORE INSERT ON claimtop_audit
      WHEN EXISTS (SELECT 1 FROM claimtop_audit WHERE action_id = new.action_id)
      BEGIN SELECT RAISE(ABORT, 'claimtop_audit is append-only'); END;";

pub fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(&format!("BEGIN IMMEDIATE; {CREATE} COMMIT"))
}

pub fn insert(connection: &Connection, action_id: &str, at: &str, note: &Note<'_>) -> rusqlite::Result<()> {
    let sql = "INSERT INTO claimtop_audit (action_id, at, record) VALUES (?1, ?2, ?3)";
    let record = note.text().map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    connection.prepare_cached(sql)?.execute([action_id, at, &record])?;
    Ok(())
}

/// Whether the act with this id was committed.
pub fn contains(connection: &Connection, action_id: &str) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM claimtop_audit WHERE action_id = ?1")?.exists([action_id])
}

/// Hands on the id and the claim of every reclaim that a sweep has recorded since an instant.
pub fn each_swept_since(
    connection: &Connection,
    since: Moment,
    each: &mut dyn FnMut(&str, &str),
) -> rusqlite::Result<()> {
    let sql = "SELECT action_id, record FROM claimtop_audit WHERE action_id >= ?1 AND at >= ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([first_id_at(since), since.rfc3339()])?;
    while let Some(row) = rows.next()? {
        // What is no text is no record of ours.
        let record = row.get_ref(1)?.as_str().ok();
        if let (Ok(id), Some(address)) = (row.get_ref(0)?.as_str(), record.and_then(swept_address)) {
            each(id, &address);
        }
    }
    Ok(())
}
