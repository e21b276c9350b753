//! No act without its record.

use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::domain::value::Value;
use claimtop::store::{Acted, Actor, Order, Pending};
use serde_json::Value as Json;

use super::systems_more::TASKS;
use super::{actor, fast, is_refused, look, number, row};
use crate::support::engine::{Engine, engine, on_both};
use crate::support::{COORDINATION, Database, MINUTE, SECOND};

fn overdue() -> Database {
    let database = fast(COORDINATION);
    database.session("w-1", SECOND);
    database.task("task-1", "w-1", -SECOND);
    database.task("healthy", "w-1", 20 * MINUTE);
    database
}

fn ordered(
    actor: &mut Actor,
    id: &str,
    action_id: &str,
    record: &mut dyn FnMut(&Pending<'_>) -> Result<(), String>,
) -> Acted {
    let seen = look(actor, id);
    let word = Authorization { reason: Some("because".into()), ..Authorization::default() };
    let order = Order { action: Action::Reclaim, authorization: &word, action_id, dry_run: false };
    actor.act(&seen, &order, record).expect("an act")
}

/// The table as the program itself declares it.
fn with_audit_table() -> Database {
    let database = overdue();
    let source = include_str!("../../../src/store/sqlite/audit_table.rs");
    let sql = source.split("const CREATE: &str = \"").nth(1).and_then(|rest| rest.split("\";").next());
    database.either(sql.expect("the statements"), include_str!("../../../assets/schema/postgres/audit.sql"));
    database
}

/// A statement of somebody who wants to change what is on record, and how it is refused.
fn attempt(database: &Database, sql: &str) -> Result<(), String> {
    match database.server() {
        Some(server) => server.attempt(sql).map(drop).map_err(|refusal| refusal.message),
        None => database.connection.execute(sql, []).map(drop).map_err(|error| error.to_string()),
    }
}

#[test]
fn what_cannot_be_recorded_is_not_done() {
    on_both(|| {
        for database in [overdue(), with_audit_table()] {
            let before = database.dump();
            let mut actor = actor(&database);
            let acted = ordered(&mut actor, "task-1", "id-1", &mut |_| Err("disk full".into()));
            assert!(
                matches!(&acted.outcome, Outcome::Refused(why) if why.to_string().contains("disk full")),
                "{acted:?}"
            );
            assert!(acted.changes.is_empty());
            assert_eq!(database.dump(), before);
        }
    });
}

#[test]
fn the_record_is_written_before_anybody_sees_the_act() {
    on_both(|| {
        let database = overdue();
        let before = database.dump();
        let mut calls = 0;
        let mut actor = actor(&database);
        let acted = ordered(&mut actor, "task-1", "id-1", &mut |pending| {
            calls += 1;
            assert_eq!(database.dump(), before, "seen before it was recorded");
            // And nobody can come between the record and the act.
            let others = "DELETE FROM task_claims";
            let kept_out = match database.server() {
                Some(server) => {
                    server.connect().attempt(&format!("SET lock_timeout = '1ms'; {others}")).is_err()
                }
                None => {
                    database.connection.busy_timeout(std::time::Duration::ZERO).expect("no patience");
                    database.connection.execute(others, []).is_err()
                }
            };
            assert!(kept_out, "somebody came between");
            assert_eq!(pending.address, "coordination/task/task-1");
            let board = &pending.seen.place.board;
            assert_eq!((board.profile(), board.board()), ("coordination", "task"));
            let [change] = pending.changes else { panic!("one row") };
            let before = change.before.as_ref().expect("an image");
            assert_eq!(before.get("task_id"), Some(&Value::Text("task-1".into())));
            assert_eq!(change.after, None);
            Ok(())
        });
        assert_eq!((acted.outcome, calls), (Outcome::Applied, 1));
        assert_ne!(database.dump(), before);
    });
}

#[test]
fn an_act_that_does_not_happen_leaves_no_record() {
    on_both(|| {
        let database = with_audit_table();
        let mut actor = actor(&database);
        let refused = ordered(&mut actor, "healthy", "id-1", &mut |_| panic!("a record of nothing"));
        assert!(is_refused(&refused.outcome));
        let seen = look(&mut actor, "task-1");
        database.run("UPDATE task_claims SET metadata = 'x'", []);
        let word = Authorization::default();
        let order =
            Order { action: Action::Reclaim, authorization: &word, action_id: "id-2", dry_run: false };
        let moved = actor.act(&seen, &order, &mut |_| panic!("a record of nothing")).unwrap();
        assert!(super::is_moved(&moved.outcome));
        assert_eq!(row(&database, "SELECT count(*) FROM claimtop_audit"), [number(0)]);
    });
}

#[test]
fn the_table_of_the_database_has_the_record_too() {
    on_both(|| {
        let database = with_audit_table();
        let mut actor = actor(&database);
        assert_eq!(ordered(&mut actor, "task-1", "id-1", &mut |_| Ok(())).outcome, Outcome::Applied);
        assert_eq!(database.texts("SELECT action_id FROM claimtop_audit"), ["id-1"]);
        let record: Json = serde_json::from_str(&database.text("SELECT record FROM claimtop_audit")).unwrap();
        let told = |name: &str| record[name].as_str().unwrap_or_else(|| panic!("no {name} in {record:#}"));
        assert_eq!(
            ["action", "address", "reason"].map(told),
            ["reclaim", "coordination/task/task-1", "because"]
        );
        assert_eq!(record["before"][0]["row"]["session_id"], "w-1");

        for sql in [
            "UPDATE claimtop_audit SET record = ''",
            "UPDATE claimtop_audit SET action_id = 'id-2'",
            "DELETE FROM claimtop_audit",
            "DELETE FROM claimtop_audit WHERE action_id = 'id-1'",
        ] {
            let refusal = attempt(&database, sql).expect_err(sql);
            assert!(refusal.contains("append-only"), "{refusal}");
        }
        // Replacing a row deletes it without asking the triggers, unless they are told to be recursive.
        let replaced = match engine() {
            Engine::Sqlite => "INSERT OR REPLACE INTO claimtop_audit VALUES ('id-1', '', '')",
            Engine::Postgres => {
                "INSERT INTO claimtop_audit VALUES ('id-1', '', '')
                 ON CONFLICT (action_id) DO UPDATE SET record = ''"
            }
        };
        attempt(&database, replaced).expect_err("a record was replaced");
        assert_eq!(row(&database, "SELECT count(*) FROM claimtop_audit WHERE record <> ''"), [number(1)]);
    });
}

#[test]
fn an_action_id_is_used_once() {
    on_both(|| {
        let database = with_audit_table();
        database.task("task-2", "w-1", -SECOND);
        let mut actor = actor(&database);
        assert_eq!(ordered(&mut actor, "task-1", "id-1", &mut |_| Ok(())).outcome, Outcome::Applied);
        let before = database.dump();
        let seen = look(&mut actor, "task-2");
        let word = Authorization::default();
        let order =
            Order { action: Action::Reclaim, authorization: &word, action_id: "id-1", dry_run: false };
        let again = actor.act(&seen, &order, &mut |_| Ok(()));
        assert!(!matches!(&again, Ok(acted) if acted.outcome == Outcome::Applied), "{again:?}");
        assert_eq!(database.dump(), before);
    });
}

#[test]
fn a_record_of_an_act_with_a_log_tells_of_both_rows() {
    on_both(|| {
        let database = fast(TASKS);
        database.run(
            "INSERT INTO tasks (id, task_type_id, status, worker_id, claimed_at)
         VALUES (7, 1, 'claimed', 'w1', '2026-11-15 11:50:00')",
            [],
        );
        let mut tables = Vec::new();
        let mut actor = actor(&database);
        ordered(&mut actor, "7", "id-1", &mut |pending| {
            tables = pending.changes.iter().map(|change| change.table.clone()).collect();
            tables.sort();
            Ok(())
        });
        assert_eq!(tables, ["task_logs", "tasks"]);
        assert!(database.text("SELECT message FROM task_logs").contains("because"));
    });
}
