//! What no index answers is counted in slices, said to be so, and right in the end.

use super::{
    COORDINATION, Database, MINUTE, NOW, Reader, Reason, SECOND, Snapshot, count, counted, on_both, options,
    poll, reason,
};
use claimtop::domain::snapshot::BoardSnapshot;
use claimtop::store::Effort;

const CLAIMS: i64 = 1_000;

/// Claims of every set, far more than a slice.
fn large(schema: &str) -> Database {
    let database = Database::new(schema);
    database.batch("BEGIN");
    for number in 0..20 {
        database.session(&format!("session-{number}"), if number < 3 { 20 * MINUTE } else { SECOND });
    }
    for number in 0..CLAIMS {
        // Three of the holders are silent, two are not registered.
        let holder = format!("session-{}", number % 22);
        let beat = NOW - if number % 13 == 0 { 6 * MINUTE } else { SECOND };
        let expires = NOW + if number % 7 == 0 { -MINUTE } else { (number % 30) * MINUTE };
        database.run(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            (format!("task-{number}"), holder, NOW - 40 * MINUTE, expires, beat),
        );
    }
    database.batch("COMMIT");
    database
}

fn without_indexes() -> String {
    COORDINATION.split_inclusive(';').filter(|statement| !statement.contains("CREATE INDEX")).collect()
}

fn in_slices(database: &Database) -> Reader {
    let effort = Effort { rows: 10, slice: 100, whole: 100 };
    let now = claimtop::domain::time::Moment::from_micros(NOW * 1_000);
    Reader::open(options(database, now, effort)).expect("a reader")
}

fn tasks(snapshot: &Snapshot) -> &BoardSnapshot {
    snapshot.boards.iter().find(|board| board.board == "task").expect("the board")
}

fn is_complete(snapshot: &Snapshot) -> bool {
    tasks(snapshot).gaps.census.is_none_or(|census| census.complete)
}

/// Polls until the census is through, or for as often as it could ever take; a write goes before
/// each poll if `written` says so.
fn until_complete(reader: &mut Reader, mut written: impl FnMut()) -> (Snapshot, usize) {
    for polls in 1..=usize::try_from(CLAIMS).expect("a number") {
        written();
        let snapshot = poll(reader);
        if is_complete(&snapshot) {
            return (snapshot, polls);
        }
        let census = tasks(&snapshot).gaps.census.expect("a census");
        assert!(!snapshot.is_exact() && census.looked_at <= CLAIMS.unsigned_abs());
    }
    panic!("the census does not come to an end");
}

#[test]
fn without_indexes_a_large_table_is_counted_over_several_polls_and_right_in_the_end() {
    let database = large(&without_indexes());
    let mut reader = in_slices(&database);
    let (last, polls) = until_complete(&mut reader, || {});
    assert!(polls > 5, "{polls} polls are too few to have read it in slices");
    assert_eq!(counted(&last), super::by_plain_sql(&database, &last));
    // Dated, for the next write makes it old.
    assert!(!last.is_exact());
    assert_eq!(tasks(&last).gaps.census.expect("a census").looked_at, CLAIMS.unsigned_abs());
    // And it stays so while nothing is written.
    assert_eq!(counted(&poll(&mut reader)), counted(&last));
}

#[test]
fn a_census_beside_writes_comes_to_an_end_as_well() {
    let database = large(&without_indexes());
    let mut reader = in_slices(&database);
    let beat = || database.run("UPDATE sessions SET metadata = metadata || 'x' WHERE id = 'session-9'", []);
    let (last, polls) = until_complete(&mut reader, beat);
    assert!(polls >= 10, "{polls}");
    assert_eq!(counted(&last), super::by_plain_sql(&database, &last));
}

#[test]
fn a_claim_that_went_stale_is_found_by_a_later_census() {
    let database = large(&without_indexes());
    let mut reader = in_slices(&database);
    until_complete(&mut reader, || {});
    database.run("UPDATE task_claims SET expires_at = ?1", [NOW - MINUTE]);
    let mut stale = 0;
    for _ in 0..3 * CLAIMS {
        stale = poll(&mut reader).counts().stale;
        if stale == CLAIMS.unsigned_abs() {
            return;
        }
    }
    panic!("{stale} of {CLAIMS} were found");
}

