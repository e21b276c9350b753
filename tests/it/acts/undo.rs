//! Undo puts back exactly what an act changed, and never takes anything from a new holder.

use claimtop::domain::recovery::{Action, Outcome};
use claimtop::store::Side;

use super::systems_more::{JOBS, MERGE, TASKS};
use super::{actor, applied, dump, fast, is_moved, number, row, text, through_json, undo};
use crate::support::{COORDINATION, Database, MINUTE, NOW, SECOND};

/// Document 000's claims as the running code declares them, with foreign keys.
const CONSTRAINED: &str = "
    CREATE TABLE sessions (id TEXT PRIMARY KEY NOT NULL, project_path TEXT NOT NULL, agent_type TEXT,
      started_at INTEGER NOT NULL, last_heartbeat INTEGER NOT NULL, metadata TEXT, pid INTEGER);
    CREATE TABLE task_claims (task_id TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL,
      claimed_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, last_heartbeat INTEGER NOT NULL, metadata,
      FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE);";

fn constrained() -> Database {
    let database = fast(CONSTRAINED);
    database.connection.pragma_update(None, "foreign_keys", true).unwrap();
    database.session("w-1", SECOND);
    database.task("task-1", "w-1", -SECOND);
    database
}

fn job() -> Database {
    let database = fast(JOBS);
    database.run(
        "INSERT INTO executor_jobs (id, type, status, attempts, locked_at, locked_by, last_error)
         VALUES ('job-1', 'run_tsa', 'running', 3, '2026-11-15T11:00:00Z', 'w1', 'old')",
        [],
    );
    database
}

#[test]
fn of_an_update() {
    let database = job();
    let before = dump(&database.connection);
    let mut actor = actor(&database);
    let acted = applied(&mut actor, "job-1", Action::Reclaim);
    let after = dump(&database.connection);
    assert!(actor.matches(&through_json(&acted), Side::After).unwrap());
    assert!(!actor.matches(&through_json(&acted), Side::Before).unwrap());

    let dry = actor.undo(&acted.changes, true, &mut |_| panic!("a record of a dry run")).unwrap();
    assert_eq!(dry.outcome, Outcome::Applied);
    assert_eq!(dump(&database.connection), after);

    assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
    assert_eq!(dump(&database.connection), before);
    assert!(actor.matches(&through_json(&acted), Side::Before).unwrap());
    assert!(is_moved(&undo(&mut actor, &acted)), "the second time");
    assert_eq!(dump(&database.connection), before);
}

#[test]
fn of_a_deletion_under_foreign_keys() {
    let database = constrained();
    let before = dump(&database.connection);
    let mut actor = actor(&database);
    let acted = applied(&mut actor, "task-1", Action::Reclaim);
    assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
    assert_eq!(dump(&database.connection), before);
    assert!(is_moved(&undo(&mut actor, &acted)), "the second time");
    assert_eq!(dump(&database.connection), before);
}

#[test]
fn of_a_claim_whose_session_is_gone_by_now() {
    let database = constrained();
    let mut actor = actor(&database);
    let acted = applied(&mut actor, "task-1", Action::Reclaim);
    database.run("DELETE FROM sessions", []);
    let before = dump(&database.connection);
    assert!(is_moved(&undo(&mut actor, &acted)));
    assert_eq!(dump(&database.connection), before);
}

#[test]
fn of_a_claim_whose_session_was_gone_before() {
    // Without the keys enforced such a claim can be: the act must not become one that cannot be told.
    let database = constrained();
    database.connection.pragma_update(None, "foreign_keys", false).unwrap();
    database.run("DELETE FROM sessions", []);
    let mut actor = actor(&database);
    let acted = applied(&mut actor, "task-1", Action::Reclaim);
    assert!(is_moved(&undo(&mut actor, &acted)));
    assert_eq!(row(&database, "SELECT count(*) FROM task_claims"), [number(0)]);
}

#[test]
fn of_a_foreign_key_that_is_checked_at_the_end_only() {
    let schema = CONSTRAINED.replace("ON DELETE CASCADE", "DEFERRABLE INITIALLY DEFERRED");
    let database = fast(&schema);
    database.session("w-1", SECOND);
    database.task("task-1", "w-1", -SECOND);
    let mut actor = actor(&database);
    let acted = applied(&mut actor, "task-1", Action::Reclaim);
    database.run("DELETE FROM sessions", []);
    let before = dump(&database.connection);
    let outcome = undo(&mut actor, &acted);
    assert!(matches!(outcome, Outcome::Moved(_) | Outcome::Refused(_)), "{outcome:?}");
    assert_eq!(dump(&database.connection), before);
    // And the connection is as good as before.
    database.session("w-1", SECOND);
    assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
}

#[test]
fn takes_the_log_back_too() {
    let database = fast(TASKS);
    database.run("INSERT INTO task_logs (task_id, event) VALUES (1, 'created')", []);
    database.run(
        "INSERT INTO tasks (id, task_type_id, status, worker_id, claimed_at)
         VALUES (7, 1, 'claimed', 'w1', '2026-11-15 11:50:00')",
        [],
    );
    let before = dump(&database.connection);
    let mut actor = actor(&database);
    let acted = applied(&mut actor, "7", Action::Reclaim);
    assert_eq!(row(&database, "SELECT count(*) FROM task_logs"), [number(2)]);
    assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
    assert_eq!(dump(&database.connection), before);
}

