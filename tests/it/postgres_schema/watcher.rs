//! The watcher's role reads what the profiles read and changes nothing.

use super::{AUDIT, EXECUTOR_JOBS, FINALIZATION, ROLES, TASK_QUEUE, all, database};
use crate::support::postgres::{PgDatabase, Session};

/// All systems with a row in every table, and the roles.
pub(super) fn fleet() -> PgDatabase {
    let database = database(&[EXECUTOR_JOBS, FINALIZATION, TASK_QUEUE, AUDIT, ROLES]);
    database.run(
        "INSERT INTO executor_jobs (type, status, locked_at, locked_by)
           VALUES ('run_tsa', 'running', now() - interval '1 hour', 'w');
         INSERT INTO executor_job_runs (job_id, status, attempt, started_at)
           SELECT id, 'started', 1, now() FROM executor_jobs;
         INSERT INTO tasker_tasks (claimed_by, claimed_at) VALUES ('p', now() AT TIME ZONE 'utc');
         INSERT INTO tasker_workflow_steps (task_uuid, state) SELECT task_uuid, 'completed' FROM tasker_tasks;
         INSERT INTO tasker_finalization_attempts (task_uuid, processor_id, claimed)
           SELECT task_uuid, 'p', true FROM tasker_tasks;
         INSERT INTO task_types (name) VALUES ('t');
         INSERT INTO tasks (task_type_id, status, worker_id, claimed_at) VALUES (1, 'claimed', 'w', now());
         INSERT INTO task_logs (task_id, event) VALUES (1, 'claimed');
         INSERT INTO worker_heartbeats (worker_id, metadata) VALUES ('w', '{\"pid\": 1}');
         INSERT INTO claimtop_audit VALUES ('a', 'b', 'c');",
    );
    database
}

/// A session with nothing but this role's rights.
pub(super) fn session_as(database: &PgDatabase, role: &str) -> Session {
    let session = database.connect();
    session.run(&format!("SET SESSION AUTHORIZATION {role}"));
    session
}

/// Everything in the fleet's tables, for a comparison before and after.
pub(super) fn contents(database: &PgDatabase) -> Vec<String> {
    let mut rows = all(
        database,
        "SELECT 'j', j::text FROM executor_jobs j UNION ALL SELECT 'r', r::text FROM executor_job_runs r
         UNION ALL SELECT 't', t::text FROM tasker_tasks t UNION ALL SELECT 's', s::text FROM tasker_workflow_steps s
         UNION ALL SELECT 'a', a::text FROM tasker_finalization_attempts a
         UNION ALL SELECT 'y', y::text FROM task_types y UNION ALL SELECT 'k', k::text FROM tasks k
         UNION ALL SELECT 'l', l::text FROM task_logs l UNION ALL SELECT 'h', h::text FROM worker_heartbeats h
         UNION ALL SELECT 'c', c::text FROM claimtop_audit c
         UNION ALL SELECT 'o', count(*)::text FROM pg_class UNION ALL SELECT 'f', count(*)::text FROM pg_proc",
    );
    rows.sort();
    rows
}

#[test]
fn the_watcher_reads_what_the_profiles_read() {
    let database = fleet();
    let watcher = session_as(&database, "claimtop_watcher");
    let tables = [
        "executor_jobs",
        "tasker_tasks",
        "tasker_finalization_attempts",
        "tasks",
        "task_types",
        "task_logs",
        "worker_heartbeats",
    ];
    for table in tables {
        assert_eq!(watcher.query(&format!("SELECT xmin, * FROM {table}")).len(), 1, "{table}");
    }
    for table in ["claimtop_audit", "executor_job_runs", "tasker_workflow_steps"] {
        let refusal = watcher.attempt(&format!("SELECT 1 FROM {table}")).expect_err(table);
        assert_eq!(refusal.code.as_deref(), Some("42501"), "{table}");
    }
}

