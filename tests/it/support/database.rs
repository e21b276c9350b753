//! A database for one test, on whichever engine it is run.

use claimtop::reference::System;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params};
use serde_json::Value as Json;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

use super::asking;
use super::engine::{Engine, Layout, engine, layout};
use super::postgres::{PgDatabase, Rows};
use super::spares;
use super::{MINUTE, NOW, SECOND, command};

/// SQLite's words for what PostgreSQL calls otherwise.
const WORDS: [(&str, &str); 8] = [
    (" AUTOINCREMENT", ""),
    ("INTEGER PRIMARY KEY", "BIGSERIAL PRIMARY KEY"),
    ("INTEGER", "BIGINT"),
    ("DATETIME", "TIMESTAMP"),
    (" BLOB", " BYTEA"),
    (" REAL", " DOUBLE PRECISION"),
    ("json_extract(compatibility, '$.region')) VIRTUAL", "compatibility::json ->> 'region') STORED"),
    // Tests call rows by words.
    (" uuid ", " text "),
];

/// A database of its own, gone at the end of the test: a file in a folder of its own, or one on the
/// server.
pub struct Database {
    folder: TempDir,
    pub connection: File,
    server: Option<PgDatabase>,
}

/// The file. Beside a server it is a sketch that fills values into statements, and nobody may ask it.
pub struct File {
    connection: Connection,
    is_sketch: bool,
}

impl Database {
    /// With these tables, in SQLite's words.
    pub fn new(schema: &str) -> Database {
        Database::with(schema, &in_their_words(schema))
    }

    /// With the tables that `init` makes.
    pub fn of(system: System) -> Database {
        let translated = in_their_words(system.sqlite());
        Database::with(system.sqlite(), system.postgres().unwrap_or(&translated))
    }

    /// With tables that differ from engine to engine in more than words.
    pub fn with(sqlite: &str, postgres: &str) -> Database {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let connection = Connection::open(folder.path().join("tasks.db")).expect("a database");
        connection.pragma_update(None, "journal_mode", "WAL").expect("WAL mode");
        match layout() {
            Layout::Rowids => connection.execute_batch(sqlite).expect("the schema"),
            Layout::Keys => without_rowids(&connection, sqlite),
        }
        let server = (engine() == Engine::Postgres).then(|| {
            let server = spares::take();
            // Times without a zone are meant in UTC, wherever the server is.
            server.run("SET timezone = 'UTC'");
            server.run(postgres);
            server
        });
        Database { folder, connection: File { connection, is_sketch: server.is_some() }, server }
    }

    /// Where it is on a server.
    pub fn server(&self) -> Option<&PgDatabase> {
        self.server.as_ref()
    }

    #[track_caller]
    pub fn path(&self) -> PathBuf {
        assert!(self.server.is_none(), "a database on a server has no path: ask for its source");
        self.folder.path().join("tasks.db")
    }

    /// What the program is told. On a busy machine a server may take its time.
    pub fn source(&self) -> String {
        match &self.server {
            Some(server) => format!("{}?connect_timeout=60", server.url()),
            None => self.path().to_str().expect("UTF-8").to_owned(),
        }
    }

    /// The folder of the test's own files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file for something else, beside the database.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A statement with its values.
    #[track_caller]
    pub fn run(&self, sql: &str, values: impl Params) {
        let mut statement = self.connection.connection.prepare(sql).expect(sql);
        let done = statement.execute(values);
        match &self.server {
            // The sketch has put the values in; what became of its own rows does not matter.
            Some(server) => server.run(&statement.expanded_sql().expect(sql)),
            None => drop(done.expect(sql)),
        }
    }

    /// Statements without values, in SQLite's words where the engines differ in words only.
    #[track_caller]
    pub fn batch(&self, sql: &str) {
        let done = self.connection.connection.execute_batch(sql);
        match &self.server {
            Some(server) => server.run(&in_their_words(sql)),
            None => done.expect(sql),
        }
    }