#[test]
fn is_all_or_nothing() {
    let database = fast(TASKS);
    database.run(
        "INSERT INTO tasks (id, task_type_id, status, worker_id, claimed_at)
         VALUES (7, 1, 'claimed', 'w1', '2026-11-15 11:50:00')",
        [],
    );
    let mut actor = actor(&database);
    let acted = applied(&mut actor, "7", Action::Reclaim);
    for change in ["UPDATE task_logs SET metadata = 'seen'", "DELETE FROM task_logs"] {
        database.run(change, []);
        let before = dump(&database.connection);
        assert!(is_moved(&undo(&mut actor, &acted)), "{change}");
        assert_eq!(dump(&database.connection), before);
    }
}

#[test]
fn does_not_evict_who_claimed_by_an_update() {
    for claim in [
        "UPDATE executor_jobs SET status = 'running', locked_by = 'w2', locked_at = '2026-11-15T12:00:00Z'",
        // The old holder itself, with another claim.
        "UPDATE executor_jobs SET status = 'running', locked_by = 'w1', locked_at = '2026-11-15T12:00:00Z'",
        "UPDATE executor_jobs SET trace_id = 'seen by somebody'",
        "UPDATE executor_jobs SET status = 'succeeded'",
        "DELETE FROM executor_jobs",
    ] {
        let database = job();
        let mut actor = actor(&database);
        let acted = applied(&mut actor, "job-1", Action::Reclaim);
        database.run(claim, []);
        let before = dump(&database.connection);
        assert!(is_moved(&undo(&mut actor, &acted)), "{claim}");
        assert_eq!(dump(&database.connection), before, "{claim}");
    }
}

#[test]
fn does_not_evict_who_claimed_by_an_insertion() {
    for holder in ["w-2", "w-1"] {
        let database = constrained();
        database.session("w-2", SECOND);
        let mut actor = actor(&database);
        let acted = applied(&mut actor, "task-1", Action::Reclaim);
        database.task("task-0", "w-2", 20 * MINUTE);
        database.task("task-1", holder, 20 * MINUTE);
        let before = dump(&database.connection);
        assert!(is_moved(&undo(&mut actor, &acted)));
        assert_eq!(dump(&database.connection), before);
    }
}

#[test]
fn does_not_put_a_second_claim_beside_a_new_one_that_no_key_keeps_out() {
    // The same tables without their keys: nothing but this program keeps two claims apart.
    let keyless = COORDINATION.replace("PRIMARY KEY ", "");
    let database = fast(&keyless);
    database.session("w-1", SECOND);
    database.task("task-1", "w-1", -SECOND);
    database.task("task-2", "w-1", -SECOND);
    let mut actor = actor(&database);
    let acted = applied(&mut actor, "task-1", Action::Reclaim);
    database.task("task-1", "w-2", 20 * MINUTE);
    let before = dump(&database.connection);
    assert!(is_moved(&undo(&mut actor, &acted)));
    assert_eq!(dump(&database.connection), before);

    let database = fast(&MERGE.replace("id INTEGER PRIMARY KEY CHECK (id = 1), ", ""));
    database.run("INSERT INTO queue_processing_lock VALUES ('a', 5, ?1)", [NOW / 1_000 - 1]);
    let mut actor = super::actor(&database);
    let acted = applied(&mut actor, "merge-queue/lock/1", Action::Reclaim);
    database.run("INSERT INTO queue_processing_lock VALUES ('b', 5, ?1)", [NOW / 1_000 + 60]);
    let before = dump(&database.connection);
    assert!(is_moved(&undo(&mut actor, &acted)));
    assert_eq!(dump(&database.connection), before);
}

#[test]
fn is_possible_although_another_claim_has_the_number_of_the_row() {
    let database = constrained();
    let mut actor = actor(&database);
    let acted = applied(&mut actor, "task-1", Action::Reclaim);
    database.task("task-9", "w-1", 20 * MINUTE);
    assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
    let claims = "SELECT task_id FROM task_claims ORDER BY rowid DESC";
    assert_eq!(row(&database, claims), [text("task-1")]);
}

#[test]
fn writes_only_the_columns_that_the_act_set() {
    let database = job();
    database
        .connection
        .execute_batch(
            "CREATE TABLE written (what TEXT);
             CREATE TRIGGER payloads AFTER UPDATE OF payload, type, id, trace_id ON executor_jobs
               BEGIN INSERT INTO written VALUES ('too much'); END;",
        )
        .unwrap();
    let mut actor = actor(&database);
    let acted = applied(&mut actor, "job-1", Action::Reclaim);
    assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
    assert_eq!(row(&database, "SELECT count(*) FROM written"), [number(0)]);
}

#[test]
fn that_cannot_be_recorded_does_not_happen() {
    let database = job();
    let mut actor = actor(&database);
    let acted = applied(&mut actor, "job-1", Action::Reclaim);
    let before = dump(&database.connection);
    let outcome = actor.undo(&acted.changes, false, &mut |_| Err("disk full".into())).unwrap().outcome;
    assert!(matches!(&outcome, Outcome::Refused(why) if why.contains("disk full")), "{outcome:?}");
    assert_eq!(dump(&database.connection), before);
}
