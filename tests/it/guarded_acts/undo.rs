//! Undo puts back exactly what an act changed, and never takes anything from a new holder.

use claimtop::domain::recovery::{Action, Outcome};
use claimtop::store::{Side, Undo};

use super::systems_more::{JOBS, MERGE, TASKS};
use super::{UNDO, actor, applied, fast, is_moved, number, row, text, through_json, undo};
use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database, MINUTE, NOW, SECOND};

/// The claims of coordination as the running code declares them, with foreign keys.
const CONSTRAINED: &str = "
    CREATE TABLE sessions (id TEXT PRIMARY KEY NOT NULL, project_path TEXT NOT NULL, agent_type TEXT,
      started_at INTEGER NOT NULL, last_heartbeat INTEGER NOT NULL, metadata TEXT, pid INTEGER);
    CREATE TABLE task_claims (task_id TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL,
      claimed_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, last_heartbeat INTEGER NOT NULL, metadata TEXT,
      FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE);";

fn constrained() -> Database {
    let database = fast(CONSTRAINED);
    database.either("PRAGMA foreign_keys = ON", "");
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
    on_both(|| {
        let database = job();
        let before = database.dump();
        let mut actor = actor(&database);
        let acted = applied(&mut actor, "job-1", Action::Reclaim);
        let after = database.dump();
        assert!(actor.matches(&through_json(&acted), Side::After).unwrap());
        assert!(!actor.matches(&through_json(&acted), Side::Before).unwrap());

        let dry =
            actor.undo(&acted.changes, Undo::Rehearse, &mut |_| panic!("a record of a dry run")).unwrap();
        assert_eq!(dry.outcome, Outcome::Applied);
        assert_eq!(database.dump(), after);

        assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
        assert_eq!(database.dump(), before);
        assert!(actor.matches(&through_json(&acted), Side::Before).unwrap());
        assert!(is_moved(&undo(&mut actor, &acted)), "the second time");
        assert_eq!(database.dump(), before);
    });
}

#[test]
fn of_a_deletion_under_foreign_keys() {
    on_both(|| {
        let database = constrained();
        let before = database.dump();
        let mut actor = actor(&database);
        let acted = applied(&mut actor, "task-1", Action::Reclaim);
        assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
        assert_eq!(database.dump(), before);
        assert!(is_moved(&undo(&mut actor, &acted)), "the second time");
        assert_eq!(database.dump(), before);
    });
}

#[test]
fn of_a_claim_whose_session_is_gone_by_now() {
    on_both(|| {
        let database = constrained();
        let mut actor = actor(&database);
        let acted = applied(&mut actor, "task-1", Action::Reclaim);
        database.run("DELETE FROM sessions", []);
        let before = database.dump();
        assert!(is_moved(&undo(&mut actor, &acted)));
        assert_eq!(database.dump(), before);
    });
}

#[test]
fn of_a_claim_whose_session_was_gone_before() {
    on_both(|| {
        // Without the keys enforced such a claim can be: the act must not become one that cannot be told.
        let database = constrained();
        database.without_foreign_keys("DELETE FROM sessions");
        let mut actor = actor(&database);
        let acted = applied(&mut actor, "task-1", Action::Reclaim);
        assert!(is_moved(&undo(&mut actor, &acted)));
        assert_eq!(row(&database, "SELECT count(*) FROM task_claims"), [number(0)]);
    });
}

#[test]
fn of_a_foreign_key_that_is_checked_at_the_end_only() {
    on_both(|| {
        let schema = CONSTRAINED.replace("ON DELETE CASCADE", "DEFERRABLE INITIALLY DEFERRED");
        let database = fast(&schema);
        database.session("w-1", SECOND);
        database.task("task-1", "w-1", -SECOND);
        let mut actor = actor(&database);
        let acted = applied(&mut actor, "task-1", Action::Reclaim);
        database.run("DELETE FROM sessions", []);
        let before = database.dump();
        let outcome = undo(&mut actor, &acted);
        assert!(matches!(outcome, Outcome::Moved(_) | Outcome::Refused(_)), "{outcome:?}");
        assert_eq!(database.dump(), before);
        // And the connection is as good as before.
        database.session("w-1", SECOND);
        assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
    });
}

#[test]
fn takes_the_log_back_too() {
    on_both(|| {
        let database = fast(TASKS);
        database.run("INSERT INTO task_logs (task_id, event) VALUES (1, 'created')", []);
        database.run(
            "INSERT INTO tasks (id, task_type_id, status, worker_id, claimed_at)
         VALUES (7, 1, 'claimed', 'w1', '2026-11-15 11:50:00')",
            [],
        );
        let before = database.dump();
        let mut actor = actor(&database);
        let acted = applied(&mut actor, "7", Action::Reclaim);
        assert_eq!(row(&database, "SELECT count(*) FROM task_logs"), [number(2)]);
        assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
        assert_eq!(database.dump(), before);
    });
}

