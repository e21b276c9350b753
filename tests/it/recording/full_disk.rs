//! A full disk ends a recording with a message. What was written can be read, and watching goes on.

use super::program::{AT_NOW, database, frames};
use crate::dashboard::pty::Start;
use crate::support::preload::Preload;
use crate::support::{MINUTE, command, stderr};

static FULL_DISK: Preload = Preload::new("full_disk");
/// The tables need 130 kB, a frame some more.
const ROOM: &str = "400000";

#[test]
fn record_ends_and_says_why() {
    let database = database();
    let path = database.beside("x.rec");
    let output = command(&["record", &database.source(), "--every", "100ms", "--out"])
        .arg(&path)
        .args(AT_NOW)
        .env("LD_PRELOAD", FULL_DISK.path())
        .env("FULL_AFTER", ROOM)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("recording stopped, the disk is full"), "{}", stderr(&output));
    assert!(frames(&path) > 1, "{} frames", frames(&path));
}

#[test]
fn the_dashboard_goes_on_without_recording() {
    let database = database();
    let path = database.beside("x.rec");
    let mut pty = Start::claimtop(&database.beside("state"))
        .with("--now")
        .with(AT_NOW[1])
        .with(database.path())
        .env("LD_PRELOAD", FULL_DISK.path())
        .env("FULL_AFTER", ROOM)
        .size(150, 40)
        .folder(database.folder())
        .run();
    pty.wait("lost");
    pty.press(":record x.rec\r", "REC");
    pty.wait("recording stopped, the disk is full; watching continues");
    assert!(frames(&path) > 1, "{} frames", frames(&path));
    database.task("later", "session-1", -MINUTE);
    let screen = pty.wait("later");
    assert!(!screen.contains("REC"), "{screen}");
    // Where there is no room, a recording does not begin, and that is said too.
    pty.press(":record other.rec\r", "other.rec: ");
    assert_eq!(pty.quit().status.exit_code(), 0);
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let database = database();
    let mut pty = Start::claimtop(&database.beside("state"))
        .with("--now")
        .with(AT_NOW[1])
        .with(database.path())
        .size(150, 40)
        .run();
    pty.wait("lost");
    pty.press(":record /nonexistent/x.rec\r", "/nonexistent/x.rec");
    assert!(!pty.screen().contains("REC "));
    pty.quit();
}
