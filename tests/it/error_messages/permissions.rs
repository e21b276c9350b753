//! Files that this user may not read, each explained by what is missing.
//!
//! Root may read everything, so root's tests run the program as nobody.

use super::{COORDINATION, Scratch, code, sentence};
use crate::support::{NOW, SECOND, command, stderr, stdout};
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}

/// Copies by a process of its own: a handle that is still open for writing while another test
/// starts a program would make the copy "busy", and closing one on a database drops its locks.
fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg(from).arg(to).status().expect("cp runs");
    assert!(status.success());
}

fn am_root() -> bool {
    let output = Command::new("id").arg("-u").output().expect("id runs");
    output.stdout == b"0\n"
}

/// A database in WAL mode in a folder where the program may look, and only look.
struct Guarded {
    scratch: Scratch,
}

impl Guarded {
    /// With its log and that log's index beside it, as a running or a killed application has it.
    fn in_use() -> Guarded {
        let origin = Scratch::new();
        let path = origin.at("tasks.db");
        let connection = Guarded::fill(&path);
        let guarded = Guarded::folder();
        for end in ["", "-wal", "-shm"] {
            copy(&with_end(&path, end), &with_end(&guarded.path(), end));
        }
        drop(connection);
        guarded
    }

    /// Closed by its application, which removes the other two.
    fn closed() -> Guarded {
        let guarded = Guarded::folder();
        Guarded::fill(&guarded.path()).close().expect("closed");
        assert!(!guarded.shm().exists() && !guarded.wal().exists());
        guarded
    }

    fn folder() -> Guarded {
        let scratch = Scratch::new();
        chmod(scratch.folder.path(), 0o755);
        fs::create_dir(scratch.at("data")).expect("a folder");
        Guarded { scratch }
    }

    fn fill(path: &Path) -> Connection {
        let connection = Connection::open(path).expect("a database");
        connection.pragma_update(None, "journal_mode", "WAL").expect("WAL mode");
        connection.execute_batch(COORDINATION).expect("the schema");
        let session = "INSERT INTO sessions VALUES ('session-1', '/project', 'cli', ?1, ?1, '{}', 4312)";
        connection.execute(session, [NOW - SECOND]).expect("a session");
        connection
            .execute(
                "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
                 VALUES ('task-1', 'session-1', ?1, ?2, ?1)",
                [NOW - SECOND, NOW + 1_200 * SECOND],
            )
            .expect("a claim");
        connection
    }

    fn data(&self) -> PathBuf {
        self.scratch.at("data")
    }

    fn path(&self) -> PathBuf {
        self.data().join("tasks.db")
    }

    fn wal(&self) -> PathBuf {
        with_end(&self.path(), "-wal")
    }

    fn shm(&self) -> PathBuf {
        with_end(&self.path(), "-shm")
    }

    /// Runs the program as somebody to whom permissions apply.
    fn run(&self, arguments: &[&str]) -> Output {
        let mut program = if am_root() {
            let copied = self.scratch.at("claimtop");
            if !copied.exists() {
                copy(Path::new(env!("CARGO_BIN_EXE_claimtop")), &copied);
                chmod(&copied, 0o755);
            }
            let mut program = Command::new("setpriv");
            program.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copied).args(arguments);
            program.env("XDG_CONFIG_HOME", "/proc/nonexistent");
            program
        } else {
            command(arguments)
        };
        program.args(super::AT_NOW).arg(self.path()).output().expect("claimtop runs")
    }

    /// What is said of the file, by both verbs alike.
    fn refusal(&self) -> String {
        let checked = self.run(&["check"]);
        assert_eq!((code(&checked), stdout(&checked)), (3, String::new()), "{}", stderr(&checked));
        let said = sentence(&checked);
        assert!(said.starts_with(&self.path().display().to_string()), "{said}");
        assert_eq!(sentence(&self.run(&["list"])), said);
        said
    }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    PathBuf::from(format!("{}{end}", path.display()))
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Or the temporary folder could not be removed by anybody but root.
        let _ = fs::set_permissions(self.data(), fs::Permissions::from_mode(0o755));
    }
}

#[test]
fn a_database_in_use_is_read_from_a_folder_that_cannot_be_written() {
    let guarded = Guarded::in_use();
    chmod(&guarded.data(), 0o555);
    let output = guarded.run(&["check"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    // The claim is still in the log only.
    assert!(stdout(&output).contains("all 1 claims are healthy"), "{}", stdout(&output));
}

#[test]
fn a_closed_wal_database_in_a_folder_that_cannot_be_written_is_explained() {
    let guarded = Guarded::closed();
    chmod(&guarded.data(), 0o555);
    let said = guarded.refusal();
    let index = guarded.shm().display().to_string();
    assert!(said.contains("WAL mode") && said.contains(&index) && said.contains("is missing"), "{said}");
    assert!(said.contains("may not write in its folder") && said.contains("copy"), "{said}");
}

#[test]
fn a_log_without_its_index_in_a_folder_that_cannot_be_written_is_explained() {
    let guarded = Guarded::in_use();
    fs::remove_file(guarded.shm()).expect("removed");
    chmod(&guarded.data(), 0o555);
    let said = guarded.refusal();
    assert!(said.contains(&guarded.shm().display().to_string()) && said.contains("is missing"), "{said}");
}

#[test]
fn a_file_that_may_not_be_read_is_explained() {
    let guarded = Guarded::closed();
    chmod(&guarded.path(), 0o000);
    assert!(guarded.refusal().contains("may not read the file"), "{}", guarded.refusal());
}

#[test]
fn a_log_that_may_not_be_read_is_named() {
    let guarded = Guarded::in_use();
    chmod(&guarded.wal(), 0o000);
    chmod(&guarded.data(), 0o555);
    let said = guarded.refusal();
    assert!(said.contains(&format!("may not read {}", guarded.wal().display())), "{said}");
}

#[test]
fn an_index_of_the_log_that_may_not_be_read_is_named() {
    let guarded = Guarded::in_use();
    chmod(&guarded.shm(), 0o000);
    chmod(&guarded.data(), 0o555);
    let said = guarded.refusal();
    assert!(said.contains(&format!("may not read {}", guarded.shm().display())), "{said}");
}

#[test]
fn a_folder_that_may_not_be_entered_is_a_matter_of_permission() {
    let guarded = Guarded::closed();
    chmod(&guarded.data(), 0o000);
    let said = guarded.refusal();
    assert!(said.to_lowercase().contains("permission"), "{said}");
}
