//! Undo in real time, against workers that claim, renew and finish the same task at that moment.

use claimtop::domain::recovery::{Action, Authorization, Outcome};
use rusqlite::Connection;
use std::sync::{Barrier, mpsc};
use std::time::Duration;

use super::systems_more::JOBS;
use super::{UNDO, act, actor, fast, look};
use crate::support::engine::{Engine, engine, on, on_both_engines};
use crate::support::{COORDINATION, Database, figures};

/// `./tests/run --soak` asks for more. A server takes longer for each.
fn races() -> u64 {
    let asked = std::env::var("CLAIMTOP_UNDO_RACES").ok().and_then(|number| number.parse().ok());
    asked.unwrap_or(match engine() {
        Engine::Sqlite => 400,
        Engine::Postgres => 120,
    })
}

/// What a worker does to the task while the act on it is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    /// Somebody else claims it, if nobody holds it.
    Claim,
    /// And gives it back in a way that shows.
    ClaimAndFinish,
    /// The old holder renews.
    Renew,
    /// The old holder is done.
    Finish,
}

const MOVES: [Move; 4] = [Move::Claim, Move::ClaimAndFinish, Move::Renew, Move::Finish];

/// A system, and how its workers say it. Every statement returns the rows that it changed.
struct System {
    schema: &'static str,
    id: &'static str,
    stale: &'static str,
    claim: &'static str,
    claim_and_finish: &'static str,
    renew: &'static str,
    finish: &'static str,
    /// Who holds it, or what else it is; nothing, if there is no row.
    is: &'static str,
}

/// A reclaim deletes the row.
const TASK: System = System {
    schema: COORDINATION,
    id: "task-1",
    stale: "DELETE FROM task_claims; INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
            VALUES ('task-1', 'old', 1794740000000, 1794741000000, 1794740000000)",
    claim: "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
            VALUES ('task-1', 'new', 1794744000000, 1794745000000, 1794744000000) ON CONFLICT DO NOTHING RETURNING 1",
    // A row that came and went leaves nothing to see, so the new holder stays until it is over.
    claim_and_finish: "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat, release_reason)
            VALUES ('task-1', 'new', 1794744000000, 1794745000000, 1794744000000, 'done') ON CONFLICT DO NOTHING RETURNING 1",
    renew: "UPDATE task_claims SET expires_at = expires_at + 60000, heartbeat_count = heartbeat_count + 1
            WHERE task_id = 'task-1' AND session_id = 'old' RETURNING 1",
    finish: "DELETE FROM task_claims WHERE task_id = 'task-1' AND session_id = 'old' RETURNING 1",
    is: "SELECT session_id || heartbeat_count FROM task_claims",
};

/// A reclaim updates the row.
const JOB: System = System {
    schema: JOBS,
    id: "job-1",
    stale: "DELETE FROM executor_jobs; INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, attempts)
            VALUES ('job-1', 'run_tsa', 'running', '2026-11-15T11:00:00Z', 'old', 1)",
    claim: "UPDATE executor_jobs SET status = 'running', locked_by = 'new', locked_at = '2026-11-15T12:00:00Z'
            WHERE id = 'job-1' AND status = 'queued' RETURNING 1",
    claim_and_finish: "UPDATE executor_jobs SET status = 'succeeded', locked_by = 'new'
            WHERE id = 'job-1' AND status = 'queued' RETURNING 1",
    renew: "UPDATE executor_jobs SET heartbeat_at = '2026-11-15T11:59:00Z'
            WHERE id = 'job-1' AND locked_by = 'old' AND status = 'running' RETURNING 1",
    finish: "UPDATE executor_jobs SET status = 'succeeded', locked_by = 'done'
            WHERE id = 'job-1' AND locked_by = 'old' AND status = 'running' RETURNING 1",
    is: "SELECT coalesce(locked_by, status) || (CASE WHEN heartbeat_at IS NULL THEN 0 ELSE 1 END) FROM executor_jobs",
};

impl System {
    fn says(&self, what: Move) -> &'static str {
        match what {
            Move::Claim => self.claim,
            Move::ClaimAndFinish => self.claim_and_finish,
            Move::Renew => self.renew,
            Move::Finish => self.finish,
        }
    }
}

