//! A session that may only look changes nothing: not a byte, not a name in a folder.

mod endless;
mod looking;
mod payloads;
mod profiles;
mod verbs;

use crate::support::{COORDINATION, stderr};
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

/// How the database keeps its changes until they are whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeping {
    /// One file, and nothing may ever appear beside it.
    Rollback,
    /// Its application runs: the log and its index are there.
    Log,
    /// Its application was killed: they are there, and nobody has them open.
    AbandonedLog,
}

/// A database in a folder that holds nothing else, and a folder for everything else.
struct Scene {
    data: TempDir,
    elsewhere: TempDir,
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
        let application = match keeping {
            Keeping::Rollback => {
                make(&path).close().expect("closed");
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
        Scene { data, elsewhere, _application: application }
    }

    fn path(&self) -> PathBuf {
        self.data.path().join("tasks.db")
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
        command.env("XDG_CONFIG_HOME", "/nonexistent").env_remove("NO_COLOR");
        command.current_dir(self.data.path()).env("XDG_STATE_HOME", self.at("state"));
        command
    }

    fn state(&self) -> State {
        State::of(self.data.path())
    }
}

/// Every name in a folder, with the hash of the file's content.
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
    let scene = Scene::new(Keeping::Rollback);
    let before = scene.state();
    fs::write(scene.data.path().join("pwned"), "").expect("a file");
    assert_ne!(scene.state(), before);
}
