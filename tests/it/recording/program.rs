//! The program: `record`, `check --at`, `list --at`, the replay on a screen, kills and files that are no recordings.

use claimtop::recording::{APPLICATION_ID, Recording};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

use crate::dashboard::pty::{Start, until};
use crate::support::{COORDINATION, Database, MINUTE, command, json, lines, stderr, stdout};

pub(super) const AT_NOW: [&str; 2] = ["--now", "1794744000000"];

/// One healthy claim, one that ran out, one whose session is gone.
pub(super) fn database() -> Database {
    let database = Database::new(COORDINATION);
    database.session("session-1", MINUTE);
    database.task("fine", "session-1", 20 * MINUTE);
    database.task("late", "session-1", -MINUTE);
    database.task("lost", "nobody", 20 * MINUTE);
    database
}

pub(super) fn frames(path: &Path) -> usize {
    Recording::open(path).and_then(|recording| recording.frames()).map_or(0, |frames| frames.len())
}

/// The recorder, once it has written so many frames.
pub(super) fn recorder(database: &Database, path: &Path, options: &[&str], least: usize) -> Child {
    let mut command = command(&["record", &database.source(), "--every", "100ms", "--out"]);
    command.env("XDG_STATE_HOME", database.beside("state"));
    let child = command.arg(path).args(AT_NOW).args(options).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = child.spawn().expect("claimtop runs");
    until("frames", || (frames(path) >= least).then_some(()));
    child
}

pub(super) fn terminate(mut child: Child) -> Output {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
    let status = child.wait().expect("an end");
    Output { status, stdout: Vec::new(), stderr: Vec::new() }
}

/// A finished recording of the usual claims.
pub(super) fn recorded(database: &Database, options: &[&str]) -> PathBuf {
    let path = database.beside("incident.rec");
    let least = frames(&path) + 3;
    let ended = terminate(recorder(database, &path, options, least));
    assert_eq!(ended.status.code(), Some(0));
    path
}

#[test]
fn a_recording_is_checked_and_listed_as_the_database_was() {
    let database = database();
    let live = command(&["check", "--json", &database.source()]).args(AT_NOW).output().expect("it runs");
    let path = recorded(&database, &[]);
    assert!(!database.beside("incident.rec-wal").exists(), "one file");
    database.run("DELETE FROM task_claims", []);
    let check = command(&["check", "--json"]).arg(&path).output().expect("it runs");
    assert_eq!(check.status.code(), live.status.code());
    for field in ["claims", "reasons", "sessions", "boards", "profile", "engine", "source"] {
        assert_eq!(json(&check)["sources"][0][field], json(&live)["sources"][0][field], "{field}");
    }
    let listed = command(&["list", "--json"]).arg(&path).output().expect("it runs");
    let ids: Vec<String> = lines(&listed).iter().map(|one| one["id"].as_str().unwrap_or("").into()).collect();
    assert_eq!(ids, ["lost", "late", "fine"], "{}", stderr(&listed));
    let stale = command(&["list", "--json", "--set", "stale"]).arg(&path).output().expect("it runs");
    assert_eq!(lines(&stale).len(), 1);
    let early = command(&["list", "--at", "2001-01-01T00:00:00Z"]).arg(&path).output().expect("it runs");
    assert_eq!(early.status.code(), Some(3));
    assert!(stderr(&early).contains("it begins at"), "{}", stderr(&early));
}

#[test]
fn a_recording_can_be_read_with_sqlite_while_it_is_written() {
    let database = database();
    let path = database.beside("x.rec");
    let child = recorder(&database, &path, &[], 2);
    let connection = Connection::open(&path).expect("a database");
    let before: i64 =
        connection.query_row("SELECT count(*) FROM frame", [], |row| row.get(0)).expect("frames");
    until("another frame", || {
        let now: i64 = connection.query_row("SELECT count(*) FROM frame", [], |row| row.get(0)).ok()?;
        (now > before).then_some(())
    });
    let orphaned: i64 = connection
        .query_row("SELECT orphaned FROM board_poll ORDER BY frame DESC LIMIT 1", [], |row| row.get(0))
        .expect("counts");
    assert_eq!(orphaned, 1);
    drop(connection);
    assert_eq!(terminate(child).status.code(), Some(0));
}

