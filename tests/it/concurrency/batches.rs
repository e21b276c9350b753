//! One statement for many rows: it finds each where it was seen, and nothing else.

use super::*;
use crate::support::Noted;
use crate::support::options::writable;
use crate::support::postgres::PgDatabase;
use crate::support::server::until;
use claimtop::domain::recovery::{Action, Authorization, Moved, Outcome};
use claimtop::domain::value::Value;
use claimtop::domain::verdict::Set;
use claimtop::store::{Actor, Filter, Order, Seen, Undo};
use std::collections::BTreeSet;

/// Twenty stale jobs in one part of a table and twenty healthy ones in another, at the same places.
const PARTS: &str = "CREATE TABLE executor_jobs (id integer, type text, status text, attempts integer,
           max_attempts integer, locked_at timestamptz, locked_by text, last_error text,
           heartbeat_at timestamptz, created_at timestamptz, updated_at timestamptz, run_at timestamptz,
           PRIMARY KEY (id)) PARTITION BY RANGE (id);
         CREATE TABLE executor_jobs_low PARTITION OF executor_jobs FOR VALUES FROM (0) TO (100);
         CREATE TABLE executor_jobs_high PARTITION OF executor_jobs FOR VALUES FROM (100) TO (200);
         INSERT INTO executor_jobs (id, type, status, attempts, max_attempts, locked_at, locked_by, heartbeat_at)
         SELECT n, 'run_tsa', 'running', 1, 10, now() - interval '2 hours', 'w',
           CASE WHEN n < 100 THEN now() - interval '2 hours' ELSE now() END
         FROM (SELECT generate_series(0, 19) UNION SELECT generate_series(100, 119)) AS numbers(n)";

/// What came of each, by its id, and the numbers that were put on record.
fn reclaim(actor: &mut Actor, all: &[Seen]) -> (Vec<(String, Outcome)>, Vec<usize>) {
    let word = Authorization::default();
    let order = Order { action: Action::Reclaim, authorization: &word, action_id: "batch", dry_run: false };
    let mut all: Vec<&Seen> = all.iter().collect();
    let mut noted = Noted::new();
    let batch = actor.act_batch(&mut all, &order, Duration::ZERO, &mut noted).expect("a batch");
    let ids = all.iter().map(|seen| seen.judged.claim.key.text());
    (ids.zip(batch.tried.into_iter().map(|tried| tried.outcome)).collect(), noted.numbers)
}

pub(super) fn stale(actor: &mut Actor) -> Vec<Seen> {
    actor.select(&Filter { sets: vec![Set::Stale], ..Filter::default() }).expect("the stale ones")
}

pub(super) fn actor(database: &PgDatabase) -> Actor {
    Actor::open(writable(options(&database.url(), None))).expect("an actor")
}

pub(super) fn running(database: &PgDatabase) -> BTreeSet<String> {
    let rows = database.query("SELECT id FROM executor_jobs WHERE status = 'running'");
    rows.into_iter().filter_map(|mut row| row.remove(0)).collect()
}

#[test]
fn a_row_that_somebody_holds_costs_only_itself_and_no_record_is_written_twice() {
    let database = PgDatabase::new(JOBS);
    database.run(&stale_jobs(50));
    let mut actor = actor(&database);
    let all = stale(&mut actor);
    // The last of them: by then the others have come in.
    let held = all[49].judged.claim.key.text();
    let worker = database.connect();
    worker.run(&format!("BEGIN; SELECT 1 FROM executor_jobs WHERE id = '{held}' FOR UPDATE"));
    let (tried, mut numbers) = reclaim(&mut actor, &all);
    for (id, outcome) in &tried {
        match outcome {
            Outcome::Moved(moved) => assert_eq!((id, moved), (&held, &Moved::RowLocked)),
            other => assert!(*id != held && *other == Outcome::Applied, "{id}: {other:?}"),
        }
    }
    numbers.sort();
    let applied = tried.iter().enumerate().filter(|(_, (id, _))| *id != held).map(|(at, _)| at + 1);
    assert_eq!(numbers, applied.collect::<Vec<_>>());
    worker.run("ROLLBACK");
    assert_eq!(running(&database), BTreeSet::from([held]));
}

