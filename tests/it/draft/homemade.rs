//! A table of one's own: from nothing to a job that is reclaimed.

use claimtop::profile::Profile;
use rusqlite::Connection;
use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::support::postgres::PgDatabase;
use crate::support::{command, stderr, stdout};

const JOBS: &str = "
    CREATE TABLE my_jobs (id INTEGER PRIMARY KEY, kind TEXT, status TEXT NOT NULL DEFAULT 'queued', worker TEXT,
      started_at INTEGER, attempts INTEGER NOT NULL DEFAULT 0, payload TEXT);
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, status TEXT, created_at TEXT);
    INSERT INTO users VALUES (1, 'ann', 'active', '2026-01-01 10:00:00');
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
    INSERT INTO my_jobs (kind, status) SELECT 'mail', CASE WHEN i % 3 THEN 'queued' ELSE 'done' END FROM n;
    UPDATE my_jobs SET status = 'running', worker = 'w' || id, started_at = strftime('%s', 'now') - 3600 * (id - 39)
    WHERE id IN (40, 41);";

fn run(arguments: &[&str], database: &Path) -> Output {
    command(arguments).arg(database).output().expect("claimtop runs")
}

fn draft(database: &Path, more: &[&str]) -> String {
    let output = command(&["profile", "draft"]).arg(database).args(more).output().expect("claimtop runs");
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn a_homemade_table_has_a_working_profile_in_a_few_minutes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, profile) = (folder.path().join("jobs.db"), folder.path().join("my_jobs.toml"));
    Connection::open(&database).expect("a file").execute_batch(JOBS).expect("the table");
    let text = draft(&database, &[]);
    fs::write(&profile, &text).expect("written");
    let profile = profile.to_str().expect("UTF-8");
    let checked = run(&["profile", "check", profile], &database);
    assert!(checked.status.success(), "{}", stdout(&checked) + &stderr(&checked));
    let stale = run(&["check", "--profile", profile], &database);
    assert_eq!(stale.status.code(), Some(2), "{}", stdout(&stale) + &stderr(&stale));
    let reclaim = |profile: &str| {
        let mut command = command(&["reclaim", "--profile", profile]);
        command.env("XDG_STATE_HOME", folder.path()).arg(&database).arg("41");
        command.output().expect("claimtop runs")
    };
    let refused = reclaim(profile);
    assert!(!refused.status.success(), "a draft acts only once a person says so: {}", stdout(&refused));
    // What the user does: removes the # in front of one act.
    let (before, acts) = text.split_once("# [claim.reclaim.set]").expect("the suggestion");
    let (act, _) = acts.split_once("#\n").expect("its end");
    let filled = format!("{before}[claim.reclaim.set]{}", act.replace("\n# ", "\n"));
    fs::write(profile, &filled).expect("written");
    let checked = run(&["profile", "check", profile], &database);
    assert!(checked.status.success(), "{}\n{filled}", stdout(&checked) + &stderr(&checked));
    let done = reclaim(profile);
    assert!(done.status.success(), "{}", stdout(&done) + &stderr(&done));
    let row = Connection::open(&database)
        .and_then(|connection| {
            connection.query_row("SELECT status, worker, attempts FROM my_jobs WHERE id = 41", [], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?, row.get::<_, i64>(2)?))
            })
        })
        .expect("the row");
    assert_eq!(row, ("queued".into(), None, 1));
}

/// Columns whose names say nothing: only what happens to them tells what they are.
#[test]
fn watching_tells_holder_heartbeat_and_deadline_where_names_do_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("jobs.db");
    let connection = Connection::open(&path).expect("a file");
    connection
        .execute_batch(
            "PRAGMA journal_mode = wal;
             CREATE TABLE things (id INTEGER PRIMARY KEY, a TEXT, b TEXT, t2 REAL, t1 REAL, t3 REAL, note TEXT);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
             INSERT INTO things (a, note) SELECT 'waiting', 'x' || i FROM n;",
        )
        .expect("the table");
    let (end, ended) = mpsc::channel::<()>();
    let text = thread::scope(|scope| {
        let path = &path;
        scope.spawn(move || work(&connection_to(path), &ended));
        let text = draft(path, &["--watch", "4s"]);
        drop(end);
        text
    });
    let profile = Profile::parse("draft", &text).expect("a profile");
    let board = &profile.boards[0];
    assert_eq!(board.table, "things", "{text}");
    assert_eq!(board.held.as_deref(), Some("c.a = 'busy'"), "{text}");
    assert_eq!(board.holder.as_deref(), Some("b"), "{text}");
    assert_eq!(board.claimed_at.as_ref().map(|time| time.sql()), Some("t1"), "{text}");
    assert_eq!(board.beat_at.as_ref().map(|time| time.sql()), Some("t2"), "{text}");
    assert_eq!(board.deadline.column.as_ref().map(|time| time.sql()), Some("t3"), "{text}");
}