#[test]
fn a_killed_recorder_loses_at_most_the_frame_it_was_writing() {
    let kills: usize =
        std::env::var("CLAIMTOP_RECORDER_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let database = database();
    let path = database.beside("x.rec");
    let mut had = 0;
    for _ in 0..kills {
        let mut child = recorder(&database, &path, &[], had + 2);
        let seen = frames(&path);
        child.kill().expect("a kill");
        child.wait().expect("an end");
        let connection = Connection::open(&path).expect("a database");
        let check: String =
            connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a check");
        assert_eq!(check, "ok");
        drop(connection);
        had = frames(&path);
        assert!(had >= seen, "{had} of {seen} frames that were seen before the kill");
        let recording = Recording::open(&path).expect("a recording");
        let last = recording.last_frame().expect("readable").expect("a frame");
        let poll = recording.poll(&last).expect("readable").expect("a poll");
        assert_eq!(poll.snapshots[0].boards.iter().map(|board| board.counts.total).sum::<u64>(), 3);
    }
}

#[test]
fn what_is_no_recording_is_said() {
    let database = database();
    let path = recorded(&database, &[]);
    let change = |name: &str, change: &dyn Fn(&Path)| {
        let copy = database.beside(name);
        std::fs::copy(&path, &copy).expect("a copy");
        change(&copy);
        copy
    };
    let newer = change("newer.rec", &|copy| {
        Connection::open(copy)
            .and_then(|file| file.pragma_update(None, "user_version", 99))
            .expect("a version");
    });
    let damaged = change("damaged.rec", &|copy| {
        Connection::open(copy).and_then(|file| file.execute_batch("DROP TABLE frame")).expect("a change");
    });
    let torn = change("torn.rec", &|copy| {
        let bytes = std::fs::read(copy).expect("a file");
        let mut torn = bytes[..bytes.len() / 2].to_vec();
        torn[4_096..].iter_mut().for_each(|byte| *byte = 0x55);
        std::fs::write(copy, torn).expect("a file");
    });
    for (file, said) in [
        (&newer, "was recorded by a newer claimtop"),
        (&damaged, "is damaged"),
        (&torn, "is damaged"),
        (&database.path(), "is not a recording of claimtop"),
        (&database.beside("missing.rec"), "there is no such file"),
    ] {
        let output = command(&["check", "--at", "03:12"]).arg(file).output().expect("it runs");
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(stderr(&output).contains(said), "{said}: {}", stderr(&output));
    }
    // An ordinary database is not overwritten, and is still opened live.
    let output =
        command(&["record", &database.source(), "--out"]).arg(database.path()).output().expect("it runs");
    assert_eq!(output.status.code(), Some(3), "{}", stdout(&output));
    assert!(stderr(&output).contains("is not a recording"), "{}", stderr(&output));
    let output = command(&["check", &database.source()]).args(AT_NOW).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn a_replay_shows_the_past_and_writes_nowhere() {
    let database = database();
    let path = recorded(&database, &[]);
    database.run("DELETE FROM task_claims", []);
    let before = std::fs::read(&path).expect("a file");
    let state = database.beside("state");
    let mut pty = Start::claimtop(&state).with(&path).size(150, 40).run();
    pty.wait("REPLAY");
    pty.wait("lost");
    pty.wait("late");
    pty.press("r", "acts do not exist here");
    pty.press("2", "fine");
    pty.press("4", "session-1");
    pty.press("8", "does not contain the trail");
    pty.press("1", "lost");
    pty.press(":at 2100-01-01T00:00:00Z\r", "⏸");
    pty.press(".", "⏸");
    pty.press(" ", "REPLAY");
    let ended = pty.quit();
    assert_eq!(ended.status.exit_code(), 0);
    assert_eq!(std::fs::read(&path).expect("a file"), before);
    assert!(!state.exists(), "a replay has a trail");
    let id: i32 = Connection::open(&path)
        .and_then(|file| file.pragma_query_value(None, "application_id", |row| row.get(0)))
        .expect("an id");
    assert_eq!(id, APPLICATION_ID);
}

#[test]
fn a_source_that_cannot_be_read_is_reported_and_is_no_success() {
    let database = database();
    let (missing, out) = (database.beside("missing.db"), database.beside("gaps.rec"));
    let mut record = command(&["record", "--for", "1s", "--out"]);
    let ran = record.arg(&out).arg(&missing).output().expect("claimtop runs");
    assert_eq!(ran.status.code(), Some(3), "{}", stdout(&ran));
    let told = stderr(&ran);
    assert!(
        told.contains("missing.db: there is no such file") && told.contains("; recorded as a gap"),
        "{told}"
    );
    assert!(told.contains("nothing could be read") && told.contains("gaps.rec has only gaps"), "{told}");
}
