//! In real time, against a worker that renews as fast as it can.

use crate::support::options::writable;
use claimtop::domain::recovery::{Authorization, Outcome};
use claimtop::domain::value::Value;
use claimtop::profile::Library;
use claimtop::store::{Actor, Profiles, Seen, clock};
use rusqlite::Connection;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Way, fast, reclaim_by};
use crate::support::engine::{Engine, engine, is_fast, on_both};
use crate::support::{COORDINATION, Database};

const CLAIMS: i64 = 5;

/// How often each has to happen at least: an act that found the claim renewed since the look, and one
/// that found it as it was. A server takes longer for each.
fn collisions_and_taken() -> (usize, usize) {
    match engine() {
        Engine::Sqlite if is_fast() => (100, 20),
        Engine::Sqlite => (2_000, 200),
        Engine::Postgres => (150, 40),
    }
}

/// Claims that are overdue, and a table of those that were taken, written by the database itself at
/// the moment of the taking.
fn overdue() -> Database {
    let database = fast(COORDINATION);
    database.batch("CREATE TABLE taken (n INTEGER PRIMARY KEY, task_id TEXT, heartbeat_count INTEGER)");
    let noted = "INSERT INTO taken (task_id, heartbeat_count) VALUES (old.task_id, old.heartbeat_count)";
    database.either(
        &format!("CREATE TRIGGER taking AFTER DELETE ON task_claims BEGIN {noted}; END"),
        &format!(
            "CREATE FUNCTION taking() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN {noted}; RETURN old; END';
             CREATE TRIGGER taking AFTER DELETE ON task_claims FOR EACH ROW EXECUTE FUNCTION taking()"
        ),
    );
    if database.server().is_none() {
        database.connection.busy_timeout(Duration::from_secs(60)).expect("patience");
    }
    (0..CLAIMS).for_each(|id| insert(&database, id));
    database
}

/// A claim of a session that is gone, unless it is there.
fn insert(database: &Database, id: i64) {
    let then = clock().micros() / 1_000 - 90_000_000;
    database.run(
        "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
         VALUES ('task-' || ?1, 'gone', ?2, ?2, ?2) ON CONFLICT DO NOTHING",
        (id, then),
    );
}

/// A connection of a worker's own.
fn connect(database: &Database) -> Box<dyn Fn(&str) + Send> {
    if let Some(server) = database.server() {
        let session = server.connect();
        return Box::new(move |sql| session.run(sql));
    }
    let connection = Connection::open(database.path()).expect("a connection");
    connection.busy_timeout(Duration::from_secs(60)).expect("patience");
    connection.pragma_update(None, "synchronous", "OFF").expect("no waiting");
    Box::new(move |sql| connection.execute_batch(sql).expect(sql))
}

/// Renews claims, each time with a number of its own, until it is told to stop.
///
/// A renewal leaves the claim overdue: only the number tells that it was renewed, so that every
/// one of them stays worth taking.
fn renew(run: &dyn Fn(&str), stop: &AtomicBool) {
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        run(&format!(
            "UPDATE task_claims SET heartbeat_count = {number}, last_heartbeat = last_heartbeat + 1
             WHERE task_id = 'task-{}'",
            number % CLAIMS
        ));
        // Other work, without the lock: who waits for it looks only now and then.
        (0..20).for_each(|_| run("SELECT sum(heartbeat_count) FROM task_claims"));
    }
}

fn renewals_of(database: &Database, id: &str) -> i64 {
    database.number(&format!("SELECT heartbeat_count FROM task_claims WHERE task_id = '{id}'"))
}

fn renewals(seen: &Seen) -> i64 {
    match seen.row.get("heartbeat_count") {
        Some(Value::Int(number)) => *number,
        other => panic!("no number of the renewal: {other:?}"),
    }
}

/// Takes what it can until both have happened often enough; what it took, as it had seen it.
fn take(database: &Database, actor: &mut Actor, is_working: &dyn Fn() -> bool) -> Vec<(String, i64)> {
    let (enough_collisions, enough_taken) = collisions_and_taken();
    let (mut taken, mut collisions) = (Vec::new(), 0);
    let mut round = 0;
    while collisions < enough_collisions || taken.len() < enough_taken {
        round += 1;
        let id = round % CLAIMS;
        let name = format!("task-{id}");
        // Mostly an operator who is slower than the worker, now and then one who is as fast.
        let looks = actor.find(&name, Some("task")).expect("a look");
        let renewed = renewals_of(database, &name);
        while round % 8 > 1 && renewals_of(database, &name) == renewed {
            assert!(is_working(), "the worker has failed");
            std::thread::yield_now();
        }
        for seen in looks {
            let way = if round % 3 == 0 { Way::AmongMany } else { Way::Alone };
            match reclaim_by(&way, actor, &seen, &Authorization::default()).expect("an act") {
                Outcome::Applied => {
                    taken.push((name.clone(), renewals(&seen)));
                    insert(database, id);
                }
                Outcome::Moved(_) => collisions += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    taken
}

#[test]
fn nothing_that_was_renewed_after_the_look_is_taken() {
    on_both(|| {
        let database = overdue();
        let options = database.options(Profiles::Detect(Library::built_in()), |options| {
            options.frozen_at = None;
            options.busy_timeout = Duration::from_secs(60);
        });
        let mut actor = Actor::open(writable(options)).expect("an actor");
        let (stop, run) = (AtomicBool::new(false), connect(&database));
        let seen_at_taking = std::thread::scope(|scope| {
            let stop = &stop;
            let worker = scope.spawn(move || renew(&*run, stop));
            let is_working = || !worker.is_finished();
            let taking = std::panic::AssertUnwindSafe(|| take(&database, &mut actor, &is_working));
            // A failure inside must still stop the worker, or the scope would never end.
            let taken = std::panic::catch_unwind(taking);
            stop.store(true, Ordering::Relaxed);
            taken.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let taken = database.rows("SELECT task_id, heartbeat_count FROM taken ORDER BY n");
        let seen = seen_at_taking.into_iter().map(|(id, number)| vec![Some(id), Some(number.to_string())]);
        assert_eq!(taken, seen.collect::<Vec<_>>(), "what was taken and what had been seen");
    });
}