/// A worker's own connection: how many rows a statement changed. Rows that are locked are waited for.
fn worker(database: &Database) -> Box<dyn Fn(&str) -> usize + Send> {
    if let Some(server) = database.server() {
        let session = server.connect();
        return Box::new(move |sql| session.query(sql).len());
    }
    let connection = Connection::open(database.path()).expect("a connection");
    connection.busy_timeout(Duration::from_secs(60)).expect("patience");
    connection.pragma_update(None, "synchronous", "OFF").expect("no waiting");
    Box::new(move |sql| {
        let mut statement = connection.prepare(sql).expect(sql);
        let mut rows = statement.query([]).expect(sql);
        let mut count = 0;
        while rows.next().expect(sql).is_some() {
            count += 1;
        }
        count
    })
}

#[derive(Debug, Default)]
struct Tally {
    races: u64,
    undone: u64,
    moved: u64,
    /// The worker got something.
    worked: u64,
}

fn race(system: &System, tally: &mut Tally) {
    let database = fast(system.schema);
    if database.server().is_none() {
        database.connection.busy_timeout(Duration::from_secs(60)).expect("patience");
    }
    let mut actor = actor(&database);
    let run = worker(&database);
    let (barrier, (send, receive)) = (Barrier::new(2), mpsc::channel::<(&'static str, u64)>());
    let (answer, answered) = mpsc::channel();
    std::thread::scope(|scope| {
        let barrier = &barrier;
        scope.spawn(move || {
            while let Ok((sql, spins)) = receive.recv() {
                barrier.wait();
                (0..spins).for_each(|_| std::hint::spin_loop());
                answer.send(run(sql)).expect("somebody who listens");
            }
        });
        // Dropped by a failure as well: then the worker stops.
        let send = send;
        for number in 0..races() / 2 {
            database.batch(system.stale);
            let seen = look(&mut actor, system.id);
            let acted = act(&mut actor, &seen, Action::Reclaim, &Authorization::default());
            assert_eq!(acted.outcome, Outcome::Applied);
            let what = MOVES[usize::try_from(number % 4).expect("small")];
            // Sooner and later than the undo, by turns.
            let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let longest = if engine() == Engine::Sqlite { 60_000 } else { 500_000 };
            send.send((system.says(what), mixed % longest)).expect("a worker");
            barrier.wait();
            let undone = actor.undo(&acted.changes, UNDO, &mut |_| Ok(())).expect("an undo").outcome;
            let got = answered.recv().expect("what the worker got");
            let is = database.texts(system.is).pop();
            check(
                what,
                &undone,
                got,
                is.as_deref(),
                &format!("race {number}: {what:?}, {undone:?}, {got}, {is:?}"),
            );
            tally.races += 1;
            tally.undone += u64::from(undone == Outcome::Applied);
            tally.moved += u64::from(matches!(undone, Outcome::Moved(_)));
            tally.worked += u64::from(got > 0);
        }
    });
}

fn check(what: Move, undone: &Outcome, got: usize, is: Option<&str>, story: &str) {
    let is_undone = *undone == Outcome::Applied;
    assert!(is_undone || matches!(undone, Outcome::Moved(_)), "{story}");
    match what {
        // One of the two has it, and it is his.
        Move::Claim | Move::ClaimAndFinish => {
            // A lock that the undo did not wait for makes it step back, and then the claim is the worker's.
            assert!(is_undone != (got > 0), "{story}");
            let holder = if is_undone { "old0" } else { "new0" };
            assert_eq!(is, Some(holder), "{story}");
        }
        // The old holder finds its claim only once it is back.
        Move::Renew if is_undone => {
            assert_eq!(is, Some(if got > 0 { "old1" } else { "old0" }), "{story}");
        }
        Move::Finish if is_undone && got > 0 => assert!(is.is_none_or(|is| is == "done0"), "{story}"),
        Move::Finish if is_undone => assert_eq!(is, Some("old0"), "{story}"),
        // Its row was locked at that moment, by a statement that found nothing to do.
        Move::Renew | Move::Finish => assert_eq!(got, 0, "{story}"),
    }
}

fn undo_never_takes_from_a_worker_and_never_revives_what_is_finished(engine: Engine) {
    on(engine, || {
        let mut tally = Tally::default();
        race(&TASK, &mut tally);
        race(&JOB, &mut tally);
        figures::tell(&format!("races against undo on {engine:?}: {tally:?}"));
        figures::promise(
            "An undo takes nothing from a worker that claimed, renewed or finished since.",
            tally.races,
            0,
        );
        assert!(tally.undone > 0 && tally.worked > 0, "{tally:?}");
    });
}

on_both_engines!(undo_never_takes_from_a_worker_and_never_revives_what_is_finished);
