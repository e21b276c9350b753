//! Recovery as an operator has it: the program itself, its exit codes, and what it leaves behind.

mod audit;
mod bulk;
mod contract;
mod disks;
mod documents;
mod kills;
mod refusals;
mod rehearsal;
mod sessions;
mod settling;
mod undo;

use serde_json::Value as Json;
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::postgres::PgDatabase;
use crate::support::{COORDINATION, Database, MINUTE, SECOND, command, stderr, stdout};

/// A database with a trail of its own.
struct Scene {
    /// The database itself, or where it is on a server a sketch of it, whose folder is used.
    database: Database,
    server: Option<PgDatabase>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    Sqlite,
    Postgres,
}

thread_local! {
    /// Where the scenes of this thread are set.
    static ENGINE: Cell<Engine> = const { Cell::new(Engine::Sqlite) };
}

/// One body for both engines: what holds for files holds on servers.
fn on_both(body: impl Fn()) {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        eprintln!("on {engine:?}:");
        ENGINE.set(engine);
        body();
    }
    ENGINE.set(Engine::Sqlite);
}

/// What came of a run of the program.
#[derive(Debug)]
struct Run {
    code: i32,
    out: String,
    err: String,
}

impl Scene {
    fn new() -> Scene {
        Scene::of(COORDINATION)
    }

    /// Where the tables are in SQLite's words, they are translated for a server.
    fn of(schema: &str) -> Scene {
        let words =
            [("AUTOINCREMENT", ""), ("INTEGER PRIMARY KEY", "BIGSERIAL PRIMARY KEY"), ("INTEGER", "BIGINT")];
        let server = (ENGINE.get() == Engine::Postgres).then(|| {
            let translated =
                words.iter().fold(schema.to_owned(), |all, (ours, theirs)| all.replace(ours, theirs));
            PgDatabase::new(&translated.replace("DATETIME", "TIMESTAMP"))
        });
        Scene { database: Database::new(schema), server }
    }

    /// What claimtop is to be told.
    fn source(&self) -> String {
        match &self.server {
            Some(server) => server.url(),
            None => self.database.path().to_str().expect("UTF-8").to_owned(),
        }
    }

    /// A statement with its values.
    fn execute(&self, sql: &str, values: impl rusqlite::Params) {
        let mut statement = self.database.connection.prepare(sql).expect(sql);
        let done = statement.execute(values);
        match &self.server {
            // Its own database has put the values in; what became of the sketch does not matter.
            Some(server) => server.run(&statement.expanded_sql().expect(sql)),
            None => drop(done.expect(sql)),
        }
    }

    /// Others take their time: until [`Scene::commit`] no act gets through.
    fn hold(&self) {
        match &self.server {
            Some(server) => server.run("BEGIN; LOCK TABLE task_claims, sessions, locks IN EXCLUSIVE MODE"),
            None => self.database.connection.execute_batch("BEGIN IMMEDIATE").expect("the lock"),
        }
    }

    fn commit(&self) {
        match &self.server {
            Some(server) => server.run("COMMIT"),
            None => self.database.connection.execute_batch("COMMIT").expect("committed"),
        }
    }

