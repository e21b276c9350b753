//! Who may what: the operator's role does every act of the profiles, the watcher's none, by whatever way.

use super::*;
use crate::support::postgres::PgDatabase;
use claimtop::store::Reader;

const FINALIZATION: &str = include_str!("../../../assets/schema/postgres/finalization.sql");
const TASK_QUEUE: &str = include_str!("../../../assets/schema/postgres/task-queue.sql");
const ROLES: &str = include_str!("../../../assets/schema/postgres/roles.sql");
const JOB: &str = "00000000-0000-0000-0000-000000000001";
const DEAD: &str = "00000000-0000-0000-0000-000000000002";
const TASK: &str = "00000000-0000-0000-0000-000000000003";

/// All three systems, a stale claim and where there are such a dead job in each, and a login.
struct Company {
    database: PgDatabase,
    login: String,
}

impl Company {
    fn with(role: &str) -> Company {
        let database = PgDatabase::new("");
        for part in [JOBS, FINALIZATION, TASK_QUEUE, AUDIT, ROLES] {
            database.run(&format!("BEGIN; {part} COMMIT;"));
        }
        database.run(&format!(
            "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, attempts) VALUES
               ('{JOB}', 'run_tsa', 'running', now() - interval '1 hour', 'w', 1),
               ('{DEAD}', 'run_tsa', 'dead', NULL, NULL, 10);
             INSERT INTO tasker_tasks (task_uuid, claimed_by, claimed_at)
               VALUES ('{TASK}', 'p', (now() - interval '1 hour') AT TIME ZONE 'utc');
             INSERT INTO task_types (name) VALUES ('t');
             INSERT INTO worker_heartbeats (worker_id, last_seen_at) VALUES ('w', now() - interval '1 hour');
             INSERT INTO tasks (task_type_id, status, worker_id, claimed_at, attempts)
               VALUES (1, 'claimed', 'w', now() - interval '1 hour', 1), (1, 'failed', NULL, NULL, 3);"
        ));
        let login = format!("claimtop_test_{}", uuid::Uuid::now_v7().simple());
        database.run(&format!("CREATE ROLE {login} LOGIN IN ROLE {role}"));
        Company { database, login }
    }

    fn operator(&self) -> Operator {
        Operator::of(self.database.url_as(&self.login))
    }

    /// Every row but the logs, which only grow, and a stamp.
    fn contents(&self) -> Vec<Vec<Option<String>>> {
        self.database.query(
            "SELECT 'j', (to_jsonb(j) - 'updated_at')::text FROM executor_jobs j
             UNION ALL SELECT 't', (to_jsonb(t) - 'updated_at')::text FROM tasker_tasks t
             UNION ALL SELECT 'k', (to_jsonb(k) - 'updated_at')::text FROM tasks k
             UNION ALL SELECT 'h', h::text FROM worker_heartbeats h ORDER BY 1, 2",
        )
    }
}

impl Drop for Company {
    fn drop(&mut self) {
        // Said, not panicked: the test may be failing already.
        let gone = self.database.attempt(&format!("DROP OWNED BY {0}; DROP ROLE {0}", self.login));
        gone.map_or_else(|refusal| eprintln!("the role stays: {refusal:?}"), drop);
    }
}

/// What an operator does by hand: the words after the source.
const ACTS: [(&str, &[&str]); 11] = [
    ("reclaim", &[JOB]),
    ("release", &[JOB]),
    ("extend", &[JOB]),
    ("requeue", &[DEAD]),
    ("reclaim", &[TASK]),
    ("release", &[TASK]),
    ("extend", &[TASK]),
    ("reclaim", &["task-queue/task/1", "--profile", "task-queue"]),
    ("release", &["task-queue/task/1", "--profile", "task-queue"]),
    ("extend", &["task-queue/task/1", "--profile", "task-queue"]),
    ("requeue", &["task-queue/task/2", "--profile", "task-queue"]),
];

#[test]
fn the_operators_role_does_every_act_and_takes_it_back() {
    let company = Company::with("claimtop_operator");
    let operator = company.operator();
    let before = company.contents();
    for (verb, more) in ACTS {
        let run = operator.run(&[&[verb, "DB", "--json"][..], more].concat());
        let action = run.came_to(0, "applied")["action_id"].as_str().expect("an id").to_owned();
        assert_ne!(company.contents(), before, "{verb} {more:?}");
        operator.run(&["undo", "DB", &action, "--json"]).came_to(0, "applied");
        assert_eq!(company.contents(), before, "{verb} {more:?}");
    }
    let bulk =
        operator.run(&["reclaim", "DB", "--set", "stale,orphaned", "--yes", "--json", "--board", "job"]);
    assert_eq!((bulk.code, bulk.lines().len()), (0, 1 + 1), "{bulk:#?}");
    let session = ["release", "DB", "--session", "w", "--profile", "task-queue", "--yes", "--json"];
    let run = operator.run(&session);
    assert_eq!(run.code, 0, "{run:#?}");
    // An undo has a record as well.
    let records = "SELECT count(*) FROM claimtop_audit";
    let expected = (2 * ACTS.len() + 2).to_string();
    assert_eq!(company.database.value(records), Some(expected));
    operator.trail_is_whole();
}

