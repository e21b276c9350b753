//! `serve --record` and `sweep --every --record`: a recording exists when the pager rings.

use super::*;
use crate::dashboard::pty::until;
use crate::support::preload::Preload;
use crate::support::{COORDINATION, Database, MINUTE, stderr};
use claimtop::recording::Recording;

static FULL_DISK: Preload = Preload::new("full_disk");

fn frames(path: &Path) -> usize {
    Recording::open(path).and_then(|recording| recording.frames()).map_or(0, |frames| frames.len())
}

/// One claim whose lease ended an hour ago.
fn expired() -> Database {
    let database = Database::new(COORDINATION);
    let now = chrono::Utc::now().timestamp_millis();
    database.run("INSERT INTO sessions VALUES ('worker-1', '/project', 'cli', ?1, ?1, '{}', NULL)", [now]);
    database.run(
        "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
         VALUES ('overdue', 'worker-1', ?1, ?2, ?1)",
        [now - 120 * MINUTE, now - 60 * MINUTE],
    );
    database
}

fn stale(path: &Path) -> u64 {
    let recording = Recording::open(path).expect("a recording");
    recording.counts().expect("counts").last().map_or(0, |entry| entry.counts.stale)
}

#[test]
fn a_server_of_metrics_records_beside_them() {
    let database = expired();
    let path = database.beside("today.rec");
    let file = path.to_str().expect("UTF-8");
    let mut server = Server::start(&["--record", file, "--keep", "24h"], &[&database.path()]);
    server.wait_until_read();
    until("frames", || (frames(&path) >= 2).then_some(()));
    assert_eq!(stale(&path), 1);
    assert_eq!(server.end().code(), Some(0));
    assert!(Recording::open(&path).and_then(|recording| recording.is_finished()).expect("a recording"));
    assert!(!database.beside("today.rec-wal").exists(), "one file");
}

#[test]
fn metrics_go_on_when_the_disk_of_the_recording_is_full() {
    let database = expired();
    let path = database.beside("today.rec");
    let mut command = serve(&["--listen", "127.0.0.1:0", "--every", "100ms", "--record"], &[]);
    command.arg(&path).arg(database.path()).env("XDG_STATE_HOME", database.beside("state"));
    command.env("LD_PRELOAD", FULL_DISK.path()).env("FULL_AFTER", "400000");
    let mut server = Server::run(command, tempfile::tempdir().expect("a folder"));
    until("the message", || server.errors().contains("the disk is full").then_some(()));
    let before = server.wait_until_read().sum("claimtop_polls_total", &[]);
    server.wait("another poll", |told| told.sum("claimtop_polls_total", &[]) > before);
    assert!(frames(&path) > 1);
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn a_sweep_records_beside_it_and_the_recording_has_what_it_took() {
    let database = expired();
    let path = database.beside("today.rec");
    let patience = config(database.folder(), "[sweep]\nsighted_for = \"0s\"\n");
    let mut command =
        crate::support::command(&["sweep", "--every", "200ms", "--max-share", "100%", "--config"]);
    command
        .arg(patience)
        .arg("--record")
        .arg(&path)
        .arg(database.path())
        .env("XDG_STATE_HOME", database.beside("state"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
    until("the claim to be taken", || {
        (database.number("SELECT count(*) FROM task_claims") == 0).then_some(())
    });
    until("a frame without it", || (frames(&path) >= 2 && stale(&path) == 0).then_some(()));
    let sent = Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    assert_eq!(child.wait().expect("its end").code(), Some(0));
    assert!(Recording::open(&path).and_then(|recording| recording.is_finished()).expect("a recording"));
}

#[test]
fn options_of_a_recording_need_a_file() {
    let database = expired();
    for option in [&["--keep", "24h"][..], &["--whole"], &["--hash-ids"]] {
        let output = serve(option, &[&database.path()]).output().expect("it runs");
        assert!(output.status.code() == Some(3), "{output:?}");
        assert!(stderr(&output).contains("need --record FILE"), "{}", stderr(&output));
    }
}
