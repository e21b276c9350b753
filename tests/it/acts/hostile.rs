//! A profile is somebody else's SQL: in an act it changes rows and nothing else.

use claimtop::domain::recovery::{Action, Outcome, Word};
use claimtop::profile::format::Profile;
use claimtop::store::{Actor, Order, Profiles};

use super::{fast, look, options, row, text};
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
    let opened = Actor::open(options(database, Profiles::Named(vec![profile])));
    let mut actor = opened.map_err(|error| error.to_string())?;
    let seen = look(&mut actor, "task-1");
    let word = Word::default();
    let order = Order { action: Action::Reclaim, word: &word, action_id: "a", dry_run: false };
    actor.act(&seen, &order, &mut |_| Ok(())).map(|acted| acted.outcome).map_err(|error| error.to_string())
}

fn everything(database: &Database) -> (Vec<String>, Vec<rusqlite::types::Value>) {
    let schema =
        "SELECT group_concat(sql), (SELECT group_concat(name) FROM pragma_database_list) FROM sqlite_schema";
    (database.dump(), row(database, schema))
}

#[test]
fn a_value_may_be_read_from_elsewhere() {
    let database = overdue();
    let outcome = attempt(&database, "set = { metadata = \"(SELECT secret FROM vault)\" }");
    assert_eq!(outcome, Ok(Outcome::Applied));
    let sql = "SELECT metadata FROM task_claims WHERE task_id = 'task-1'";
    assert_eq!(row(&database, sql), [text("s")]);
}

#[test]
fn a_comment_in_a_value_does_not_open_the_guard() {
    let database = overdue();
    let outcome = attempt(&database, "set = { metadata = \"'x' -- why\" }");
    assert_eq!(outcome, Ok(Outcome::Applied));
    let sql = "SELECT group_concat(task_id) FROM task_claims WHERE metadata = 'x'";
    assert_eq!(row(&database, sql), [text("task-1")]);
}

#[test]
fn nothing_but_rows_can_be_changed() {
    let database = overdue();
    let elsewhere = database.beside("elsewhere.db");
    let elsewhere = elsewhere.display();
    let before = everything(&database);
    let statements = [
        "DROP TABLE vault".to_owned(),
        "DROP TABLE IF EXISTS task_claims".into(),
        "ALTER TABLE vault RENAME TO open".into(),
        "ALTER TABLE vault ADD COLUMN x".into(),
        "CREATE TABLE own (x)".into(),
        "CREATE TEMP TABLE own (x)".into(),
        "CREATE TRIGGER own AFTER INSERT ON vault BEGIN DELETE FROM vault; END".into(),
        "CREATE VIEW own AS SELECT 1".into(),
        "CREATE INDEX own ON vault(secret)".into(),
        "CREATE VIRTUAL TABLE own USING fts5(x)".into(),
        format!("ATTACH '{elsewhere}' AS other"),
        "DETACH main".into(),
        format!("VACUUM INTO '{elsewhere}'"),
        "VACUUM".into(),
        "PRAGMA writable_schema = ON".into(),
        "PRAGMA journal_mode = DELETE".into(),
        "PRAGMA user_version = 7".into(),
        "PRAGMA foreign_keys = OFF".into(),
        "DELETE FROM sqlite_schema".into(),
        "UPDATE sqlite_schema SET sql = ''".into(),
        "INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 2, '')".into(),
        "ANALYZE".into(),
        "REINDEX".into(),
        "SELECT load_extension('/nowhere')".into(),
        "COMMIT".into(),
        "ROLLBACK".into(),
        "RELEASE claimtop".into(),
        "DELETE FROM vault; DROP TABLE vault".into(),
        "rubbish".into(),
    ];
    for sql in statements {
        for stage in ["also", "before"] {
            let quoted = sql.replace('"', "\\\"");
            let outcome = attempt(&database, &format!("delete = true\n{stage} = [\"{quoted}\"]"));
            assert_ne!(outcome, Ok(Outcome::Applied), "{stage}: {sql}");
            assert_eq!(everything(&database), before, "{stage}: {sql}: {outcome:?}");
        }
    }
    assert!(!database.beside("elsewhere.db").exists());
    let version: i64 =
        database.connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 0);
}

#[test]
fn a_value_that_breaks_out_of_its_statement_takes_nothing() {
    let database = overdue();
    let before = everything(&database);
    for value in ["1) WHERE 1 --", "1); DROP TABLE vault; --", "1\\n) WHERE 1 OR (1", "load_extension('x')"] {
        let outcome = attempt(&database, &format!("set = {{ metadata = \"{value}\" }}"));
        assert_ne!(outcome, Ok(Outcome::Applied), "{value}");
        assert_eq!(everything(&database), before, "{value}");
    }
}
