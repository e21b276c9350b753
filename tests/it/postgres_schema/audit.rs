//! The trail in the database only grows.

use super::{AUDIT, all, database};

#[test]
fn what_is_in_the_trail_stays_whoever_asks() {
    let database = database(&[AUDIT]);
    database.run("INSERT INTO claimtop_audit VALUES ('a', '2026-11-15T12:00:00Z', '{}')");
    let ways = [
        "UPDATE claimtop_audit SET record = '{\"x\": 1}'",
        "DELETE FROM claimtop_audit",
        "TRUNCATE claimtop_audit",
        "TRUNCATE claimtop_audit CASCADE",
        "SET session_replication_role = replica; DELETE FROM claimtop_audit",
        "INSERT INTO claimtop_audit VALUES ('a', 'x', 'x') ON CONFLICT (action_id) DO UPDATE SET record = 'x'",
        "MERGE INTO claimtop_audit a USING (VALUES ('a')) v(id) ON a.action_id = v.id WHEN MATCHED THEN DELETE",
        "WITH gone AS (DELETE FROM claimtop_audit RETURNING 1) SELECT count(*) FROM gone",
    ];
    for way in ways {
        let refusal = database.connect().attempt(way).expect_err(way);
        assert!(refusal.message.contains("claimtop_audit is append-only"), "{way}: {refusal:?}");
        assert_eq!(refusal.code.as_deref(), Some("23001"), "{way}");
    }
    let refusal =
        database.connect().attempt("INSERT INTO claimtop_audit VALUES ('a', 'x', 'x')").unwrap_err();
    assert_eq!(refusal.code.as_deref(), Some("23505"), "an action id is used once");
    assert_eq!(all(&database, "SELECT * FROM claimtop_audit"), ["a|2026-11-15T12:00:00Z|{}"]);
}
