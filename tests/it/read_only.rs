//! A session that may only look changes nothing: not a byte, not a name in a folder, not the version
//! of a row on a server.

mod builtin_profiles;
mod commands;
mod endless_sql;
mod identity;
mod payloads;
mod profile_sql;

use crate::support::postgres::PgDatabase;
use crate::support::{COORDINATION, in_their_words, stderr};
use rusqlite::Connection;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// One claim of a silent session that ran out years ago, whatever the clock says: an act on it
/// would go through if anything let it.
const STALE: &str = "
    INSERT INTO sessions VALUES ('session-1', '/project', 'cli', 1600000000000, 1600000100000, '{}', NULL);
    INSERT INTO task_claims VALUES ('task-1', 'session-1', 1600000000000, 1600000200000, 1600000100000, 3,
      'cli', NULL, '{}');";

/// What a hostile expression finds on a server: a function that runs any statement as its owner, and
/// numbers that stay handed out.
const LADDER: &str = "
    CREATE FUNCTION own(sql text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS
      'BEGIN EXECUTE sql; RETURN ''x''; END';
    CREATE SEQUENCE counter;";

/// What of a server is in no table of the application's.
const CATALOGUE: &str = "
    SELECT md5(string_agg(concat(oid, relname, relacl), '|' ORDER BY oid)) FROM pg_class
    UNION ALL SELECT md5(string_agg(concat(attrelid, attname), '|' ORDER BY attrelid, attnum)) FROM pg_attribute
    UNION ALL SELECT md5(string_agg(concat(oid, prosrc, proacl), '|' ORDER BY oid)) FROM pg_proc
    UNION ALL SELECT md5(string_agg(concat(oid, nspname, nspacl), '|' ORDER BY oid)) FROM pg_namespace
    UNION ALL SELECT string_agg(concat(oid, tgname, tgenabled), '|' ORDER BY oid) FROM pg_trigger
    UNION ALL SELECT md5(string_agg(description, '|' ORDER BY objoid, classoid, objsubid)) FROM pg_description
    UNION ALL SELECT string_agg(oid::text, '|' ORDER BY oid) FROM pg_largeobject_metadata
    UNION ALL SELECT string_agg(s::text, '|') FROM pg_db_role_setting AS s
      WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
    UNION ALL SELECT concat(last_value, is_called) FROM counter";

/// How the database keeps its changes until they are whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeping {
    /// One file, and nothing may ever appear beside it.
    Rollback,
    /// Its application runs: the log and its index are there.
    Log,
    /// Its application was killed: they are there, and nobody has them open.
    AbandonedLog,
    /// As PostgreSQL does, where the user may do everything: only the session keeps it from writing.
    Server,
}

/// A database in a folder that holds nothing else, or on a server, and a folder for everything else.
struct Scene {
    data: TempDir,
    elsewhere: TempDir,
    server: Option<PgDatabase>,
    /// Keeps the log from being folded back into the database.
    _application: Option<Connection>,
}

impl Scene {
    fn new(keeping: Keeping) -> Scene {
        let [data, elsewhere] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
        let path = data.path().join("tasks.db");
        let make = |path: &Path| {
            let connection = Connection::open(path).expect("a database");
            let mode = if keeping == Keeping::Rollback { "DELETE" } else { "WAL" };
            connection.pragma_update(None, "journal_mode", mode).expect(mode);
            connection.execute_batch(&format!("{COORDINATION}{STALE}")).expect("the claims");
            connection
        };
        let mut server = None;
        let application = match keeping {
            Keeping::Rollback => {
                make(&path).close().expect("closed");
                None
            }
            Keeping::Server => {
                server = Some(PgDatabase::new(&in_their_words(&format!("{COORDINATION}{STALE}{LADDER}"))));
                None
            }
            Keeping::Log => Some(make(&path)),
            Keeping::AbandonedLog => {
                let origin = elsewhere.path().join("origin.db");
                let connection = make(&origin);
                for end in ["", "-wal", "-shm"] {
                    copy(&with_end(&origin, end), &with_end(&path, end));
                }
                drop(connection);
                None
            }
        };
        Scene { data, elsewhere, server, _application: application }
    }

    #[track_caller]
    fn path(&self) -> PathBuf {
        assert!(self.server.is_none(), "a database on a server has no path: ask for its source");
        self.data.path().join("tasks.db")
    }

