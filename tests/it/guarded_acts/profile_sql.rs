//! A profile is somebody else's SQL: in an act it changes rows and nothing else.

use crate::support::options::writable;
use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::profile::format::Profile;
use claimtop::store::{Actor, Order, Profiles};

use super::{fast, look, row, text};
use crate::support::engine::{Engine, engine, on_both};
use crate::support::{COORDINATION, Database, SECOND};

fn overdue() -> Database {
    let database =
        fast(&format!("{COORDINATION} CREATE TABLE vault (secret TEXT); INSERT INTO vault VALUES ('s');"));
    database.session("w-1", SECOND);
    database.task("task-1", "w-1", -SECOND);
    database.task("task-2", "w-1", -SECOND);
    database
}

fn profile(reclaim: &str) -> Result<Profile, String> {
    let text = format!(
        "title = \"t\"\n[[claim]]\nname = \"task\"\nrole = \"task\"\ntable = \"task_claims\"\n\
         id = \"task_id\"\nholder = \"session_id\"\ntime = \"unix_ms\"\n\
         deadline = {{ column = \"expires_at\", lease = \"30m\" }}\n[claim.reclaim]\n{reclaim}\n"
    );
    Profile::parse("own", &text).map_err(|error| error.to_string())
}

/// What comes of a reclaim of task-1 by such a profile; an error may come at any stage.
fn attempt(database: &Database, reclaim: &str) -> Result<Outcome, String> {
    let profile = profile(reclaim)?;
    let opened = Actor::open(writable(database.options(Profiles::Named(vec![profile]), |_| {})));
    let mut actor = opened.map_err(|error| error.to_string())?;
    let seen = look(&mut actor, "task-1");
    let word = Authorization::default();
    let order = Order { action: Action::Reclaim, authorization: &word, action_id: "a", dry_run: false };
    actor.act(&seen, &order, &mut |_| Ok(())).map(|acted| acted.outcome).map_err(|error| error.to_string())
}

/// Every row and every name.
fn everything(database: &Database) -> (Vec<String>, Vec<String>) {
    let names = match engine() {
        Engine::Sqlite => "SELECT sql || name FROM sqlite_schema UNION ALL SELECT name FROM pragma_database_list",
        Engine::Postgres => {
            "SELECT oid || relname || relacl::text FROM pg_class UNION ALL SELECT nspname FROM pg_namespace
             UNION ALL SELECT rolname FROM pg_roles UNION ALL SELECT attrelid || attname::text FROM pg_attribute
             UNION ALL SELECT setconfig::text FROM pg_db_role_setting"
        }
    };
    let mut names: Vec<String> = database.rows(names).into_iter().map(|row| format!("{row:?}")).collect();
    names.sort();
    (database.dump(), names)
}

#[test]
fn a_value_may_be_read_from_elsewhere() {
    on_both(|| {
        let database = overdue();
        let outcome = attempt(&database, "set = { metadata = \"(SELECT secret FROM vault)\" }");
        assert_eq!(outcome, Ok(Outcome::Applied));
        let sql = "SELECT metadata FROM task_claims WHERE task_id = 'task-1'";
        assert_eq!(row(&database, sql), [text("s")]);
    });
}

#[test]
fn a_comment_in_a_value_does_not_open_the_guard() {
    on_both(|| {
        let database = overdue();
        let outcome = attempt(&database, "set = { metadata = \"'x' -- why\" }");
        assert_eq!(outcome, Ok(Outcome::Applied));
        let sql = "SELECT string_agg(task_id, ',') FROM task_claims WHERE metadata = 'x'";
        assert_eq!(row(&database, sql), [text("task-1")]);
    });
}

