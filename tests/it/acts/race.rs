//! In real time, against a worker that renews as fast as it can.

use claimtop::domain::recovery::{Action, Outcome, Word};
use claimtop::domain::value::Value;
use claimtop::profile::Library;
use claimtop::store::{Actor, Order, Profiles, Seen, clock};
use rusqlite::Connection;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::fast;
use crate::support::COORDINATION;

const CLAIMS: i64 = 5;
/// Acts that found the claim renewed since the look, at least.
const COLLISIONS: u64 = 2_000;
/// Acts that found it as it was, at least.
const TAKEN: u64 = 200;

/// Renews claims, each time with a number of its own, until it is told to stop.
///
/// A renewal leaves the claim overdue: only the number tells that it was renewed, so that every
/// one of them stays worth taking.
fn renew(path: &Path, stop: &AtomicBool) {
    let connection = Connection::open(path).expect("a connection");
    connection.busy_timeout(std::time::Duration::from_secs(60)).expect("patience");
    connection.pragma_update(None, "synchronous", "OFF").expect("no waiting");
    let mut number = 0_i64;
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        connection
            .prepare_cached(
                "UPDATE task_claims SET heartbeat_count = ?1, last_heartbeat = last_heartbeat + 1
                 WHERE task_id = 'task-' || ?2",
            )
            .and_then(|mut statement| statement.execute((number, number % CLAIMS)))
            .expect("a renewal");
        // Other work, without the lock: who waits for it looks only now and then.
        for _ in 0..20 {
            let count = connection.prepare_cached("SELECT sum(heartbeat_count) FROM task_claims");
            let count = count.and_then(|mut sum| sum.query_row([], |row| row.get::<_, Option<i64>>(0)));
            count.expect("a count");
        }
    }
}

fn renewals_of(connection: &Connection, id: &str) -> i64 {
    let mut statement =
        connection.prepare_cached("SELECT heartbeat_count FROM task_claims WHERE task_id = ?1").unwrap();
    statement.query_row([id], |row| row.get(0)).expect("the claim")
}

fn renewals(seen: &Seen) -> Value {
    seen.row.get("heartbeat_count").expect("the number of the renewal").clone()
}

#[test]
fn nothing_that_was_renewed_after_the_look_is_taken() {
    let database = fast(&format!(
        "{COORDINATION}
         -- Written by the database itself at the moment of the taking.
         CREATE TABLE taken (task_id TEXT, heartbeat_count INTEGER);
         CREATE TRIGGER taking AFTER DELETE ON task_claims
           BEGIN INSERT INTO taken VALUES (old.task_id, old.heartbeat_count); END;"
    ));
    let now = clock().micros() / 1_000;
    let insert = |id: i64| {
        database.run(
            "INSERT OR IGNORE INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES ('task-' || ?1, 'gone', ?2, ?2, ?2)",
            (id, now - 90_000_000),
        );
    };
    database.connection.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
    (0..CLAIMS).for_each(insert);
    let options = database.options(Profiles::Detect(Library::built_in()), |options| {
        options.frozen_at = None;
        options.busy_timeout = std::time::Duration::from_secs(60);
    });
    let mut actor = Actor::open(options).expect("an actor");

    let stop = AtomicBool::new(false);
    let path = database.path();
    let (mut seen_at_taking, mut collisions) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| renew(&path, &stop));
        let word = Word::default();
        let order = Order { action: Action::Reclaim, word: &word, action_id: "a", dry_run: false };
        let mut round = 0;
        // A failure inside must still stop the writer, or the scope would never end.
        let all_went_well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            while collisions < COLLISIONS || (seen_at_taking.len() as u64) < TAKEN {
                round += 1;
                let id = round % CLAIMS;
                let name = format!("task-{id}");
                // Mostly an operator who is slower than the worker, now and then one who is as fast.
                let looks = actor.find(&name, Some("task")).expect("a look");
                let renewed = renewals_of(&database.connection, &name);
                while round % 8 > 1 && renewals_of(&database.connection, &name) == renewed {
                    assert!(!worker.is_finished(), "the worker has failed");
                    std::thread::yield_now();
                }
                for seen in looks {
                    match actor.act(&seen, &order, &mut |_| Ok(())).expect("an act").outcome {
                        Outcome::Applied => {
                            seen_at_taking.push((name.clone(), renewals(&seen)));
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

    let mut statement =
        database.connection.prepare("SELECT task_id, heartbeat_count FROM taken ORDER BY rowid").unwrap();
    let taken: Vec<(String, Value)> = statement
        .query_map([], |row| Ok((row.get(0)?, Value::Int(row.get(1)?))))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(taken, seen_at_taking, "what was taken and what had been seen");
}
