//! A list that is being read while a table is dropped: no claim is shown on another board.

use claimtop::domain::verdict::Set;
use claimtop::profile::Library;
use claimtop::store::{Filter, Profiles, Reader};
use std::collections::BTreeSet;

use super::TABLES;
use crate::support::engine::on_both;
use crate::support::{Database, MINUTE, NOW};

/// More claims than one page of a list.
const CLAIMS: usize = 4_100;

#[test]
fn a_table_that_is_dropped_during_a_list_ends_its_own_board_only() {
    on_both(|| {
        for sets in [Vec::new(), vec![Set::Orphaned], vec![Set::Healthy]] {
            list_and_drop(&Filter { sets, ..Filter::default() });
        }
    });
}

/// Lists, and drops the table of the first board as soon as a claim of it is shown.
fn list_and_drop(filter: &Filter) {
    let database = Database::new(TABLES);
    database.batch(&format!("INSERT INTO sessions VALUES ('worker', '/p', 'cli', {NOW}, {NOW}, '', NULL)"));
    let claimed_at = NOW - 5 * MINUTE;
    // The session of the even ones is alive; that of the others is not registered.
    database.batch(&format!(
        "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})
         SELECT 'task-' || i, CASE i % 2 WHEN 0 THEN 'worker' ELSE 'nobody' END, {claimed_at}, {}, {NOW} FROM n",
        2 * CLAIMS,
        NOW + 60 * MINUTE
    ));
    for (resource, session) in [("lock-orphaned", "nobody"), ("lock-healthy", "worker")] {
        database.batch(&format!(
            "INSERT INTO locks (resource, session_id, acquired_at, expires_at)
             VALUES ('{resource}', '{session}', {claimed_at}, {})",
            NOW + 60 * MINUTE
        ));
    }
    let options = database.options(Profiles::Detect(Library::built_in()), |_| {});
    let (mut shown, mut boards) = (BTreeSet::new(), BTreeSet::new());
    let mut reader = Reader::open(options).expect("a reader");
    let listed = reader.list(filter, |listed| {
        let id = listed.judged.claim.key.text();
        assert!(id.starts_with(&listed.board), "{id} is shown on the board {}", listed.board);
        if shown.is_empty() {
            assert_eq!(listed.board, "task");
            database.batch("DROP TABLE task_claims");
        }
        assert!(shown.insert(id), "a claim is shown twice");
        boards.insert(listed.board);
        true
    });
    listed.expect("a list");
    assert!(shown.len() < CLAIMS, "{} claims of {CLAIMS}: the table was dropped too late", shown.len());
    assert!(boards.contains("lock"), "{boards:?}");
}
