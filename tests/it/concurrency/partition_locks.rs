//! Several who work through the same claims keep out of each other's way, and nobody depends on it.

use super::batches::{actor, running, stale};
use super::*;
use crate::support::Noted;
use crate::support::options::writable;
use crate::support::postgres::PgDatabase;
use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::store::{Actor, Batch, Order, Seen};
use std::collections::BTreeSet;

/// Of four pages each, in a table of jobs.
const LANES: u32 = 64;

/// So many jobs that there are several lanes with claims, and none too many for one transaction.
fn jobs() -> PgDatabase {
    let database = PgDatabase::new(JOBS);
    database.run(&stale_jobs(1_000));
    database
}

/// The next transaction, and the ids in the order that they have then.
fn reclaim(actor: &mut Actor, all: &[Seen]) -> (Batch, Vec<String>) {
    let word = Authorization::default();
    let order = Order { action: Action::Reclaim, authorization: &word, action_id: "batch", dry_run: false };
    let mut all: Vec<&Seen> = all.iter().collect();
    let batch = actor.act_batch(&mut all, &order, Duration::ZERO, &mut Noted::new()).expect("a batch");
    (batch, all.iter().map(|seen| seen.judged.claim.key.text()).collect())
}

/// The jobs of a lane.
fn jobs_in(database: &PgDatabase, lane: u32) -> BTreeSet<String> {
    let sql =
        format!("SELECT id FROM executor_jobs WHERE (ctid::text::point)[0]::int / 4 % {LANES} = {lane}");
    database.query(&sql).into_iter().filter_map(|mut row| row.remove(0)).collect()
}

/// As somebody takes lanes who works in them.
fn take(lanes: impl Iterator<Item = u32>) -> String {
    let lock = |lane| {
        format!("SELECT pg_advisory_xact_lock(1668050176 + {lane}, 'executor_jobs'::regclass::oid::int);")
    };
    format!("BEGIN; {}", lanes.map(lock).collect::<String>())
}

#[test]
fn who_finds_others_at_work_goes_where_nobody_is() {
    let database = jobs();
    let free = jobs_in(&database, 3);
    assert!(free.len() > 100, "{} jobs", free.len());
    let other = database.connect();
    other.run(&take((0..LANES).filter(|lane| *lane != 3)));
    let mut actor = actor(&database);
    let all = stale(&mut actor);
    let (batch, ids) = reclaim(&mut actor, &all);
    assert!(
        batch.passed == 0 && batch.tried.iter().all(|tried| tried.outcome == Outcome::Applied),
        "{batch:?}"
    );
    assert_eq!(ids[..batch.tried.len()].iter().cloned().collect::<BTreeSet<_>>(), free);
    assert_eq!(running(&database).len(), 1_000 - free.len());
    other.run("ROLLBACK");
}

#[test]
fn who_finds_no_lane_waits_a_little_and_then_works_anywhere() {
    let database = jobs();
    let other = database.connect();
    other.run(&take(0..LANES));
    let mut actor = actor(&database);
    let all = stale(&mut actor);
    let held = all[7].judged.claim.key.text();
    other.run(&format!("SELECT 1 FROM executor_jobs WHERE id = '{held}' FOR UPDATE"));
    let (batch, ids) = reclaim(&mut actor, &all);
    assert!(batch.passed == 0 && batch.tried.len() >= 100, "{}", batch.tried.len());
    for (id, tried) in ids.iter().zip(&batch.tried) {
        assert_eq!(tried.outcome == Outcome::Applied, *id != held, "{id}: {:?}", tried.outcome);
    }
    other.run("ROLLBACK");
}

#[test]
fn what_somebody_else_was_quicker_with_is_passed_over_and_the_rest_of_its_lane_is_not() {
    let database = jobs();
    let mut actor = actor(&database);
    let all = stale(&mut actor);
    // Everything but the last job of each lane that has any.
    let last: BTreeSet<String> = (0..LANES).filter_map(|lane| jobs_in(&database, lane).pop_last()).collect();
    let kept = last.iter().map(|id| format!("'{id}'")).collect::<Vec<_>>().join(", ");
    database.run(&format!("UPDATE executor_jobs SET heartbeat_at = now() WHERE id NOT IN ({kept})"));
    let (mut left, mut applied, mut passed) = (all, BTreeSet::new(), 0);
    while !left.is_empty() {
        let (batch, ids) = reclaim(&mut actor, &left);
        let done: BTreeSet<&String> = ids[..batch.passed + batch.tried.len()].iter().collect();
        assert!(!done.is_empty());
        let begun = ids.iter().skip(batch.passed).zip(&batch.tried);
        let now = begun.filter(|(_, tried)| tried.outcome == Outcome::Applied).map(|(id, _)| id.clone());
        applied.extend(now);
        passed += batch.passed;
        left.retain(|seen| !done.contains(&seen.judged.claim.key.text()));
    }
    assert_eq!(applied, last);
    assert!(passed > 400, "{passed} were passed over");
    assert_eq!(running(&database).len(), 1_000 - last.len());
}

#[test]
fn a_role_that_may_not_ask_for_lanes_works_without() {
    let database = jobs();
    let login = format!("claimtop_test_{}", uuid::Uuid::now_v7().simple());
    database.run(&format!(
        "CREATE ROLE {login} LOGIN; GRANT SELECT, UPDATE ON executor_jobs TO {login};
         REVOKE EXECUTE ON FUNCTION pg_try_advisory_xact_lock(int, int) FROM PUBLIC"
    ));
    let mut actor = Actor::open(writable(options(&database.url_as(&login), None))).expect("an actor");
    let all = stale(&mut actor);
    let (batch, _) = reclaim(&mut actor, &all);
    assert!(batch.tried.len() >= 100 && batch.tried.iter().all(|tried| tried.outcome == Outcome::Applied));
    assert_eq!(running(&database).len(), 1_000 - batch.tried.len());
    drop(actor);
    database.run(&format!("DROP OWNED BY {login}; DROP ROLE {login}"));
}
