//! Undo of what an act set off, and of values that are hard to keep.

use claimtop::domain::recovery::{Action, Outcome};

use super::systems_more::JOBS;
use super::{actor, applied, fast, is_moved, number, row, undo};
use crate::support::engine::{Engine, engine, on, on_both};
use crate::support::{COORDINATION, Database, SECOND};

fn overdue(schema: &str) -> Database {
    overdue_with(schema, "", "")
}

/// With statements that the engines have no common words for.
fn overdue_with(schema: &str, sqlite: &str, postgres: &str) -> Database {
    let database = fast(&format!("{COORDINATION} {schema}"));
    database.either(sqlite, postgres);
    database.session("w-1", SECOND);
    database.task("task-1", "w-1", -SECOND);
    database.task("task-2", "w-1", -SECOND);
    database
}

/// PostgreSQL's function for a trigger that forbids.
const CLOSED: &str = "CREATE FUNCTION closed() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'closed'; END $$;";

/// Acts, takes it back, and finds everything as it was.
fn there_and_back(database: &Database, id: &str, changes: usize) {
    let before = database.dump();
    let mut actor = actor(database);
    let acted = applied(&mut actor, id, Action::Reclaim);
    assert_eq!(acted.changes.len(), changes, "{:#?}", acted.changes);
    assert_ne!(database.dump(), before);
    assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
    assert_eq!(database.dump(), before);
    // Triggers are in force again afterwards.
    applied(&mut actor, id, Action::Reclaim);
}

#[test]
fn rows_that_go_with_the_claim_come_back_with_it() {
    on_both(|| {
        // One name before the claims' table and one after it: whichever way round, a child would be first.
        for child in ["aaa", "zzz"] {
            let database = overdue(&format!(
                "CREATE TABLE {child} (id INTEGER PRIMARY KEY, task TEXT REFERENCES task_claims(task_id)
                   ON DELETE CASCADE, n INTEGER);
                 CREATE TABLE {child}_leaf (id INTEGER PRIMARY KEY, up INTEGER REFERENCES {child}(id)
                   ON DELETE CASCADE);
                 CREATE TABLE {child}_loose (id INTEGER PRIMARY KEY, task TEXT REFERENCES task_claims(task_id)
                   ON DELETE SET NULL);"
            ));
            database.run(&format!("INSERT INTO {child} VALUES (5, 'task-1', 1), (6, 'task-2', 2)"), []);
            database.run(&format!("INSERT INTO {child}_leaf VALUES (50, 5), (51, 5), (60, 6)"), []);
            database.run(&format!("INSERT INTO {child}_loose VALUES (1, 'task-1'), (2, 'task-2')"), []);
            there_and_back(&database, "task-1", 5);
        }
    });
}

#[test]
fn rows_that_refer_to_claims_since_the_actor_was_opened_come_back_too() {
    on_both(|| {
        let database = overdue("");
        let before = database.dump();
        let mut actor = actor(&database);
        let acted = applied(&mut actor, "task-1", Action::Reclaim);
        assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
        assert_eq!(database.dump(), before);
        database.batch(
            "CREATE TABLE child (id INTEGER PRIMARY KEY, task TEXT REFERENCES task_claims(task_id) ON DELETE CASCADE);
             INSERT INTO child VALUES (5, 'task-1'), (6, 'task-2')",
        );
        let before = database.dump();
        let acted = applied(&mut actor, "task-1", Action::Reclaim);
        assert_eq!(acted.changes.len(), 2, "{:#?}", acted.changes);
        // The next one hangs on the child, and not on the claims.
        database.batch(
            "CREATE TABLE leaf (id INTEGER PRIMARY KEY, up INTEGER REFERENCES child(id) ON DELETE CASCADE);
             INSERT INTO leaf VALUES (60, 6)",
        );
        assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
        let acted = applied(&mut actor, "task-2", Action::Reclaim);
        assert_eq!(acted.changes.len(), 3, "{:#?}", acted.changes);
        assert_eq!(undo(&mut actor, &acted), Outcome::Applied);
        database.batch("DROP TABLE leaf");
        assert_eq!(database.dump(), before);
    });
}