/// Statements that change more than rows, or more than this act.
fn statements(elsewhere: &str) -> Vec<String> {
    let common = [
        "DROP TABLE vault",
        "DROP TABLE IF EXISTS task_claims",
        "ALTER TABLE vault RENAME TO open",
        "ALTER TABLE vault ADD COLUMN x TEXT",
        "CREATE TABLE own (x TEXT)",
        "CREATE TEMP TABLE own (x TEXT)",
        "CREATE VIEW own AS SELECT 1",
        "CREATE INDEX own ON vault(secret)",
        "VACUUM",
        "ANALYZE",
        "REINDEX",
        "COMMIT",
        "ROLLBACK",
        "END",
        "DELETE FROM vault; DROP TABLE vault",
        "/* harmless */ DROP TABLE vault",
        "-- harmless\\nDROP TABLE vault",
        "rubbish",
    ];
    let own: &[&str] = match engine() {
        Engine::Sqlite => &[
            "CREATE TRIGGER own AFTER INSERT ON vault BEGIN DELETE FROM vault; END",
            "CREATE VIRTUAL TABLE own USING fts5(x)",
            "ATTACH '$ELSEWHERE' AS other",
            "DETACH main",
            "VACUUM INTO '$ELSEWHERE'",
            "PRAGMA writable_schema = ON",
            "PRAGMA journal_mode = DELETE",
            "PRAGMA user_version = 7",
            "PRAGMA foreign_keys = OFF",
            "DELETE FROM sqlite_schema",
            "UPDATE sqlite_schema SET sql = ''",
            "INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 2, '')",
            "SELECT load_extension('/nowhere')",
            "RELEASE claimtop",
        ],
        Engine::Postgres => &[
            "TRUNCATE vault",
            "CREATE FUNCTION own() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "CREATE SCHEMA own",
            "CREATE ROLE claimtop_own_role",
            "GRANT ALL ON vault TO PUBLIC",
            "COPY vault TO '$ELSEWHERE'",
            "COPY vault FROM '/etc/hostname'",
            "DO 'BEGIN DELETE FROM vault; END'",
            "LOCK TABLE vault",
            "SET session_replication_role = replica",
            "RESET ALL",
            "PREPARE own AS SELECT 1",
            "LISTEN own",
            "COMMENT ON TABLE vault IS 'own'",
            "SELECT secret INTO own FROM vault",
            "ALTER DATABASE postgres SET work_mem = '1MB'",
            "SAVEPOINT own",
            "RELEASE claimtop_also",
            "ROLLBACK TO claimtop_also",
        ],
    };
    common.iter().chain(own).map(|sql| sql.replace("$ELSEWHERE", elsewhere)).collect()
}

#[test]
fn nothing_but_rows_can_be_changed() {
    on_both(|| {
        let database = overdue();
        let elsewhere = database.beside("elsewhere.db");
        let before = everything(&database);
        for sql in statements(&elsewhere.display().to_string()) {
            for stage in ["also", "before"] {
                let quoted = sql.replace('"', "\\\"");
                let outcome = attempt(&database, &format!("delete = true\n{stage} = [\"{quoted}\"]"));
                assert_ne!(outcome, Ok(Outcome::Applied), "{stage}: {sql}");
                assert_eq!(everything(&database), before, "{stage}: {sql}: {outcome:?}");
            }
        }
        assert!(!elsewhere.exists());
        if engine() == Engine::Sqlite {
            let version = database.connection.pragma_query_value(None, "user_version", |row| row.get(0));
            assert_eq!(version, Ok(0));
        }
    });
}

#[test]
fn a_value_that_breaks_out_of_its_statement_takes_nothing() {
    on_both(|| {
        let database = overdue();
        let before = everything(&database);
        for value in [
            "1) WHERE true --",
            "1) WHERE 1 --",
            "1); DROP TABLE vault; --",
            "1\\n) WHERE 1 OR (1",
            "load_extension('x')",
        ] {
            let outcome = attempt(&database, &format!("set = {{ metadata = \"{value}\" }}"));
            assert_ne!(outcome, Ok(Outcome::Applied), "{value}");
            assert_eq!(everything(&database), before, "{value}");
        }
    });
}
