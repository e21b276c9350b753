//! What merge-queue says is always true, asked of the tables in one read transaction.

use rusqlite::Connection;

/// Each finds the rows that break an invariant.
const BROKEN: [(&str, &str); 9] = [
    ("there is one lock at most", "SELECT count(*) FROM queue_processing_lock HAVING count(*) > 1"),
    (
        "a lock ends after it was taken",
        "SELECT agent_id FROM queue_processing_lock WHERE expires_at <= acquired_at",
    ),
    (
        "what is claimed has a start",
        "SELECT id FROM merge_queue WHERE status = 'claimed' AND started_at IS NULL",
    ),
    (
        "what is pending has none",
        "SELECT id FROM merge_queue WHERE status = 'pending' AND started_at IS NOT NULL",
    ),
    (
        "it starts before it changes",
        "SELECT id FROM merge_queue WHERE started_at > state_changed_at OR state_changed_at IS NULL",
    ),
    (
        "it has an agent exactly while an agent has it",
        "SELECT id FROM merge_queue WHERE (agent_id IS NOT NULL) <>
           (status IN ('claimed', 'rebasing', 'testing', 'ready_to_merge', 'merging'))",
    ),
    (
        "a recovery keeps workspace, bead and priority",
        "SELECT id FROM merge_queue WHERE workspace <> 'w-' || id OR bead_id <> 'bd-' || id OR priority <> 5",
    ),
    (
        "between two claims it was left",
        "SELECT queue_id FROM queue_events GROUP BY queue_id
         HAVING sum(event_type = 'claimed') - sum(event_type IN ('merged', 'failed', 'cancelled')
             OR (event_type = 'transitioned' AND details_json ->> 'to' = 'pending')) NOT IN (0, 1)
            AND sum(event_type = 'claimed') > 0
            AND sum(event_type = 'cancelled') = 0",
    ),
    (
        "it is merged once at most",
        "SELECT queue_id FROM queue_events WHERE event_type = 'merged' GROUP BY queue_id HAVING count(*) > 1",
    ),
];

#[track_caller]
pub fn assert_invariants(connection: &Connection) {
    let snapshot = connection.unchecked_transaction().expect("a read transaction");
    for (invariant, sql) in BROKEN {
        let mut statement = snapshot.prepare_cached(sql).expect(sql);
        let broken = statement.query_map([], |row| row.get::<_, rusqlite::types::Value>(0)).expect(sql);
        let broken: Vec<_> = broken.map(|row| row.expect(sql)).collect();
        assert!(broken.is_empty(), "{invariant}: {broken:?}");
    }
}

/// While agents finish before they let the lock go: whoever has an entry has the lock, and nobody
/// else has one. Answers the holder.
#[track_caller]
pub fn assert_one_owner(connection: &Connection) -> Option<String> {
    let snapshot = connection.unchecked_transaction().expect("a read transaction");
    let mut statement = snapshot
        .prepare_cached("SELECT agent_id FROM merge_queue WHERE agent_id IS NOT NULL")
        .expect("a statement");
    let owners: Vec<String> =
        statement.query_map([], |row| row.get(0)).expect("rows").map(|row| row.expect("a name")).collect();
    let mut statement =
        snapshot.prepare_cached("SELECT agent_id FROM queue_processing_lock").expect("a statement");
    let locks: Vec<String> =
        statement.query_map([], |row| row.get(0)).expect("rows").map(|row| row.expect("a name")).collect();
    assert!(owners.len() <= 1 && locks.len() <= 1, "owners {owners:?}, locks {locks:?}");
    if let Some(owner) = owners.first() {
        assert_eq!(locks.first(), Some(owner), "the owner has no lock");
    }
    owners.into_iter().next()
}