    /// Statements that the engines have no common words for.
    #[track_caller]
    pub fn either(&self, sqlite: &str, postgres: &str) {
        let done = self.connection.connection.execute_batch(sqlite);
        match &self.server {
            Some(server) => server.run(postgres),
            None => done.expect(sqlite),
        }
    }

    /// Statements that the database itself refuses to those who keep its foreign keys.
    pub fn without_foreign_keys(&self, sql: &str) {
        let sqlite = format!("PRAGMA foreign_keys = OFF; {sql};");
        let postgres =
            format!("SET session_replication_role = replica; {sql}; RESET session_replication_role");
        self.either(&sqlite, &postgres);
    }

    /// All of these, or none.
    pub fn at_once(&self, statements: impl FnOnce()) {
        self.batch("BEGIN");
        statements();
        self.batch("COMMIT");
    }

    /// Every cell as text.
    #[track_caller]
    pub fn rows(&self, sql: &str) -> Rows {
        if let Some(server) = &self.server {
            return server.query(sql);
        }
        let mut statement = self.connection.prepare(sql).expect(sql);
        let width = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| (0..width).map(|at| row.get_ref(at).map(text)).collect();
        statement.query_map([], row).expect(sql).collect::<Result<_, _>>().expect(sql)
    }

    /// The first column.
    #[track_caller]
    pub fn texts(&self, sql: &str) -> Vec<String> {
        self.rows(sql).into_iter().map(|mut row| row.remove(0).expect(sql)).collect()
    }

    /// The one text that a query answers.
    #[track_caller]
    pub fn text(&self, sql: &str) -> String {
        let mut all = self.texts(sql);
        assert_eq!(all.len(), 1, "{sql}");
        all.remove(0)
    }

    #[track_caller]
    pub fn number(&self, sql: &str) -> i64 {
        self.text(sql).parse().expect(sql)
    }

    /// Every row of every table, each cell with its type and its bytes. Only numbers that an engine
    /// hands out stay handed out.
    pub fn dump(&self) -> Vec<String> {
        match &self.server {
            Some(server) => {
                let one = |table| format!("SELECT '{table}: ' || t::text FROM {table} AS t ORDER BY 1");
                server.tables().into_iter().flat_map(|table| self.texts(&one(table))).collect()
            }
            None => dump(&self.connection),
        }
    }

    /// claimtop with these arguments, then this database.
    pub fn command(&self, arguments: &[&str]) -> Command {
        match &self.server {
            Some(server) => {
                let mut command = server.command(arguments);
                command.env("PGCONNECT_TIMEOUT", "60");
                command
            }
            None => {
                let mut command = command(arguments);
                command.arg(self.path());
                command
            }
        }
    }

    pub fn claimtop(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("claimtop runs")
    }

    /// `check --json` at [`NOW`]: the entry of the first profile, and the exit code.
    pub fn check(&self) -> (Json, i32) {
        self.check_with(&[])
    }

    pub fn check_with(&self, options: &[&str]) -> (Json, i32) {
        asking::check(|arguments| self.claimtop(arguments), options)
    }

    /// `list --json` at [`NOW`].
    pub fn list(&self, options: &[&str]) -> Vec<Json> {
        asking::list(|arguments| self.claimtop(arguments), options)
    }

    /// The one claim with this id.
    pub fn claim(&self, id: &str) -> Json {
        asking::one(&self.list(&[]), id)
    }

    /// A session of coordination that last beat this long before [`NOW`].
    pub fn session(&self, id: &str, silent_for: i64) {
        self.run(
            "INSERT INTO sessions VALUES (?1, '/project', 'cli', ?2, ?3, '{}', 4312)",
            (id, NOW - 60 * MINUTE, NOW - silent_for),
        );
    }

    /// A claim of coordination that expires this long after [`NOW`] and beats.
    pub fn task(&self, id: &str, session: &str, expires_in: i64) {
        self.run(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            (id, session, NOW - 20 * MINUTE, NOW + expires_in, NOW - 10 * SECOND),
        );
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(server) = self.server.take()
            && !std::thread::panicking()
        {
            spares::keep(server);
        }
    }
}

