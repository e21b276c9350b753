//! May we act, and is there a trail: permissions, settings, a journal that somebody edited.

use super::{Practice, healthy};
use crate::support::engine::on_both;
use crate::support::{COORDINATION, stderr};
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
}

fn am_root() -> bool {
    Command::new("id").arg("-u").output().expect("id runs").stdout == b"0\n"
}

/// What the doctor says to somebody to whom permissions apply: root's tests ask as nobody.
fn said_to_a_stranger(source: &Path, state: &Path) -> (String, i32) {
    let program = Path::new(env!("CARGO_BIN_EXE_claimtop"));
    let place = tempfile::tempdir().expect("a folder");
    let mut command = if am_root() {
        chmod(place.path(), 0o755);
        let copy = place.path().join("claimtop");
        // By a process of its own: a handle open for writing would make the copy "busy".
        assert!(Command::new("cp").arg(program).arg(&copy).status().expect("cp runs").success());
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copy);
        command
    } else {
        Command::new(program)
    };
    command.env("XDG_CONFIG_HOME", "/proc/nonexistent").env("XDG_STATE_HOME", state);
    let output = command.arg("doctor").args(super::AT_NOW).arg(source).output().expect("claimtop runs");
    let text = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    assert!(stderr(&output).is_empty(), "{}", stderr(&output));
    (text, output.status.code().expect("an exit code"))
}

/// A database in rollback mode, which needs no file beside it, in a folder that all may enter.
fn in_the_open() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    chmod(folder.path(), 0o755);
    let path = folder.path().join("tasks.db");
    Connection::open(&path).expect("a database").execute_batch(COORDINATION).expect("the tables");
    (folder, path)
}

#[test]
fn a_file_that_may_only_be_read_fails_for_acts() {
    let (folder, path) = in_the_open();
    chmod(&path, 0o444);
    let (text, code) = said_to_a_stranger(&path, folder.path());
    assert!(
        text.contains("✗ acting        this user may not write the file: every act is refused"),
        "{text}"
    );
    assert!(text.contains("fix: run as the owner"), "{text}");
    assert_eq!(code, 2);
}

#[test]
fn a_folder_that_may_only_be_read_fails_for_acts_and_for_the_trail() {
    let (folder, path) = in_the_open();
    chmod(&path, 0o666);
    chmod(folder.path(), 0o555);
    let (text, code) = said_to_a_stranger(&path, folder.path());
    chmod(folder.path(), 0o755);
    assert!(text.contains("✗ acting        this user may not write in its folder"), "{text}");
    assert!(text.contains("✗ trail") && text.contains("no act is done without its record"), "{text}");
    assert_eq!(code, 2);
}

#[test]
fn a_file_that_may_not_be_read_is_no_source() {
    let (folder, path) = in_the_open();
    chmod(&path, 0o000);
    let (text, code) = said_to_a_stranger(&path, folder.path());
    assert!(text.contains("✗ reachable") && text.contains("may not read the file"), "{text}");
    assert_eq!(code, 3);
}

#[test]
fn a_read_only_session_is_told_that_every_act_is_refused() {
    on_both(|| {
        let (practice, database) = (Practice::new(), healthy());
        let config = practice.config(database.source(), "read_only = true\nholders_on = \"elsewhere\"");
        for options in [&["--read-only"][..], &["--config", &config]] {
            let findings = practice.examine(options, database.source());
            findings.expect("acting", "warning", "read-only", "read_only = true");
            assert_eq!(findings.code, 1);
        }
        practice.examine(&[], database.source()).expect("acting", "ok", "may ", "");
    });
}

#[test]
fn the_audit_table_is_there_or_not() {
    on_both(|| {
        let (practice, database) = (Practice::new(), healthy());
        practice.examine(&[], database.source()).expect("audit table", "ok", "there is no table", "");
        let made =
            practice.command(&["audit", "init"]).arg(database.source()).output().expect("claimtop runs");
        assert!(made.status.success(), "{}", stderr(&made));
        practice.examine(&[], database.source()).expect("audit table", "ok", "claimtop_audit is there", "");
    });
}

#[test]
fn the_trail_is_looked_for_followed_and_doubted() {
    on_both(|| {
        let (practice, database) = (Practice::new(), healthy());
        practice.examine(&[], database.source()).expect("trail", "ok", "nothing was done yet", "");
        database.run("UPDATE task_claims SET claimed_at = 1600000000000, expires_at = 1600000000000", ());
        let act = ["reclaim", "--yes", "--holder", "session-1"];
        let acted =
            practice.command(&act).arg(database.source()).arg("task-1").output().expect("claimtop runs");
        assert!(acted.status.success(), "{}", stderr(&acted));
        let findings = practice.examine(&[], database.source());
        let trail: Vec<_> = findings.checks().into_iter().filter(|check| check["name"] == "trail").collect();
        assert!(trail.iter().all(|check| check["state"] == "ok"), "{trail:#?}");
        assert!(trail.iter().any(|check| check["said"].as_str().unwrap().contains("is whole")), "{trail:#?}");

        let journal = fs::read_to_string(practice.journal()).expect("the journal");
        fs::write(practice.journal(), journal.replace("task-1", "task-2")).expect("an edit");
        let findings = practice.examine(&[], database.source());
        findings.expect("trail", "failed", "it has been changed: journal.jsonl: line 1", "audit verify");
        assert_eq!(findings.code, 2);

        // Only the intent is left: what became of it is anybody's guess.
        let intent = journal.lines().next().expect("a line");
        fs::write(practice.journal(), format!("{intent}\n")).expect("a cut");
        let findings = practice.examine(&[], database.source());
        findings.expect("trail", "warning", "what became of 1 act is not known", "audit list --open");
    });
}
