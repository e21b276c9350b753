//! In real time: what beats or renews while somebody acts is never taken.

use super::*;
use crate::support::postgres::PgDatabase;
use crate::support::{COORDINATION, Noted};
use claimtop::domain::recovery::{Action, Outcome, Word};
use claimtop::domain::value::Value;
use claimtop::store::{Actor, Order, Seen};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const MS: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// Two sessions that fell silent half an hour ago, each with a claim whose lease still runs.
fn silent() -> PgDatabase {
    let database = PgDatabase::new(&COORDINATION.replace("INTEGER", "BIGINT"));
    database.run(&format!(
        "INSERT INTO sessions SELECT 'w' || n, '/p', 'cli', {MS} - 9000000, {MS} - 1800000, '{{}}', NULL
           FROM generate_series(1, 2) n;
         INSERT INTO task_claims SELECT 't' || n, 'w' || n, {MS} - 9000000, {MS} + 600000, {MS} - 1800000, 0
           FROM generate_series(1, 2) n"
    ));
    database
}

#[test]
fn a_session_whose_beat_is_not_committed_yet_keeps_its_claim() {
    let database = silent();
    let operator = Operator::of(database.url());
    let beating = database.connect();
    beating.run(&format!("BEGIN; UPDATE sessions SET last_heartbeat = {MS} WHERE id = 'w1'"));
    operator.run(&["reclaim", "DB", "t1", "--json"]).came_to(4, "moved");
    let bulk = operator.run(&["reclaim", "DB", "--set", "orphaned", "--yes", "--json"]);
    assert_eq!(bulk.code, 4, "{bulk:#?}");
    let came = |id: &str| bulk.lines().into_iter().find(|one| one["id"] == id).expect(id)["outcome"].clone();
    assert_eq!((came("t1"), came("t2")), ("moved".into(), "applied".into()));
    beating.run("COMMIT");
    operator.run(&["reclaim", "DB", "t1", "--json"]).came_to(5, "refused");
    assert_eq!(database.query("SELECT task_id FROM task_claims"), [[Some("t1".to_owned())]]);
}

#[test]
fn a_beat_that_is_committed_while_the_act_waits_keeps_the_claim() {
    let database = silent();
    let operator = Operator::of(database.url());
    let beating = database.connect();
    // The table's lock makes the act wait; the beat is there when it gets through.
    beating.run("BEGIN; LOCK TABLE sessions IN EXCLUSIVE MODE");
    let mut command = operator.command(&["reclaim", "DB", "t1", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("claimtop runs");
    let waiting =
        "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    crate::support::server::until("the act to wait", || database.query(waiting).len() == 1);
    beating.run(&format!("UPDATE sessions SET last_heartbeat = {MS} WHERE id = 'w1'; COMMIT"));
    Run::of(&child.wait_with_output().expect("its end")).came_to(4, "moved");
    assert_eq!(database.query("SELECT task_id FROM task_claims").len(), 2);
}

#[test]
fn a_worker_that_holds_its_row_is_not_waited_for() {
    let database = PgDatabase::new(JOBS);
    database.run(&stale_jobs(5));
    let id = database.value("SELECT min(id::text) FROM executor_jobs").expect("a job");
    let worker = database.connect();
    worker.run(&format!("BEGIN; UPDATE executor_jobs SET heartbeat_at = now() WHERE id = '{id}'"));
    let operator = Operator::of(database.url());
    operator.run(&["reclaim", "DB", &id, "--json"]).came_to(4, "moved");
    let bulk = operator.run(&["reclaim", "DB", "--set", "stale", "--yes", "--json"]);
    let applied = bulk.lines().iter().filter(|one| one["outcome"] == "applied").count();
    assert_eq!((bulk.code, applied), (4, 4), "{bulk:#?}");
    worker.run("COMMIT");
    let sql = format!("SELECT status FROM executor_jobs WHERE id = '{id}'");
    assert_eq!(database.value(&sql).as_deref(), Some("running"));
}

const CLAIMS: u64 = 5;
/// Acts that found the claim renewed since the look, and such that found it as it was, at least.
const COLLISIONS: u64 = 150;
const TAKEN: u64 = 40;

fn renewals(seen: &Seen) -> Value {
    seen.row.get("heartbeat_count").expect("the number of the renewal").clone()
}

/// A renewal leaves the claim overdue: only a number tells of it, so that each stays worth taking.
#[test]
fn nothing_that_was_renewed_after_the_look_is_taken() {
    let database = PgDatabase::new(&format!(
        "{}
         CREATE TABLE taken (n bigserial, task_id text, heartbeat_count bigint);
         CREATE FUNCTION taking() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN INSERT INTO taken (task_id, heartbeat_count) VALUES (old.task_id, old.heartbeat_count); RETURN old; END';
         CREATE TRIGGER taking AFTER DELETE ON task_claims FOR EACH ROW EXECUTE FUNCTION taking();",
        COORDINATION.replace("INTEGER", "BIGINT")
    ));
    let insert = |id: u64| {
        database.run(&format!(
            "INSERT INTO task_claims VALUES ('task-{id}', 'gone', {MS} - 90000000, {MS} - 90000000, {MS} - 90000000, 0)
             ON CONFLICT DO NOTHING"
        ));
    };
    (0..CLAIMS).for_each(insert);
    let mut actor = Actor::open(options(&database.url(), None)).expect("an actor");
    let stop = AtomicBool::new(false);
    let (mut seen_at_taking, mut collisions) = (Vec::new(), 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let worker = database.connect();
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                number += 1;
                worker.run(&format!(
                    "UPDATE task_claims SET heartbeat_count = {number} WHERE task_id = 'task-{}'",
                    number % CLAIMS
                ));
            }
        });
        let word = Word::default();
        let order = Order { action: Action::Reclaim, word: &word, action_id: "a", dry_run: false };
        // A failure inside must still stop the writer, or the scope would never end.
        let all_went_well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut round = 0;
            while collisions < COLLISIONS || (seen_at_taking.len() as u64) < TAKEN {
                round += 1;
                let id = round % CLAIMS;
                for seen in actor.find(&format!("task-{id}"), Some("task")).expect("a look") {
                    let outcome = if round % 2 == 0 {
                        actor.act(&seen, &order, &mut |_| Ok(())).expect("an act").outcome
                    } else {
                        let batch = actor.act_batch(&mut [&seen], &order, Duration::ZERO, &mut Noted::new());
                        batch.expect("a batch").tried.remove(0).outcome
                    };
                    match outcome {
                        Outcome::Applied => {
                            seen_at_taking.push((format!("task-{id}"), renewals(&seen)));
                            insert(id);
                        }
                        Outcome::Moved(_) => collisions += 1,
                        other => panic!("{other:?}"),
                    }
                }
            }
        }));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = all_went_well {
            std::panic::resume_unwind(panic);
        }
    });
    let taken = database.query("SELECT task_id, heartbeat_count FROM taken ORDER BY n");
    let taken: Vec<(String, Value)> = taken
        .into_iter()
        .map(|row| {
            (
                row[0].clone().expect("an id"),
                Value::Int(row[1].as_ref().expect("a count").parse().expect("a number")),
            )
        })
        .collect();
    assert_eq!(taken, seen_at_taking, "what was taken and what had been seen");
}