fn connection_to(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("a file");
    connection.busy_timeout(Duration::from_secs(10)).expect("patience");
    connection
}

/// Takes a job, beats for a while and finishes it, again and again, with two more that stay in work.
fn work(connection: &Connection, ended: &mpsc::Receiver<()>) {
    let now = "(julianday('now') - 2440587.5) * 86400.0";
    let mut round = 0;
    while ended.recv_timeout(Duration::from_millis(100)) == Err(mpsc::RecvTimeoutError::Timeout) {
        let (taken, finished) = (round / 4 % 60 + 1, (round + 57 * 4) / 4 % 60 + 1);
        let sql = format!(
            "UPDATE things SET a = 'busy', b = 'w' || id, t1 = {now}, t2 = {now}, t3 = {now} + 300
             WHERE id = {taken} AND a = 'waiting';
             UPDATE things SET t2 = {now}, t3 = {now} + 300 WHERE a = 'busy';
             UPDATE things SET a = 'waiting', b = NULL, t1 = NULL, t2 = NULL, t3 = NULL WHERE id = {finished};"
        );
        connection.execute_batch(&sql).expect("a round");
        round += 1;
    }
}

#[test]
fn hostile_names_and_values_make_a_draft_that_is_still_accepted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("jobs.db");
    let sql = "CREATE TABLE \"odd \"\" 'jobs'\" (\"the id\" INTEGER PRIMARY KEY, \"Status\" TEXT, \"locked by\nx\" TEXT,
                 \"order\" TEXT, locked_at INTEGER);
               INSERT INTO \"odd \"\" 'jobs'\" VALUES
                 (1, 'running', char(27) || ']52;c;aGk=' || char(7) || char(10) || '[claim]', 'it''s', 1794744000),
                 (2, 'it''s \"\"\" ''' || char(10) || 'title = 5', NULL, '#', NULL), (3, 'queued', NULL, NULL, NULL);";
    Connection::open(&path).expect("a file").execute_batch(sql).expect("the table");
    let text = draft(&path, &[]);
    let is_hostile = |c: char| c.is_control() && c != '\n';
    assert!(!text.contains(is_hostile), "{text:?}");
    let profile = folder.path().join("p.toml");
    fs::write(&profile, &text).expect("written");
    let checked = run(&["profile", "check", profile.to_str().expect("UTF-8")], &path);
    assert!(checked.status.success(), "{}\n{text}", stdout(&checked) + &stderr(&checked));
}

#[test]
fn an_empty_table_and_a_database_without_claims_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let (empty, other) = (folder.path().join("empty.db"), folder.path().join("other.db"));
    let tables = "CREATE TABLE tasks (id INTEGER PRIMARY KEY, status TEXT CHECK (status IN ('new', 'working', 'done')), \
                  owner TEXT, lease_until INTEGER)";
    Connection::open(&empty).expect("a file").execute_batch(tables).expect("the table");
    let text = draft(&empty, &[]);
    let profile = Profile::parse("draft", &text).expect("a profile");
    assert_eq!(profile.boards[0].held.as_deref(), Some("c.status = 'working'"), "{text}");
    assert!(text.contains("FILL IN: no row was seen"), "{text}");
    let tables = "CREATE TABLE bookmarks (id INTEGER PRIMARY KEY, url TEXT, title TEXT, last_visit INTEGER)";
    Connection::open(&other).expect("a file").execute_batch(tables).expect("the table");
    let output = run(&["profile", "draft"], &other);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("no table looks like claims"), "{}", stderr(&output));
    let named = draft(&other, &["bookmarks"]);
    assert!(Profile::parse("draft", &named).is_ok(), "{named}");
    let output = command(&["profile", "draft"]).arg(&other).arg("bookmark").output().expect("claimtop runs");
    assert!(stderr(&output).contains("did you mean bookmarks?"), "{}", stderr(&output));
}

#[test]
fn views_and_foreign_tables_are_read_only_if_they_are_named() {
    let database = PgDatabase::new(
        "CREATE FUNCTION boom() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the view was read'; END $$;
         CREATE VIEW job_queue AS SELECT 1 AS id, 'running'::text AS status, boom() AS locked_by, now() AS locked_at;
         CREATE TABLE jobs (id int PRIMARY KEY, status text, locked_by text, locked_at timestamptz);
         INSERT INTO jobs VALUES (1, 'running', 'w1', now()), (2, 'queued', NULL, NULL);",
    );
    let output = database.claimtop(&["profile", "draft"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let profile = Profile::parse("draft", &stdout(&output)).expect("a profile");
    assert_eq!(profile.boards[0].table, "jobs");
    let named = database.command(&["profile", "draft"]).arg("job_queue").output().expect("claimtop runs");
    assert!(stderr(&named).contains("the view was read"), "{}", stdout(&named) + &stderr(&named));
}