#[test]
fn the_watchers_role_reads_and_every_act_is_refused_with_a_sentence() {
    let company = Company::with("claimtop_watcher");
    let watcher = company.operator();
    assert_eq!(watcher.run(&["check", "DB"]).code, 2);
    assert_eq!(watcher.run(&["list", "DB", "--json"]).code, 0);
    let before = company.contents();
    for (verb, more) in ACTS {
        for read_only in [&[][..], &["--read-only"]] {
            let run = watcher.run(&[&[verb, "DB", "--json"][..], more, read_only].concat());
            let why = run.came_to(5, "refused")["why"].as_str().expect("why").to_owned();
            assert!(why.len() > 20, "{why}");
        }
    }
    for more in [&["--set", "stale", "--yes"][..], &["--session", "w", "--yes", "--profile", "task-queue"]] {
        let run = watcher.run(&[&["release", "DB", "--json"][..], more].concat());
        assert_eq!(run.code, 5, "{run:#?}");
    }
    let sweep = watcher.run(&["sweep", "--once", "--json", "DB"]);
    assert_ne!(sweep.code, 0, "{sweep:#?}");
    assert_eq!(company.contents(), before);
    watcher.trail_is_whole();
}

/// Ways to write in an expression of a profile. The functions run with their owner's rights: what keeps
/// them from writing is the transaction alone.
const WAYS: [&str; 42] = [
    "own('INSERT INTO task_types (name) VALUES (''x'')')",
    "own('UPDATE executor_jobs SET attempts = 99')",
    "own('UPDATE executor_jobs SET status = ''queued'' WHERE false')",
    "own('DELETE FROM tasks')",
    "own('DELETE FROM claimtop_audit')",
    "own('TRUNCATE tasks CASCADE')",
    "own('DROP TABLE tasks CASCADE')",
    "own('CREATE TABLE y (a int)')",
    "own('CREATE UNLOGGED TABLE y (a int)')",
    "own('CREATE TABLE y AS SELECT 1')",
    "own('SELECT 1 INTO y')",
    "own('ALTER TABLE tasks ADD COLUMN y int')",
    "own('ALTER TABLE tasks DISABLE TRIGGER ALL')",
    "own('CREATE INDEX ON tasks (status)')",
    "own('CREATE FUNCTION y() RETURNS int LANGUAGE sql AS ''SELECT 1''')",
    "own('CREATE ROLE claimtop_y')",
    "own('GRANT ALL ON tasks TO PUBLIC')",
    "own('COMMENT ON TABLE tasks IS ''x''')",
    "own('CREATE SCHEMA y')",
    "own('CREATE SEQUENCE y')",
    "own('CREATE VIEW y AS SELECT 1')",
    "own('REINDEX TABLE tasks')",
    "own('CLUSTER tasks')",
    "own('REFRESH MATERIALIZED VIEW y')",
    "own('LOCK TABLE tasks IN ACCESS EXCLUSIVE MODE')",
    "own('SELECT 1 FROM tasks FOR UPDATE')",
    "own('SELECT 1 FROM tasks FOR KEY SHARE')",
    "own('WITH x AS (DELETE FROM tasks RETURNING 1) SELECT 1 FROM x')",
    "own('COPY task_types (name) FROM PROGRAM ''echo x''')",
    "own('SET TRANSACTION READ WRITE')",
    "own('SET LOCAL transaction_read_only = off')",
    "own('SELECT set_config(''transaction_read_only'', ''off'', false)')",
    "own('SELECT lo_create(4711)')",
    "own('SELECT lo_from_bytea(4712, ''x'')')",
    "own('SELECT nextval(''counter'')')",
    "own('SELECT setval(''counter'', 99)')",
    "own('COMMIT')",
    "own('NOTIFY somebody')",
    "set_config('transaction_read_only', 'off', true)",
    "set_config('session_replication_role', 'replica', false)",
    "(SELECT 'x' FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename <> current_user) AS y LIMIT 1)",
    "CAST(nextval('counter') AS text)",
];

#[test]
fn no_expression_of_a_profile_writes_for_the_watcher() {
    let company = Company::with("claimtop_watcher");
    company.database.run(
        "CREATE FUNCTION own(sql text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS
           'BEGIN EXECUTE sql; RETURN ''x''; END';
         CREATE SEQUENCE counter; GRANT ALL ON SEQUENCE counter TO PUBLIC;",
    );
    let url = company.database.url_as(&company.login);
    let everything = || {
        let more = "SELECT 'c', count(*)::text FROM pg_class UNION ALL SELECT 'p', count(*)::text FROM pg_proc
             UNION ALL SELECT 's', last_value::text || is_called FROM counter
             UNION ALL SELECT 'l', count(*)::text FROM pg_largeobject_metadata
             UNION ALL SELECT 'a', sum(attnum)::text FROM pg_attribute UNION ALL SELECT 'y', count(*)::text FROM task_types
             UNION ALL SELECT 'm', count(*)::text FROM pg_description UNION ALL SELECT 'n', count(*)::text FROM pg_namespace
             UNION ALL SELECT 'r', count(*)::text FROM pg_roles WHERE rolname = 'claimtop_y'
             UNION ALL SELECT 'g', relacl::text FROM pg_class WHERE relname = 'tasks' ORDER BY 1, 2";
        (company.contents(), company.database.query(more))
    };
    let before = everything();
    let bystander = company.database.connect();
    for way in WAYS {
        let profile = format!(
            "title = \"Hostile\"\nabout = \"x\"\n[[claim]]\nname = \"task\"\nrole = \"job\"\ntable = \"tasks\"\nheld = \"c.status = 'claimed'\"
id = \"id\"\nkind = {:?}\nholder = \"worker_id\"\nclaimed_at = \"claimed_at\"\ntime = \"timestamptz\"
deadline = {{ ttl = {{}}, otherwise = \"5m\" }}\nfenced = true\n",
            way
        );
        if let Ok(mut reader) = Reader::open(options(&url, Some(&profile))) {
            // Refused, or answered: nothing else matters here.
            let _ = reader.poll();
            let _ = reader.poll();
        }
        assert_eq!(everything(), before, "{way}");
        assert_eq!(bystander.value("SELECT 1").as_deref(), Some("1"), "{way}");
    }
}