/// A file is locked while an act runs. On a server the table of the sessions is not, so that its triggers stand
/// for those of a table that the act has not written to yet.
#[test]
fn an_act_is_not_done_if_its_tables_change_while_it_runs() {
    on(Engine::Postgres, || {
        let database = overdue_with("", "", CLOSED);
        let before = database.dump();
        let mut actor = actor(&database);
        let seen = super::look(&mut actor, "task-1");
        let authorization = claimtop::domain::recovery::Authorization::default();
        let order = claimtop::store::Order {
            action: Action::Reclaim,
            authorization: &authorization,
            action_id: "a",
            dry_run: false,
        };
        let acted = actor.act(&seen, &order, &mut |_| {
            database.batch(
                "CREATE TRIGGER closed BEFORE DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION closed()",
            );
            Ok(())
        });
        let outcome = acted.expect("an act").outcome;
        assert!(super::is_refused(&outcome), "{outcome:?}");
        assert_eq!(database.dump(), before);
        applied(&mut actor, "task-1", Action::Reclaim);
    });
}

#[test]
fn what_triggers_did_is_undone_and_not_done_again() {
    let database = overdue(
        "CREATE TABLE counters (name TEXT, n INTEGER);
         INSERT INTO counters VALUES ('claims', 0);
         CREATE TABLE diary (id INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT);
         CREATE TRIGGER less AFTER DELETE ON task_claims BEGIN
           UPDATE counters SET n = n - 1; INSERT INTO diary (what) VALUES ('gone ' || old.task_id); END;
         CREATE TRIGGER more AFTER INSERT ON task_claims BEGIN
           UPDATE counters SET n = n + 1; INSERT INTO diary (what) VALUES ('new ' || new.task_id); END;",
    );
    there_and_back(&database, "task-1", 3);
    assert_eq!(row(&database, "SELECT n FROM counters"), [number(1)]);
    assert_eq!(row(&database, "SELECT count(*) FROM diary"), [number(3)]);
}

#[test]
fn a_trigger_that_stamps_every_update_does_not_stamp_the_undo() {
    let database = fast(&format!(
        "{JOBS} CREATE TRIGGER stamp AFTER UPDATE ON executor_jobs BEGIN
           UPDATE executor_jobs SET trace_id = coalesce(trace_id, '') || '+' WHERE id = new.id; END;"
    ));
    database.run(
        "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by)
         VALUES ('job-1', 'run_tsa', 'running', '2026-11-15T11:00:00Z', 'w1')",
        [],
    );
    there_and_back(&database, "job-1", 1);
}

#[test]
fn a_trigger_may_forbid_the_undo() {
    on_both(|| {
        let database = overdue("");
        database.either(
            "CREATE TRIGGER closed BEFORE INSERT ON task_claims WHEN new.task_id = 'task-1'
           BEGIN SELECT RAISE(ABORT, 'closed'); END;",
            &format!(
                "{CLOSED} CREATE TRIGGER closed BEFORE INSERT ON task_claims FOR EACH ROW
               WHEN (new.task_id = 'task-1') EXECUTE FUNCTION closed();"
            ),
        );
        let mut actor = actor(&database);
        let acted = applied(&mut actor, "task-1", Action::Reclaim);
        let before = database.dump();
        assert!(is_moved(&undo(&mut actor, &acted)));
        assert_eq!(database.dump(), before);
    });
}