#[test]
fn none_of_many_ways_to_write_works_for_the_watcher() {
    const WAYS: [&str; 48] = [
        "UPDATE executor_jobs SET status = 'queued'",
        "UPDATE executor_jobs SET heartbeat_at = now()",
        "UPDATE ONLY executor_jobs SET status = status WHERE false",
        "UPDATE tasker_tasks SET claimed_by = NULL",
        "UPDATE tasks SET status = 'pending'",
        "UPDATE worker_heartbeats SET id = DEFAULT",
        "UPDATE worker_heartbeats SET last_seen_at = now()",
        "UPDATE task_types SET is_active = false",
        "UPDATE task_logs SET message = 'x'",
        "UPDATE claimtop_audit SET record = 'x'",
        "DELETE FROM executor_jobs",
        "DELETE FROM tasker_tasks",
        "DELETE FROM tasks",
        "DELETE FROM task_logs",
        "DELETE FROM worker_heartbeats",
        "DELETE FROM claimtop_audit",
        "INSERT INTO executor_jobs (type) VALUES ('x')",
        "INSERT INTO tasker_tasks DEFAULT VALUES",
        "INSERT INTO tasks (task_type_id) VALUES (1)",
        "INSERT INTO task_logs (task_id, event) VALUES (1, 'requeued')",
        "INSERT INTO worker_heartbeats (worker_id) VALUES ('x')",
        "INSERT INTO claimtop_audit VALUES ('x', 'x', 'x')",
        "INSERT INTO task_types (name) VALUES ('t') ON CONFLICT DO NOTHING",
        "TRUNCATE executor_jobs CASCADE",
        "TRUNCATE task_logs RESTART IDENTITY",
        "SELECT 1 FROM executor_jobs FOR UPDATE",
        "SELECT 1 FROM tasks FOR NO KEY UPDATE",
        "SELECT 1 FROM worker_heartbeats FOR SHARE",
        "SELECT 1 FROM tasker_tasks FOR KEY SHARE",
        "BEGIN; LOCK TABLE executor_jobs IN ACCESS EXCLUSIVE MODE",
        "BEGIN; LOCK TABLE tasks IN ROW EXCLUSIVE MODE",
        "WITH gone AS (DELETE FROM tasks RETURNING 1) SELECT count(*) FROM gone",
        "MERGE INTO tasks t USING (VALUES (1)) v(id) ON t.id = v.id WHEN MATCHED THEN DELETE",
        "COPY task_logs FROM '/etc/hostname'",
        "COPY task_logs FROM PROGRAM 'echo 1'",
        "SELECT reclaim_stale_jobs()",
        "SELECT update_job_heartbeat(id, 'w') FROM executor_jobs",
        "SELECT release_finalization_claim(task_uuid, 'p') FROM tasker_tasks",
        "SELECT claim_task_for_finalization(task_uuid, 'p') FROM tasker_tasks",
        "SELECT extend_finalization_claim(task_uuid, 'p') FROM tasker_tasks",
        "SELECT claim_executor_job('me')",
        "SELECT nextval(pg_get_serial_sequence('task_logs', 'id'))",
        "ALTER TABLE tasks ADD COLUMN x int",
        "DROP TABLE task_logs",
        "CREATE INDEX ON tasks (priority)",
        "GRANT UPDATE ON tasks TO claimtop_watcher; UPDATE tasks SET status = 'pending'",
        "SET ROLE claimtop_operator",
        "BEGIN READ WRITE; DO $$ BEGIN UPDATE tasks SET status = 'pending'; END $$; COMMIT",
    ];
    let database = fleet();
    let before = contents(&database);
    for way in WAYS {
        let refusal = session_as(&database, "claimtop_watcher").attempt(way).expect_err(way);
        assert_eq!(refusal.code.as_deref(), Some("42501"), "{way}: {refusal:?}");
        assert_eq!(contents(&database), before, "{way}");
    }
}

#[test]
fn the_roles_cannot_log_in_and_own_nothing() {
    let database = fleet();
    let roles =
        "SELECT rolname, rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication
                 FROM pg_roles WHERE rolname IN ('claimtop_watcher', 'claimtop_operator') ORDER BY 1";
    assert_eq!(all(&database, roles), ["claimtop_operator|f|f|f|f|f|f", "claimtop_watcher|f|f|f|f|f|f"]);
}

#[test]
fn the_roles_file_skips_what_is_absent_and_may_come_before_the_tables() {
    let database = database(&[ROLES, EXECUTOR_JOBS]);
    let may = "SELECT has_table_privilege('claimtop_watcher', 'executor_jobs', 'SELECT')";
    assert_eq!(database.value(may).as_deref(), Some("f"));
    database.run("GRANT UPDATE (payload), DELETE ON executor_jobs TO claimtop_watcher");
    database.run(ROLES);
    assert_eq!(database.value(may).as_deref(), Some("t"));
    let more = "SELECT has_table_privilege('claimtop_watcher', 'executor_jobs', 'DELETE'),
                  has_column_privilege('claimtop_watcher', 'executor_jobs', 'payload', 'UPDATE')";
    assert_eq!(all(&database, more), ["f|f"], "what was given besides is taken back");
}