#[test]
fn what_is_counted_in_slices_and_the_indexes_that_would_help_are_named() {
    let database = large(&without_indexes());
    let snapshot = poll(&mut in_slices(&database));
    let gaps = &tasks(&snapshot).gaps;
    assert!(!gaps.is_exact());
    for reason in [Reason::LeaseExpired, Reason::DeadlineNear, Reason::HeartbeatSilent] {
        assert!(gaps.reasons.contains(&reason), "{:?}", gaps.reasons);
    }
    for column in ["expires_at", "last_heartbeat", "session_id"] {
        let named = |sql: &&String| sql.contains("task_claims") && sql.contains(&format!("\"{column}\""));
        assert!(gaps.indexes.iter().any(|sql| named(&sql)), "{column}: {:?}", gaps.indexes);
    }
}

#[test]
fn following_the_advice_on_indexes_comes_to_an_end_and_makes_the_sets_exact() {
    let database = large(&without_indexes());
    // An index on the claims may be what makes one on the sessions useful.
    for _ in 0..3 {
        let snapshot = poll(&mut in_slices(&database));
        for sql in &tasks(&snapshot).gaps.indexes {
            database.connection.execute_batch(sql).expect(sql);
        }
    }
    let after = poll(&mut in_slices(&database));
    assert!(tasks(&after).gaps.indexes.is_empty(), "{:?}", tasks(&after).gaps.indexes);
    assert_eq!(counted(&after), super::by_plain_sql(&database, &after));
}

#[test]
fn with_indexes_every_set_is_exact_at_the_first_poll() {
    on_both(|| {
        let database = large(COORDINATION);
        let mut reader = in_slices(&database);
        let first = poll(&mut reader);
        assert_eq!(counted(&first), super::by_plain_sql(&database, &first));
        let gaps = &tasks(&first).gaps;
        assert!(gaps.indexes.is_empty(), "{:?}", gaps.indexes);
        // Only what cannot be read at all has to be searched for.
        let searched = |reason: &Reason| matches!(reason, Reason::Unreadable | Reason::ClockSkew);
        assert!(gaps.reasons.iter().all(searched), "{:?}", gaps.reasons);
        let (last, _) = until_complete(&mut reader, || {});
        assert_eq!(counted(&last), counted(&first));
    });
}

#[test]
fn a_rotten_row_deep_in_a_large_table_is_found_by_the_census() {
    let database = large(COORDINATION);
    database.run("UPDATE task_claims SET expires_at = 'soon' WHERE task_id = 'task-990'", []);
    let (last, _) = until_complete(&mut in_slices(&database), || {});
    assert_eq!((last.counts().unknown, reason(&last, Reason::Unreadable)), (1, 1));
}

/// Claims of so many holders, every tenth of whom is not registered.
fn of_holders(schema: &str, claims: i64, holders: i64) -> Database {
    let database = Database::new(schema);
    database.batch("BEGIN");
    for number in (0..holders).filter(|number| number % 10 != 3) {
        database.session(&format!("session-{number}"), if number % 10 == 5 { 20 * MINUTE } else { SECOND });
    }
    for number in 0..claims {
        database.task(&format!("task-{number}"), &format!("session-{}", number % holders), 20 * MINUTE);
    }
    database.batch("COMMIT");
    database
}

fn missing(database: &Database) -> u64 {
    count(
        database,
        "SELECT count(*) FROM task_claims c LEFT JOIN sessions s ON s.id = c.session_id WHERE s.id IS NULL",
    )
}

#[test]
fn missing_sessions_are_counted_right_with_many_holders_and_with_few() {
    on_both(|| {
        for (claims, holders) in [(10_000, 10_000), (10_000, 10), (10_000, 1), (5_000, 700)] {
            let database = of_holders(COORDINATION, claims, holders);
            let mut reader = super::open(&database);
            let right = |reader: &mut Reader, when: &str| {
                let snapshot = poll(reader);
                let expected = missing(&database);
                assert_eq!(reason(&snapshot, Reason::SessionMissing), expected, "{claims}/{holders}, {when}");
                assert_eq!(counted(&snapshot), super::by_plain_sql(&database, &snapshot));
            };
            right(&mut reader, "at first");
            database.run("DELETE FROM sessions WHERE id IN ('session-0', 'session-7', 'session-9')", []);
            right(&mut reader, "after sessions ended");
            database.run("UPDATE task_claims SET session_id = 'nobody' WHERE task_id LIKE '%01'", []);
            right(&mut reader, "after claims changed hands");
            database.session("nobody", SECOND);
            right(&mut reader, "after a session came back");
        }
    });
}

#[test]
fn missing_sessions_are_counted_right_without_an_index_on_the_holder() {
    on_both(|| {
        for holders in [10, 3_000] {
            let database = of_holders(&without_indexes(), 3_000, holders);
            let snapshot = poll(&mut super::open(&database));
            assert_eq!(reason(&snapshot, Reason::SessionMissing), missing(&database), "{holders}");
        }
    });
}
