//! The operator's role can do every act of the profiles, and nothing beside it.

use super::watcher::{contents, fleet, session_as};
use super::{AUDIT, ROLES, all, database};
use std::collections::BTreeMap;

/// The `set` tables of every act in the profiles of the three systems: (table, column, expression).
fn acts() -> Vec<(String, String, toml::Table)> {
    let profiles = [
        include_str!("../../../assets/profiles/executor-jobs.toml"),
        include_str!("../../../assets/profiles/finalization.toml"),
        include_str!("../../../assets/profiles/task-queue.toml"),
    ];
    let mut found = Vec::new();
    for profile in profiles {
        let profile: toml::Table = profile.parse().unwrap();
        for claim in profile["claim"].as_array().unwrap() {
            let table = claim["table"].as_str().unwrap();
            for act in ["reclaim", "release", "extend", "requeue"] {
                if let Some(set) = claim.get(act).and_then(|act| act.get("set")) {
                    found.push((table.into(), act.into(), set.as_table().unwrap().clone()));
                }
            }
        }
    }
    assert!(found.len() >= 11, "{found:?}");
    found
}

/// The lease relative of task-queue, as its own code makes it.
const LEASES: &str = "
    CREATE TABLE task_queue (id serial PRIMARY KEY, type text, payload text, status text, attempts int,
      max_attempts int, locked_by text, lease_until_utc timestamp, reserved_at_utc timestamp,
      finished_at_utc timestamp, priority int, error_message text);
    CREATE TABLE workers (worker_id text PRIMARY KEY, capabilities text, heartbeat_utc timestamp);
    INSERT INTO task_queue (status, locked_by) VALUES ('leased', 'w');
    INSERT INTO workers VALUES ('w', '{}', now());";

#[test]
fn the_operator_may_set_what_the_profiles_acts_set_and_no_other_column() {
    let database = fleet();
    database.run(LEASES);
    database.run(ROLES);
    let mut touched: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (table, act, set) in acts() {
        let columns: Vec<String> = set.keys().cloned().collect();
        let assignments: Vec<String> = columns.iter().map(|column| format!("{column} = {column}")).collect();
        let operator = session_as(&database, "claimtop_operator");
        operator.run(&format!("UPDATE {table} SET {}", assignments.join(", ")));
        assert!(!columns.is_empty(), "{table} {act}");
        touched.entry(table).or_default().extend(columns);
    }
    touched.insert("worker_heartbeats".into(), vec!["id".into()]);
    touched.insert("workers".into(), vec!["capabilities".into()]);
    let columns = "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
         WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND a.attnum > 0
           AND has_column_privilege('claimtop_operator', c.oid, a.attnum, 'UPDATE')";
    for row in database.query(columns) {
        let (table, column) = (row[0].clone().unwrap(), row[1].clone().unwrap());
        assert!(touched[&table].contains(&column), "the operator may set {table}.{column}");
    }
}

#[test]
fn the_operator_locks_the_registry_row_but_cannot_forge_a_heartbeat() {
    let database = fleet();
    let operator = session_as(&database, "claimtop_operator");
    let lock = "SELECT last_seen_at FROM worker_heartbeats WHERE worker_id = 'w' FOR SHARE NOWAIT";
    assert_eq!(operator.query(lock).len(), 1);
    let ways = [
        "UPDATE worker_heartbeats SET id = 7",
        "UPDATE worker_heartbeats SET last_seen_at = now()",
        "UPDATE worker_heartbeats SET metadata = '{}'",
        "UPDATE worker_heartbeats SET status = 'stale'",
        "UPDATE worker_heartbeats SET worker_id = 'x'",
        "DELETE FROM worker_heartbeats",
    ];
    for way in ways {
        operator.attempt(way).expect_err(way);
    }
}

#[test]
fn the_operator_writes_the_logs_and_the_trail_and_never_changes_them() {
    let database = fleet();
    let operator = session_as(&database, "claimtop_operator");
    operator.run(
        "BEGIN;
         UPDATE tasks SET status = 'pending', worker_id = NULL, claimed_at = NULL, updated_at = now() WHERE id = 1;
         INSERT INTO task_logs (task_id, event, worker_id, message, created_at)
           VALUES (1, 'requeued', 'w', 'silent', now());
         INSERT INTO claimtop_audit (action_id, at, record) VALUES ('x', 'now', '{}');
         SELECT 1 FROM claimtop_audit WHERE action_id = 'x';
         COMMIT",
    );
    assert_eq!(all(&database, "SELECT event FROM task_logs ORDER BY id"), ["claimed", "requeued"]);
    let before = contents(&database);
    let ways = [
        "UPDATE claimtop_audit SET record = 'x'",
        "DELETE FROM claimtop_audit",
        "TRUNCATE claimtop_audit",
        "ALTER TABLE claimtop_audit DISABLE TRIGGER ALL",
        "DROP TRIGGER claimtop_audit_stays ON claimtop_audit",
        "CREATE OR REPLACE FUNCTION claimtop_audit_stays() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "SET session_replication_role = replica",
        "INSERT INTO claimtop_audit VALUES ('x', '', '') ON CONFLICT (action_id) DO UPDATE SET record = ''",
        "UPDATE task_logs SET message = 'x'",
        "DELETE FROM task_logs",
        "INSERT INTO task_logs (id, task_id, event) VALUES (99, 1, 'requeued')",
        "DELETE FROM executor_jobs",
        "DELETE FROM tasks",
        "DELETE FROM tasker_tasks",
        "INSERT INTO executor_jobs (type) VALUES ('x')",
        "INSERT INTO tasks (task_type_id) VALUES (1)",
        "TRUNCATE tasks",
        "UPDATE executor_jobs SET payload = '{}'",
        "UPDATE executor_jobs SET id = gen_random_uuid()",
        "UPDATE tasks SET params = '{}'",
        "UPDATE tasker_tasks SET complete = true",
        "SELECT 1 FROM executor_job_runs",
        "ALTER TABLE tasks ADD COLUMN x int",
    ];
    for way in ways {
        let refusal = session_as(&database, "claimtop_operator").attempt(way).expect_err(way);
        assert_eq!(refusal.code.as_deref(), Some("42501"), "{way}: {refusal:?}");
        assert_eq!(contents(&database), before, "{way}");
    }
}

#[test]
fn a_serial_column_of_the_logs_gets_the_right_to_its_sequence() {
    let database = database(&[AUDIT]);
    database.run(
        "CREATE TABLE task_logs (id serial PRIMARY KEY, task_id int, event text, created_at timestamptz)",
    );
    database.run(ROLES);
    session_as(&database, "claimtop_operator")
        .run("INSERT INTO task_logs (task_id, event) VALUES (1, 'requeued')");
    assert_eq!(all(&database, "SELECT count(*) FROM task_logs"), ["1"]);
}