    /// Every row of a table, as text.
    fn rows(&self, table: &str) -> Vec<String> {
        match &self.server {
            Some(server) => server
                .query(&format!("SELECT t::text FROM {table} AS t ORDER BY 1"))
                .into_iter()
                .map(|mut row| row.remove(0).expect("a row"))
                .collect(),
            None => {
                let mut statement =
                    self.database.connection.prepare(&format!("SELECT * FROM {table}")).expect(table);
                let width = statement.column_count();
                let text = |row: &rusqlite::Row<'_>| -> rusqlite::Result<String> {
                    let cells = (0..width).map(|at| Ok(format!("{:?}", row.get_ref(at)?)));
                    Ok(cells.collect::<rusqlite::Result<Vec<_>>>()?.join(","))
                };
                let rows = statement.query_map([], text).expect(table);
                let mut rows: Vec<String> = rows.map(|row| row.expect(table)).collect();
                rows.sort();
                rows
            }
        }
    }

    /// The one text that a query answers.
    fn text(&self, sql: &str) -> String {
        match &self.server {
            Some(server) => server.value(sql).expect(sql),
            None => self.database.connection.query_row(sql, [], |row| row.get(0)).expect(sql),
        }
    }

    /// One session that beats, and one claim of it whose lease ended an hour ago.
    fn stale() -> Scene {
        let scene = Scene::new();
        scene.session("worker-1", SECOND);
        scene.task("task-1", "worker-1", -60 * MINUTE);
        scene
    }

    fn session(&self, id: &str, silent_for: i64) {
        self.execute(
            "INSERT INTO sessions VALUES (?1, '/project', 'cli', ?2, ?3, '{}', NULL)",
            (id, now() - 180 * MINUTE, now() - silent_for),
        );
    }

    /// A claim that began two hours ago and has beaten until a moment ago.
    fn task(&self, id: &str, session: &str, expires_in: i64) {
        self.execute(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            (id, session, now() - 120 * MINUTE, now() + expires_in, now() - SECOND),
        );
    }

    fn tasks(&self, count: usize) {
        self.database.connection.execute_batch("BEGIN").expect("a transaction");
        for number in 0..count {
            self.task(&format!("task-{number:04}"), "worker-1", -60 * MINUTE);
        }
        self.database.connection.execute_batch("COMMIT").expect("committed");
    }

    fn lock(&self, resource: &str, session: &str, expires_in: i64) {
        self.execute(
            "INSERT INTO locks (resource, session_id, acquired_at, expires_at) VALUES (?1, ?2, ?3, ?4)",
            (resource, session, now() - 120 * MINUTE, now() + expires_in),
        );
    }

    fn state(&self) -> PathBuf {
        self.database.beside("state")
    }

    fn journal(&self) -> PathBuf {
        self.state().join("claimtop/audit/journal.jsonl")
    }

    /// The program on this scene; the word DB stands for the path of the database.
    fn command(&self, arguments: &[&str]) -> Command {
        let source = self.source();
        let mut command = command(&[]);
        for argument in arguments {
            match *argument {
                "DB" => command.arg(&source),
                other => command.arg(other),
            };
        }
        command.env("XDG_STATE_HOME", self.state()).env_remove("HOME");
        command
    }

    /// The same, as a user who has nothing; root passes over permissions.
    fn as_nobody(&self, arguments: &[&str]) -> Command {
        let program = self.database.beside("claimtop");
        // A copy by another process: a handle that is open for writing would make the file busy.
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_claimtop")).arg(&program).status();
        assert!(copied.expect("cp runs").success());
        let mut command = if am_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        let path = self.database.path().to_str().expect("UTF-8").to_owned();
        command.args(arguments.iter().map(|word| if *word == "DB" { path.as_str() } else { word }));
        command.env("XDG_STATE_HOME", self.state()).env("XDG_CONFIG_HOME", "/nonexistent");
        command
    }

    fn open_to_all(&self) {
        chmod(self.database.path().parent().expect("a folder"), 0o777);
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&self.command(arguments).output().expect("claimtop runs"))
    }

    /// The ids of the claims that are left.
    fn held(&self) -> Vec<String> {
        if let Some(server) = &self.server {
            let rows = server.query("SELECT task_id FROM task_claims ORDER BY task_id COLLATE \"C\"");
            return rows.into_iter().map(|mut row| row.remove(0).expect("an id")).collect();
        }
        let mut statement = self.database.connection.prepare("SELECT task_id FROM task_claims ORDER BY 1");
        let rows = statement.as_mut().expect("a statement").query_map([], |row| row.get(0)).expect("rows");
        rows.map(|id| id.expect("an id")).collect()
    }

    fn number(&self, sql: &str) -> i64 {
        if let Some(server) = &self.server {
            return server.value(sql).expect(sql).parse().expect(sql);
        }
        self.database.connection.query_row(sql, [], |row| row.get(0)).expect(sql)
    }

    /// The token of a claim as `list` shows it now.
    fn listed(&self, id: &str) -> Json {
        let all = self.run(&["list", "--json", "DB"]).lines();
        let found = all.iter().find(|claim| claim["id"] == id);
        found.unwrap_or_else(|| panic!("no {id} in {all:#?}")).clone()
    }

    fn seen(&self, id: &str) -> String {
        self.listed(id)["seen"].as_str().expect("a token").to_owned()
    }

    fn export(&self) -> Vec<Json> {
        self.run(&["audit", "export"]).lines().into_iter().map(|entry| entry["record"].clone()).collect()
    }

    /// The bytes of the database and its log, by another process: a handle of our own on the file
    /// would drop the locks that our connection has on it when it closes. On a server every row with
    /// its version.
    fn bytes(&self) -> String {
        if let Some(server) = &self.server {
            let tables = "SELECT quote_ident(relname) FROM pg_class
                 WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1";
            let tables = server.query(tables).into_iter().map(|mut row| row.remove(0).expect("a name"));
            let rows = tables.map(|table| {
                let rows =
                    server.query(&format!("SELECT xmin, ctid, t::text FROM {table} AS t ORDER BY ctid"));
                format!("{table}: {rows:?}")
            });
            return rows.collect::<Vec<_>>().join("\n");
        }
        let path = self.database.path();
        let log = PathBuf::from(format!("{}-wal", path.display()));
        let output = Command::new("sha256sum").arg(path).arg(log).output().expect("sha256sum runs");
        stdout(&output)
    }

    #[track_caller]
    fn assert_untouched(&self, bytes: &str, what: &str) {
        assert_eq!(self.bytes(), bytes, "{what} changed the database");
    }
}

impl Run {
    fn of(output: &Output) -> Run {
        let code = output.status.code().unwrap_or(-1);
        Run { code, out: stdout(output), err: stderr(output) }
    }

    #[track_caller]
    fn lines(&self) -> Vec<Json> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:#?}"));
        self.out.lines().map(parse).collect()
    }

    /// The object that a verb prints, with every field that is promised.
    #[track_caller]
    fn object(&self) -> Json {
        let all = self.lines();
        assert_eq!(all.len(), 1, "{self:#?}");
        for field in ["action_id", "action", "outcome", "id", "holder", "why", "before", "after"] {
            assert!(all[0].get(field).is_some(), "no {field} in {self:#?}");
        }
        all[0].clone()
    }

    /// The object of a run that ended in `code` with this outcome.
    #[track_caller]
    fn came_to(&self, code: i32, outcome: &str) -> Json {
        assert_eq!(self.code, code, "{self:#?}");
        let object = self.object();
        assert_eq!(object["outcome"], outcome, "{self:#?}");
        object
    }

    #[track_caller]
    fn says(&self, sentence: &str) {
        let all = format!("{}{}", self.out, self.err);
        assert!(all.contains(sentence), "{sentence:?} is not in {self:#?}");
    }
}

/// The real clock: an act takes no other.
fn now() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

fn am_root() -> bool {
    rustix::process::getuid().is_root()
}

fn chmod(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}