#[test]
fn a_trigger_may_forbid_the_act() {
    on_both(|| {
        for how in ["ABORT", "ROLLBACK", "FAIL"] {
            let database = overdue_with(
                "",
                &format!(
                    "CREATE TRIGGER closed AFTER DELETE ON task_claims WHEN old.task_id = 'task-1'
                   BEGIN SELECT RAISE({how}, 'closed'); END;"
                ),
                &format!(
                    "{CLOSED} CREATE TRIGGER closed AFTER DELETE ON task_claims FOR EACH ROW
                   WHEN (old.task_id = 'task-1') EXECUTE FUNCTION closed();"
                ),
            );
            let before = database.dump();
            let mut actor = actor(&database);
            let seen = super::look(&mut actor, "task-1");
            let word = claimtop::domain::recovery::Authorization::default();
            let order = claimtop::store::Order {
                action: Action::Reclaim,
                authorization: &word,
                action_id: "a",
                dry_run: false,
            };
            let acted = actor.act(&seen, &order, &mut |_| panic!("a record of nothing"));
            assert!(acted.is_err(), "{acted:?}");
            assert_eq!(database.dump(), before);
            // The actor is as good as before.
            applied(&mut actor, "task-2", Action::Reclaim);
        }
    });
}

#[test]
fn values_that_json_has_no_word_for_survive() {
    let values = [
        "CAST(x'ff41fe00' AS TEXT)",
        "x''",
        "x'00ff80'",
        "9223372036854775807",
        "-9223372036854775808",
        "9007199254740993",
        "0.1",
        "1e308",
        "-0.0",
        "9e999",
        "5e-324",
        "1.0",
        "''",
        "'a' || char(0) || 'b'",
        "'null'",
        "'{\"blob\":\"00\"}'",
        "'\u{1f980} \u{202e} \u{1b}[31m'",
        "NULL",
    ];
    for value in values {
        // A column without affinity keeps every value as it is.
        let database = overdue("ALTER TABLE task_claims ADD COLUMN anything;");
        database.run(&format!("UPDATE task_claims SET anything = {value}, metadata = {value}"), []);
        there_and_back(&database, "task-1", 1);

        let database = fast(&JOBS.replace("last_error text", "last_error"));
        database.run(
            &format!(
                "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, last_error)
                 VALUES ('job-1', 'run_tsa', 'running', '2026-11-15T11:00:00Z', 'w1', {value})"
            ),
            [],
        );
        there_and_back(&database, "job-1", 1);
    }
}

#[test]
fn odd_names_and_generated_columns_survive() {
    on_both(|| {
        let database = overdue_with(
            "ALTER TABLE task_claims ADD COLUMN \"a \"\"b\"\" 'c'\" TEXT;",
            "ALTER TABLE task_claims ADD COLUMN twice GENERATED ALWAYS AS (expires_at * 2) VIRTUAL;",
            "ALTER TABLE task_claims ADD COLUMN twice bigint GENERATED ALWAYS AS (expires_at * 2) STORED;",
        );
        database.run("UPDATE task_claims SET \"a \"\"b\"\" 'c'\" = 'Mixed'", []);
        there_and_back(&database, "task-1", 1);
    });
}

#[test]
fn a_change_of_case_is_a_change_whatever_the_collation() {
    on_both(|| {
        let database = overdue_with(
            "",
            "ALTER TABLE task_claims ADD COLUMN note TEXT COLLATE NOCASE;",
            "CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
         ALTER TABLE task_claims ADD COLUMN note TEXT COLLATE nocase;",
        );
        database.run("UPDATE task_claims SET note = 'abc'", []);
        let mut actor = actor(&database);
        let seen = super::look(&mut actor, "task-1");
        database.run("UPDATE task_claims SET note = 'ABC'", []);
        assert!(is_moved(&super::reclaim(&mut actor, &seen).outcome));
    });
}

#[test]
fn a_column_that_came_since_the_look_counts() {
    on_both(|| {
        let database = overdue("");
        let mut actor = actor(&database);
        let seen = super::look(&mut actor, "task-1");
        database.batch("ALTER TABLE task_claims ADD COLUMN epoch INTEGER DEFAULT 1");
        let before = database.dump();
        let acted = super::reclaim(&mut actor, &seen);
        match engine() {
            Engine::Sqlite => assert!(is_moved(&acted.outcome), "{acted:#?}"),
            // There a new column makes no new version of the row, and whoever looked has not seen it: the
            // claim is taken, and comes back with the column's default.
            Engine::Postgres => assert_eq!(undo(&mut actor, &acted), Outcome::Applied),
        }
        assert_eq!(database.dump(), before);
        there_and_back(&database, "task-1", 1);
    });
}
