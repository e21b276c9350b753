//! Creates the table `claimtop_audit` in a file.

use rusqlite::Connection;

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

pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(&format!("BEGIN IMMEDIATE; {CREATE} COMMIT"))
}
