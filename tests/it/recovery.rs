//! Recovery as an operator has it: the program itself, its exit codes, and what it leaves behind.

mod audit;
mod audit_for_tickets;
mod bulk;
mod bulk_tally;
mod ctrl_z;
mod dry_run;
mod forged_journal;
mod full_disks;
mod kills;
mod long_journal;
mod model;
mod one_claim;
mod open_outcomes;
mod ownership;
mod refusals;
mod sessions;
mod steps;
mod triggers;
mod undo;

use serde_json::Value as Json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database, MINUTE, SECOND, command, stderr, stdout};

/// A database with a trail of its own.
struct Scene {
    database: Database,
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

    /// With these tables, in SQLite's words.
    fn of(schema: &str) -> Scene {
        Scene { database: Database::new(schema) }
    }

    /// A statement with its values.
    fn execute(&self, sql: &str, values: impl rusqlite::Params) {
        self.database.run(sql, values);
    }

    /// Others take their time: until [`Scene::commit`] no act gets through.
    fn hold(&self) {
        match self.database.server() {
            Some(server) => server.run("BEGIN; LOCK TABLE task_claims, sessions, locks IN EXCLUSIVE MODE"),
            None => self.database.connection.execute_batch("BEGIN IMMEDIATE").expect("the lock"),
        }
    }

    fn commit(&self) {
        match self.database.server() {
            Some(server) => server.run("COMMIT"),
            None => self.database.connection.execute_batch("COMMIT").expect("committed"),
        }
    }

    /// Every row of a table, as text.
    fn rows(&self, table: &str) -> Vec<String> {
        let rows = self.database.rows(&format!("SELECT * FROM {table}"));
        let mut rows: Vec<String> = rows.into_iter().map(|row| format!("{row:?}")).collect();
        rows.sort();
        rows
    }

    /// The one text that a query answers.
    fn text(&self, sql: &str) -> String {
        self.database.text(sql)
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
        self.database.at_once(|| {
            for number in 0..count {
                self.task(&format!("task-{number:04}"), "worker-1", -60 * MINUTE);
            }
        });
    }

    /// Every task of a file takes long to reclaim, so that a bulk needs many transactions on any machine.
    fn slow_tasks(&self) {
        let slow = "CREATE TRIGGER slow AFTER DELETE ON task_claims BEGIN
           UPDATE sessions SET metadata = '{}' WHERE id = 'nobody' AND 0 < (WITH RECURSIVE n(x) AS
             (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 2000) SELECT count(*) FROM n); END";
        self.database.connection.execute_batch(slow).expect("a trigger");
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
        let source = self.database.source();
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
        command.env("XDG_STATE_HOME", self.state()).env("XDG_CONFIG_HOME", "/proc/nonexistent");
        command
    }

    fn open_to_all(&self) {
        chmod(self.database.folder(), 0o777);
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&self.command(arguments).output().expect("claimtop runs"))
    }

    /// The ids of the claims that are left.
    fn held(&self) -> Vec<String> {
        let mut held = self.database.texts("SELECT task_id FROM task_claims");
        held.sort();
        held
    }

    fn number(&self, sql: &str) -> i64 {
        self.database.number(sql)
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
        if let Some(server) = self.database.server() {
            return server.versions();
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

    /// The results of a bulk, without the object that it ends with.
    #[track_caller]
    fn results(&self) -> Vec<Json> {
        let mut all = self.lines();
        all.pop();
        all
    }

    /// The object that a bulk ends with, with every field that is promised.
    #[track_caller]
    fn tally(&self) -> Json {
        let last = self.lines().pop().unwrap_or_else(|| panic!("no object in {self:#?}"));
        for field in ["batch", "wanted", "applied", "refused", "moved", "unknown", "undo"] {
            assert!(last.get(field).is_some(), "no {field} in {self:#?}");
        }
        last
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
