//! Many at once: each guarded by itself, and committed together or not at all.

use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::domain::time::Moment;
use claimtop::domain::verdict::Set;
use claimtop::store::Filter;
use claimtop::store::{Acted, Actor, Change, Order, Seen};
use std::time::Duration;

use super::systems_more::JOBS;
use super::{UNDO, actor, fast, is_moved, is_refused};
use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database, MINUTE, NOW, Noted, SECOND};

fn overdue(count: usize) -> Database {
    let database = fast(COORDINATION);
    database.session("w-1", SECOND);
    for number in 0..count {
        database.task(&format!("task-{number}"), "w-1", -SECOND);
    }
    database
}

fn jobs(count: usize) -> Database {
    jobs_in(JOBS, count)
}

fn jobs_in(schema: &str, count: usize) -> Database {
    let database = fast(schema);
    for number in 0..count {
        database.run(
            "INSERT INTO executor_jobs (id, type, status, attempts, locked_at, locked_by, last_error)
             VALUES ('job-' || ?1, 'run_tsa', 'running', ?1, '2026-11-15T11:00:00Z', 'w1', 'old')",
            [number as i64],
        );
    }
    database
}

fn stale(actor: &mut Actor) -> Vec<Seen> {
    actor.select(&Filter { sets: vec![Set::Stale], ..Filter::default() }).expect("the stale ones")
}

/// Reclaims all in one transaction; what was recorded, and what came of it.
fn reclaim(actor: &mut Actor, all: &[Seen], flushed: &Result<(), String>) -> (Vec<usize>, Vec<Acted>) {
    let word = Authorization::default();
    let order = Order { action: Action::Reclaim, authorization: &word, action_id: "batch", dry_run: false };
    let mut all: Vec<&Seen> = all.iter().collect();
    let mut noted = Noted { written: flushed.clone(), ..Noted::new() };
    let batch = actor.act_batch(&mut all, &order, Duration::from_secs(60), &mut noted).expect("a batch");
    (noted.numbers, batch.tried)
}

fn changes(tried: &Acted) -> Vec<Change> {
    tried.changes.clone()
}

#[test]
fn rows_that_are_deleted_or_set_have_images_that_undo_puts_back() {
    on_both(|| {
        for database in [overdue(5), jobs(5)] {
            let before = database.dump();
            let mut actor = actor(&database);
            let all = stale(&mut actor);
            let (recorded, tried) = reclaim(&mut actor, &all, &Ok(()));
            assert_eq!(recorded, [1, 2, 3, 4, 5]);
            assert!(tried.iter().all(|tried| tried.outcome == Outcome::Applied), "{tried:#?}");
            assert!(stale(&mut actor).is_empty());
            for tried in tried.iter().rev() {
                let undone = actor.undo(&changes(tried), UNDO, &mut |_| Ok(())).expect("an undo");
                assert_eq!(undone.outcome, Outcome::Applied);
            }
            assert_eq!(database.dump(), before);
        }
    });
}

#[test]
fn an_act_among_many_writes_what_one_alone_writes() {
    on_both(|| {
        let (one, many) = (jobs(3), jobs(3));
        let mut alone = actor(&one);
        for seen in stale(&mut alone) {
            assert_eq!(super::reclaim(&mut alone, &seen).outcome, Outcome::Applied);
        }
        let mut together = actor(&many);
        let all = stale(&mut together);
        reclaim(&mut together, &all, &Ok(()));
        assert_eq!(one.dump(), many.dump());
    });
}

#[test]
fn those_that_moved_are_left_and_the_others_go() {
    on_both(|| {
        let database = overdue(5);
        let mut actor = actor(&database);
        let all = stale(&mut actor);
        database.run("UPDATE task_claims SET metadata = 'x' WHERE task_id = 'task-1'", []);
        database.run("UPDATE task_claims SET expires_at = ?1 WHERE task_id = 'task-3'", [NOW + MINUTE]);
        let (recorded, tried) = reclaim(&mut actor, &all, &Ok(()));
        assert_eq!(recorded.len(), 3);
        for (seen, tried) in all.iter().zip(&tried) {
            let changed = ["task-1", "task-3"].contains(&seen.judged.claim.key.text().as_str());
            assert_eq!(is_moved(&tried.outcome), changed, "{tried:?}");
        }
    });
}