#[test]
fn claims_are_taken_where_they_are_after_the_table_was_written_anew() {
    for count in [10, 200] {
        let database = PgDatabase::new(JOBS);
        database.run(&stale_jobs(count));
        let mut actor = actor(&database);
        let all = stale(&mut actor);
        // In the order of their random ids, so that hardly any row is where it was.
        database.run("CLUSTER executor_jobs USING executor_jobs_pkey");
        let (tried, numbers) = reclaim(&mut actor, &all);
        assert!(tried.iter().all(|(_, outcome)| *outcome == Outcome::Applied), "{tried:?}");
        assert_eq!((tried.len() as u64, numbers.len() as u64), (count, count));
        assert_eq!(running(&database), BTreeSet::new());
    }
}

#[test]
fn the_same_place_in_another_part_of_a_table_is_another_row() {
    let database = PgDatabase::new(PARTS);
    let same = "SELECT count(*) FROM executor_jobs_low AS a JOIN executor_jobs_high AS b
                ON a.ctid = b.ctid AND a.xmin = b.xmin";
    assert_eq!(database.value(same).as_deref(), Some("20"));
    let mut actor = actor(&database);
    let all = stale(&mut actor);
    assert_eq!(all.len(), 20);
    let (tried, _) = reclaim(&mut actor, &all);
    assert!(tried.iter().all(|(_, outcome)| *outcome == Outcome::Applied), "{tried:?}");
    assert_eq!(running(&database), (100..120).map(|id| id.to_string()).collect());
}

/// By the server's own count: rows that are found by their key are found in its index.
#[test]
fn jobs_that_rest_on_their_own_rows_are_taken_without_a_second_look() {
    let scans = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'executor_jobs_pkey'";
    let changed = "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'executor_jobs'";
    let look_again = "CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM 1; RETURN new; END $$;
         CREATE TRIGGER look BEFORE UPDATE ON executor_jobs FOR EACH ROW EXECUTE FUNCTION look()";
    for (more, expected) in [("", false), (look_again, true)] {
        let database = PgDatabase::new(&format!("{JOBS} {more}"));
        database.run(&stale_jobs(3_000));
        database.run("ANALYZE executor_jobs");
        let mut actor = actor(&database);
        let all = stale(&mut actor);
        let (tried, _) = reclaim(&mut actor, &all[..5]);
        assert!(tried.iter().all(|(_, outcome)| *outcome == Outcome::Applied), "{tried:?}");
        // A connection counts at the latest when it ends, everything at once.
        drop(actor);
        until("the server has counted", || database.value(changed).as_deref() == Some("5"));
        let number: u64 = database.value(scans).and_then(|number| number.parse().ok()).expect("a number");
        assert_eq!(number > 0, expected, "{number} scans; {more}");
    }
}

#[test]
fn what_a_trigger_of_one_part_alone_writes_is_in_the_image_that_an_undo_compares() {
    let database = PgDatabase::new(&format!(
        "{PARTS};
         CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN new.updated_at := now(); RETURN new; END $$;
         CREATE TRIGGER stamp BEFORE UPDATE ON executor_jobs_low FOR EACH ROW EXECUTE FUNCTION stamp()"
    ));
    let mut actor = actor(&database);
    let all = stale(&mut actor);
    let word = Authorization::default();
    let order = Order { action: Action::Reclaim, authorization: &word, action_id: "batch", dry_run: false };
    let mut all: Vec<&Seen> = all.iter().collect();
    let batch = actor.act_batch(&mut all, &order, Duration::ZERO, &mut Noted::new()).expect("a batch");
    for tried in &batch.tried {
        let after = tried.changes[0].after.as_ref().expect("a row");
        assert_ne!(after.get("updated_at"), Some(&Value::Null));
        let undo = Undo::For { action_id: "undo", address: "somewhere", authorization: &word };
        let undone = actor.undo(&tried.changes, undo, &mut |_| Ok(())).expect("an undo");
        assert_eq!(undone.outcome, Outcome::Applied);
    }
    assert_eq!(running(&database).len(), 40);
}