impl Deref for File {
    type Target = Connection;

    #[track_caller]
    fn deref(&self) -> &Connection {
        assert!(!self.is_sketch, "this database is on a server: ask the database, not its sketch");
        &self.connection
    }
}

impl DerefMut for File {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut Connection {
        assert!(!self.is_sketch, "this database is on a server: ask the database, not its sketch");
        &mut self.connection
    }
}

/// Makes these tables so that rows are kept by their primary keys. Those that hand out numbers as keys
/// cannot be, and stay as they are.
fn without_rowids(connection: &Connection, schema: &str) {
    let model = Connection::open_in_memory().expect("a model");
    model.execute_batch(schema).expect("the schema");
    let mut made = model
        .prepare("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type <> 'table', rowid")
        .expect("its tables");
    let made: Vec<(String, String, String)> = made
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .expect("its tables")
        .collect::<Result<_, _>>()
        .expect("its tables");
    for (kind, name, sql) in made {
        let upper = sql.to_ascii_uppercase();
        let can_be = kind == "table"
            && upper.contains("PRIMARY KEY")
            && !upper.contains("INTEGER PRIMARY KEY")
            && !upper.contains("AUTOINCREMENT");
        let how = if can_be && !upper.contains("WITHOUT ROWID") { " WITHOUT ROWID" } else { "" };
        connection.execute_batch(&format!("{sql}{how}")).expect("a table without rowids");
        if kind == "table" {
            copy_rows(&model, connection, &name);
        }
    }
}

fn copy_rows(from: &Connection, to: &Connection, table: &str) {
    let mut all = from.prepare(&format!("SELECT * FROM \"{table}\"")).expect("a table");
    let places = vec!["?"; all.column_count()].join(", ");
    let sql = format!("INSERT INTO \"{table}\" VALUES ({places})");
    let width = all.column_count();
    let mut rows = all.query([]).expect("rows");
    while let Some(row) = rows.next().expect("a row") {
        let values = (0..width).map(|at| row.get::<_, rusqlite::types::Value>(at).expect("a value"));
        to.execute(&sql, rusqlite::params_from_iter(values)).expect("a copy");
    }
}

/// What SQLite is told, as PostgreSQL is told it.
pub fn in_their_words(sql: &str) -> String {
    WORDS.iter().fold(sql.to_owned(), |all, (ours, theirs)| all.replace(ours, theirs))
}

/// A cell of a file as a server would send it.
pub fn text(cell: ValueRef<'_>) -> Option<String> {
    match cell {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(text) | ValueRef::Blob(text) => Some(String::from_utf8_lossy(text).into_owned()),
    }
}

/// Every cell of every table of a file: type and bytes.
pub fn dump(connection: &Connection) -> Vec<String> {
    let mut names = connection
        .prepare_cached(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
        )
        .expect("the tables");
    let names: Vec<String> =
        names.query_map([], |row| row.get(0)).expect("names").map(|name| name.expect("a name")).collect();
    let mut all = Vec::new();
    for name in names {
        let rowid: bool = connection
            .query_row("SELECT NOT wr FROM pragma_table_list WHERE name = ?1", [&name], |row| row.get(0))
            .expect("a table");
        let (number, order) = if rowid { ("rowid, ", " ORDER BY rowid") } else { ("", "") };
        let sql = format!("SELECT {number}* FROM \"{name}\"{order}");
        let mut statement = connection.prepare_cached(&sql).expect(&sql);
        let width = statement.column_count();
        let mut rows = statement.query([]).expect(&sql);
        while let Some(row) = rows.next().expect(&sql) {
            let cells: Vec<String> =
                (0..width).map(|at| format!("{:?}", row.get_ref(at).expect("a cell"))).collect();
            all.push(format!("{name}: {}", cells.join(", ")));
        }
    }
    all
}
