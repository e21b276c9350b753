//! Databases of other programs, most of them with a table name that some queue uses too.

use super::Tables;
use crate::support::engine::{Engine, engines};
use crate::support::{Database, in_their_words};
use claimtop::reference::System;

const UNRELATED: [(&str, &str); 22] = [
    ("an empty file", ""),
    (
        "a Django site",
        "CREATE TABLE django_migrations (id INTEGER PRIMARY KEY, app TEXT, name TEXT, applied TEXT);
         CREATE TABLE django_session (session_key TEXT PRIMARY KEY, session_data TEXT, expire_date TEXT);
         CREATE TABLE auth_user (id INTEGER PRIMARY KEY, username TEXT, last_login TEXT);",
    ),
    (
        "a Rails application",
        "CREATE TABLE schema_migrations (version varchar PRIMARY KEY);
         CREATE TABLE ar_internal_metadata (key varchar PRIMARY KEY, value varchar);
         CREATE TABLE active_storage_blobs (id INTEGER PRIMARY KEY, key varchar, created_at TEXT);",
    ),
    (
        "a browser's history",
        "CREATE TABLE urls (id INTEGER PRIMARY KEY, url TEXT, title TEXT, visit_count INTEGER, last_visit_time INTEGER);
         CREATE TABLE visits (id INTEGER PRIMARY KEY, url INTEGER, visit_time INTEGER, from_visit INTEGER);",
    ),
    (
        "another browser's history",
        "CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url TEXT, last_visit_date INTEGER);
         CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, fk INTEGER, dateAdded INTEGER);",
    ),
    (
        "job advertisements",
        "CREATE TABLE jobs (id INTEGER PRIMARY KEY, title TEXT, company TEXT, payload TEXT, available_at TEXT);
         CREATE TABLE workers (id INTEGER PRIMARY KEY, name TEXT, last_seen TEXT);",
    ),
    (
        "a homemade queue",
        "CREATE TABLE jobs (id INTEGER PRIMARY KEY, status TEXT, locked_by TEXT, locked_at TEXT, attempts INTEGER);",
    ),
    (
        "a to-do list",
        "CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT, done INTEGER, claimed_at TEXT);
         CREATE TABLE task (id INTEGER PRIMARY KEY, priority INTEGER);",
    ),
    ("a key-value store", "CREATE TABLE kv (key TEXT PRIMARY KEY, value BLOB);"),
    ("a key-value store by queue", "CREATE TABLE kv (queue TEXT, key TEXT, value BLOB, PRIMARY KEY (queue, key));"),
    ("a music player", "CREATE TABLE queue (id INTEGER PRIMARY KEY, track INTEGER, position INTEGER);"),
    ("a print server", "CREATE TABLE Queue (message_id TEXT, status INTEGER, printer TEXT);"),
    ("a door system", "CREATE TABLE locks (resource TEXT, opened_at TEXT); CREATE TABLE sessions (id TEXT);"),
    (
        "a shop",
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT, locked_at TEXT, locked_by TEXT);
         CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT);",
    ),
    (
        "a calendar",
        "CREATE TABLE schedules (id TEXT PRIMARY KEY, task_id TEXT); CREATE TABLE schedule (timestamp INTEGER, data BLOB);
         CREATE TABLE scheduled_tasks (id INTEGER PRIMARY KEY, task_name TEXT, execution_time TEXT);",
    ),
    (
        "dbmate",
        "CREATE TABLE schema_migrations (version TEXT PRIMARY KEY);",
    ),
    (
        "a changelog",
        "CREATE TABLE databasechangelog (id TEXT, author TEXT, filename TEXT, dateexecuted TEXT);",
    ),
    (
        "knex without its lock",
        "CREATE TABLE knex_migrations (id INTEGER PRIMARY KEY, name TEXT, batch INTEGER, migration_time TEXT);",
    ),
    (
        "chat messages",
        "CREATE TABLE messenger_messages (id INTEGER PRIMARY KEY, body TEXT, sent_at TEXT, delivered_at TEXT);",
    ),
    (
        "a test tracker",
        "CREATE TABLE task_instance (id INTEGER PRIMARY KEY, state TEXT, hostname TEXT);
         CREATE TABLE job (id INTEGER PRIMARY KEY, state TEXT, started_on TEXT);",
    ),
    (
        "a results store of Celery without the broker",
        "CREATE TABLE celery_taskmeta (id INTEGER PRIMARY KEY, task_id TEXT, status TEXT, date_done TEXT);",
    ),
    (
        "a spelling of many names",
        "CREATE TABLE delayed_jobs (id INTEGER PRIMARY KEY, flight TEXT); CREATE TABLE river_job (id INTEGER, river TEXT);
         CREATE TABLE shedlock (id INTEGER, shed TEXT); CREATE TABLE good_jobs (id INTEGER, praise TEXT);
         CREATE TABLE saq_jobs (id INTEGER); CREATE TABLE que_jobs (id INTEGER); CREATE TABLE minion_jobs (id INTEGER);",
    ),
];

#[test]
fn a_database_of_another_program_is_not_taken_for_a_queue() {
    for (engine, (what, sql)) in engines().iter().flat_map(|engine| UNRELATED.map(|one| (*engine, one))) {
        let sql = if engine == Engine::Sqlite { sql.to_owned() } else { in_their_words(sql) };
        let tables = Tables::new(engine, &sql);
        assert_eq!(tables.recognised(), Vec::<String>::new(), "{what} on {engine:?}");
    }
}

#[test]
fn the_reference_systems_are_recognised_by_their_own_profiles_alone() {
    for system in System::ALL {
        let database = Database::of(system);
        let found = database.claimtop(&["profile", "detect"]);
        let found = crate::support::stdout(&found);
        let fitting: Vec<&str> = found
            .lines()
            .filter(|line| line.contains("  fits "))
            .filter_map(|line| line.split(' ').next())
            .collect();
        assert_eq!(fitting, [system.as_str()], "{found}");
    }
}