#[test]
fn whether_their_time_is_over_is_asked_at_that_instant() {
    on_both(|| {
        for database in [overdue(2), jobs(2)] {
            let mut actor = actor(&database);
            let all = stale(&mut actor);
            let before = database.dump();
            // The rows are what they were; only the clock is not.
            actor.freeze(Moment::from_micros((NOW - 59 * MINUTE) * 1_000).expect("a moment"));
            let (recorded, tried) = reclaim(&mut actor, &all, &Ok(()));
            assert!(recorded.is_empty());
            let left = |outcome: &Outcome| is_moved(outcome) || is_refused(outcome);
            assert!(tried.iter().all(|tried| left(&tried.outcome)), "{tried:#?}");
            assert_eq!(database.dump(), before);
        }
    });
}

#[test]
fn without_their_record_none_of_them_happens() {
    on_both(|| {
        let database = overdue(4);
        let before = database.dump();
        let mut actor = actor(&database);
        let all = stale(&mut actor);
        let (_, tried) = reclaim(&mut actor, &all, &Err("disk full".into()));
        assert_eq!(tried.len(), 4);
        assert!(tried.iter().all(|tried| is_refused(&tried.outcome)), "{tried:#?}");
        assert_eq!(database.dump(), before);
    });
}

#[test]
fn five_is_not_five_point_nought_where_the_column_keeps_them_apart() {
    let schema = COORDINATION.replace("release_reason TEXT", "release_reason");
    let database = fast(&schema);
    database.session("w-1", SECOND);
    database.task("task-0", "w-1", -SECOND);
    database.run("UPDATE task_claims SET release_reason = 5", []);
    let mut actor = actor(&database);
    let all = stale(&mut actor);
    database.run("UPDATE task_claims SET release_reason = 5.0", []);
    let (_, tried) = reclaim(&mut actor, &all, &Ok(()));
    assert!(is_moved(&tried[0].outcome), "{tried:?}");
}

#[test]
fn what_the_database_refuses_for_one_costs_only_that_one() {
    on_both(|| {
        let closed = (
            "CREATE TRIGGER closed BEFORE DELETE ON task_claims WHEN old.task_id = 'task-2'
               BEGIN SELECT RAISE(ABORT, 'task-2 is closed'); END;",
            "CREATE FUNCTION closed() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN RAISE EXCEPTION 'task-2 is closed'; END $$;
             CREATE TRIGGER closed BEFORE DELETE ON task_claims FOR EACH ROW WHEN (old.task_id = 'task-2')
               EXECUTE FUNCTION closed();",
        );
        let parts = "CREATE TABLE parts (task TEXT REFERENCES task_claims(task_id)); INSERT INTO parts VALUES ('task-2');";
        for ((sqlite, postgres), said) in [(closed, "task-2 is closed"), ((parts, parts), "foreign key")] {
            let database = overdue(5);
            database.either(sqlite, postgres);
            let mut actor = actor(&database);
            let all = stale(&mut actor);
            let (_, tried) = reclaim(&mut actor, &all, &Ok(()));
            for (seen, tried) in all.iter().zip(&tried) {
                match (&tried.outcome, seen.judged.claim.key.text().as_str()) {
                    (Outcome::Refused(why), "task-2") => {
                        assert!(why.to_string().to_lowercase().contains(said), "{why}");
                    }
                    (outcome, id) => {
                        assert_eq!((outcome, id == "task-2"), (&Outcome::Applied, false), "{id}");
                    }
                }
            }
            assert_eq!(database.texts("SELECT task_id FROM task_claims"), ["task-2"]);
        }
        // On the way that needs no second look as well.
        let database =
            jobs_in(&JOBS.replace("DEFAULT 0,", "DEFAULT 0 CHECK (attempts <> 3 OR status <> 'queued'),"), 5);
        let mut actor = actor(&database);
        let all = stale(&mut actor);
        let (_, tried) = reclaim(&mut actor, &all, &Ok(()));
        let refused = tried.iter().filter(|tried| is_refused(&tried.outcome)).count();
        assert_eq!((tried.len(), refused), (5, 1), "{tried:#?}");
        let running = "SELECT id FROM executor_jobs WHERE status = 'running'";
        assert_eq!(database.texts(running), ["job-2"]);
    });
}