#[test]
fn is_all_or_nothing() {
    on_both(|| {
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
            let before = database.dump();
            assert!(is_moved(&undo(&mut actor, &acted)), "{change}");
            assert_eq!(database.dump(), before);
        }
    });
}

#[test]
fn does_not_evict_who_claimed_by_an_update() {
    on_both(|| {
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
            let before = database.dump();
            assert!(is_moved(&undo(&mut actor, &acted)), "{claim}");
            assert_eq!(database.dump(), before, "{claim}");
        }
    });
}

#[test]
fn does_not_evict_who_claimed_by_an_insertion() {
    on_both(|| {
        for holder in ["w-2", "w-1"] {
            let database = constrained();
            database.session("w-2", SECOND);
            let mut actor = actor(&database);
            let acted = applied(&mut actor, "task-1", Action::Reclaim);
            database.task("task-0", "w-2", 20 * MINUTE);
            database.task("task-1", holder, 20 * MINUTE);
            let before = database.dump();
            assert!(is_moved(&undo(&mut actor, &acted)));
            assert_eq!(database.dump(), before);
        }
    });
}

#[test]
fn does_not_put_a_second_claim_beside_a_new_one_that_no_key_keeps_out() {
    on_both(|| {
        // The same tables without their keys: nothing but this program keeps two claims apart.
        let keyless = COORDINATION.replace("PRIMARY KEY ", "");
        let database = fast(&keyless);
        database.session("w-1", SECOND);
        database.task("task-1", "w-1", -SECOND);
        database.task("task-2", "w-1", -SECOND);
        let mut actor = actor(&database);
        let acted = applied(&mut actor, "task-1", Action::Reclaim);
        database.task("task-1", "w-2", 20 * MINUTE);
        let before = database.dump();
        assert!(is_moved(&undo(&mut actor, &acted)));
        assert_eq!(database.dump(), before);
    });
}

#[test]
fn does_not_put_a_second_lock_beside_a_new_one_in_a_file_without_keys() {
    let database = fast(&MERGE.replace("id INTEGER PRIMARY KEY CHECK (id = 1), ", ""));
    database.run("INSERT INTO queue_processing_lock VALUES ('a', 5, ?1)", [NOW / 1_000 - 1]);
    let mut actor = super::actor(&database);
    let acted = applied(&mut actor, "merge-queue/lock/1", Action::Reclaim);
    database.run("INSERT INTO queue_processing_lock VALUES ('b', 5, ?1)", [NOW / 1_000 + 60]);
    let before = database.dump();
    assert!(is_moved(&undo(&mut actor, &acted)));
    assert_eq!(database.dump(), before);
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
fn is_possible_although_another_claim_has_the_number_of_one_of_several_rows() {
    let database = constrained();
    database.batch(
        "CREATE TABLE released (task_id TEXT);
         CREATE TRIGGER released AFTER DELETE ON task_claims
           BEGIN INSERT INTO released VALUES (old.task_id); END;",
    );
    let mut actor = actor(&database);
    let acted = applied(&mut actor, "task-1", Action::Reclaim);
    assert_eq!(acted.changes.len(), 2, "the claim and its log");
    database.task("task-9", "w-1", 20 * MINUTE);
    assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
    let claims = "SELECT task_id FROM task_claims ORDER BY rowid DESC";
    assert_eq!(row(&database, claims), [text("task-1")]);
    assert_eq!(row(&database, "SELECT count(*) FROM released"), [number(0)]);
}

#[test]
fn writes_only_the_columns_that_the_act_set() {
    on_both(|| {
        let database = job();
        database.batch("CREATE TABLE written (what TEXT)");
        database.either(
            "CREATE TRIGGER payloads AFTER UPDATE OF payload, type, id, trace_id ON executor_jobs
           BEGIN INSERT INTO written VALUES ('too much'); END;",
            "CREATE FUNCTION payloads() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN INSERT INTO written VALUES ('too much'); RETURN NULL; END $$;
         CREATE TRIGGER payloads AFTER UPDATE OF payload, type, id, trace_id ON executor_jobs
           FOR EACH ROW EXECUTE FUNCTION payloads();",
        );
        let mut actor = actor(&database);
        let acted = applied(&mut actor, "job-1", Action::Reclaim);
        assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
        assert_eq!(row(&database, "SELECT count(*) FROM written"), [number(0)]);
    });
}

#[test]
fn that_cannot_be_recorded_does_not_happen() {
    on_both(|| {
        let database = job();
        let mut actor = actor(&database);
        let acted = applied(&mut actor, "job-1", Action::Reclaim);
        let before = database.dump();
        let outcome = actor.undo(&acted.changes, UNDO, &mut |_| Err("disk full".into())).unwrap().outcome;
        assert!(
            matches!(&outcome, Outcome::Refused(why) if why.to_string().contains("disk full")),
            "{outcome:?}"
        );
        assert_eq!(database.dump(), before);
    });
}
