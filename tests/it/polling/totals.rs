//! The total of a very large board may be a few seconds old, and says so; its sets are never old.

use super::{COORDINATION, Database, MINUTE, NOW, Reader, SECOND, Snapshot, options, poll};
use crate::dashboard::pty::until;
use claimtop::domain::snapshot::BoardSnapshot;
use claimtop::domain::time::Moment;
use claimtop::store::Effort;

/// More than are counted at every poll.
const CLAIMS: u64 = 100_050;

fn large() -> Database {
    let database = Database::new(COORDINATION);
    database.session("session-1", SECOND);
    database.run(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
         SELECT 'task-' || i, 'session-1', ?2, ?3, ?4 FROM n",
        (CLAIMS.cast_signed(), NOW - MINUTE, NOW + 60 * MINUTE, NOW - SECOND),
    );
    database
}

fn expired(database: &Database, name: &str) {
    database.run(
        "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
         VALUES (?1, 'session-1', ?2, ?3, ?4)",
        (name, NOW - 40 * MINUTE, NOW - MINUTE, NOW - SECOND),
    );
}

fn tasks(snapshot: &Snapshot) -> &BoardSnapshot {
    snapshot.boards.iter().find(|board| board.board == "task").expect("the board")
}

#[test]
fn an_old_total_of_a_large_board_is_dated_and_catches_up_while_its_sets_are_exact() {
    let database = large();
    let effort = Effort { rows: 10, slice: 200_000, whole: 500 };
    let now = Moment::from_micros(NOW * 1_000);
    let mut reader = Reader::open(options(&database, now, effort)).expect("a reader");
    let first = poll(&mut reader);
    assert_eq!((tasks(&first).counts.total, tasks(&first).gaps.total_since), (CLAIMS, None));
    assert_eq!(tasks(&first).counts.stale, 0);

    expired(&database, "late");
    let next = poll(&mut reader);
    let board = tasks(&next);
    assert_eq!(board.counts.stale, 1, "a set is never old");
    match board.gaps.total_since {
        Some(since) => {
            assert_eq!((board.counts.total, Some(since)), (CLAIMS, now));
            assert!(!board.gaps.is_exact());
        }
        None => assert_eq!(board.counts.total, CLAIMS + 1, "an old total without its date"),
    }

    let counted = until("the total is counted again", || {
        let snapshot = poll(&mut reader);
        tasks(&snapshot).gaps.total_since.is_none().then_some(snapshot)
    });
    assert_eq!(tasks(&counted).counts.total, CLAIMS + 1);
    assert_eq!(tasks(&counted).counts.stale, 1);
}