    /// What the program is told. On a busy machine a server may take its time.
    fn source(&self) -> String {
        match &self.server {
            Some(server) => format!("{}?connect_timeout=25", server.url()),
            None => self.path().to_str().expect("UTF-8").to_owned(),
        }
    }

    /// What somebody in its folder would say.
    fn word(&self) -> String {
        if self.server.is_some() { self.source() } else { "tasks.db".into() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.elsewhere.path().join(name)
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder of the file");
        fs::write(&path, content).expect("a file");
        path
    }

    /// The program, in the database's folder: a relative path of a payload would land there.
    fn command(&self, arguments: &[&str]) -> Command {
        // What hangs shall fail, not hang the tests.
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", "30", env!("CARGO_BIN_EXE_claimtop")]).args(arguments);
        command.env("XDG_CONFIG_HOME", "/proc/nonexistent").env_remove("NO_COLOR");
        command.current_dir(self.data.path()).env("XDG_STATE_HOME", self.at("state"));
        command
    }

    fn state(&self) -> State {
        let mut state = State::of(self.data.path());
        if let Some(server) = &self.server {
            state.0.insert("rows".into(), server.versions());
            state.0.insert("catalogue".into(), format!("{:?}", server.query(CATALOGUE)));
        }
        state
    }
}

/// Every name in a folder, with the hash of the file's content; of a server, every version of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State(BTreeMap<String, String>);

impl State {
    fn of(folder: &Path) -> State {
        let entries = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry"));
        let hashed = entries.map(|entry| {
            let name = entry.file_name().into_string().expect("UTF-8");
            // The log's index is memory that readers share, with their marks in it: only its name counts.
            let hash = if name.ends_with("-shm") { "shared".into() } else { sha256(&entry.path()) };
            (name, hash)
        });
        State(hashed.collect())
    }

    fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }
}

/// The file is read by another process: closing a handle of ours would drop the locks that the
/// application's connection, in this process, has on it.
fn sha256(path: &Path) -> String {
    let output = Command::new("cat").arg(path).output().expect("cat runs");
    assert!(output.status.success(), "{}: {}", path.display(), stderr(&output));
    Sha256::digest(&output.stdout).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg(from).arg(to).status().expect("cp runs");
    assert!(status.success(), "{} is copied", from.display());
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    PathBuf::from(format!("{}{end}", path.display()))
}

/// Holds an answer to what is promised of every one: a known exit code, at most one sentence of
/// complaint, and no crash. Hands back the code and the sentence.
#[track_caller]
fn answered(output: &Output, what: &str) -> (i32, String) {
    let said = stderr(output);
    let code = output.status.code().unwrap_or_else(|| panic!("{what}: ended by a signal: {said}"));
    assert!(!said.contains("panicked"), "{what}: {said}");
    assert!(matches!(code, 0..=3 | 5), "{what}: exit {code}: {said}");
    assert!(said.lines().count() <= 1, "{what}: more than one sentence: {said}");
    (code, said)
}

#[test]
fn the_comparison_sees_a_changed_byte_and_a_new_name() {
    for keeping in [Keeping::Rollback, Keeping::Log] {
        let scene = Scene::new(keeping);
        let before = scene.state();
        let writer = Connection::open(scene.path()).expect("a writer");
        writer.pragma_update(None, "user_version", 7).expect("written");
        drop(writer);
        assert_ne!(scene.state(), before, "{keeping:?}");
    }
    for keeping in [Keeping::Rollback, Keeping::Server] {
        let scene = Scene::new(keeping);
        let before = scene.state();
        assert_eq!(scene.state(), before, "{keeping:?}");
        fs::write(scene.data.path().join("pwned"), "").expect("a file");
        assert_ne!(scene.state(), before, "{keeping:?}");
    }
}

#[test]
fn the_comparison_sees_what_is_written_on_a_server() {
    for write in [
        "UPDATE task_claims SET task_id = task_id",
        "INSERT INTO locks VALUES ('x', 'x', 1, 1)",
        "SELECT nextval('counter')",
        "SELECT lo_create(4711)",
        "CREATE TABLE pwned (x int)",
        "COMMENT ON TABLE locks IS 'x'",
        "GRANT ALL ON locks TO PUBLIC",
        "ALTER TABLE locks ADD COLUMN x int",
    ] {
        let scene = Scene::new(Keeping::Server);
        let before = scene.state();
        scene.server.as_ref().expect("a server").run(write);
        assert_ne!(scene.state(), before, "{write}");
    }
}
