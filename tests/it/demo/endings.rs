//! However a demo ends, nothing of it is left: no process, not even a stopped one, and no file.

use super::*;

#[test]
fn it_ends_when_its_time_is_up() {
    let mut demo = Demo::temporary(&["--for", "3s"]);
    assert!(demo.folder.starts_with(fs::canonicalize(demo.around.path()).unwrap()));
    eventually("workers are there", || (processes(&demo.folder).len() > 12).then_some(()));
    let (status, said) = demo.end();
    assert_eq!(status.code(), Some(0));
    assert!(said.contains("workers started"), "{said}");
    // Not only soon: at once.
    assert!(processes(&demo.folder).is_empty());
    assert!(!demo.folder.exists());
    demo.assert_nothing_is_left();
}

fn it_ends_at(signal: Signal) {
    let mut demo = Demo::temporary(&[]);
    demo.wait_for_a_stopped_one();
    demo.signal(signal);
    let (status, said) = demo.end();
    assert_eq!(status.code(), Some(0), "{said}");
    demo.assert_nothing_is_left();
}

#[test]
fn it_ends_when_it_is_asked_to() {
    it_ends_at(Signal::TERM);
}

#[test]
fn it_ends_when_its_terminal_is_gone() {
    it_ends_at(Signal::HUP);
}

#[test]
fn it_ends_when_it_is_interrupted() {
    it_ends_at(Signal::INT);
}

#[test]
fn it_leaves_nothing_when_it_is_killed() {
    let mut demo = Demo::temporary(&[]);
    demo.wait_for_a_stopped_one();
    demo.signal(Signal::KILL);
    assert_eq!(demo.end().0.code(), None);
    demo.assert_nothing_is_left();
}

/// Killed while it is still starting everybody.
#[test]
fn it_leaves_nothing_when_it_is_killed_early() {
    for wait in [0, 20, 60, 150] {
        let mut demo = Demo::temporary(&["--workers", "30"]);
        park_timeout(Duration::from_millis(wait));
        demo.signal(Signal::KILL);
        demo.end();
        demo.assert_nothing_is_left();
    }
}

#[test]
fn without_a_terminal_there_is_no_dashboard_and_no_fleet() {
    let around = tempfile::tempdir().unwrap();
    let mut command = command(&["demo"]);
    let output = command.env("TMPDIR", around.path()).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("needs a terminal") && said.contains("--headless"), "{said}");
    assert_eq!(fs::read_dir(around.path()).unwrap().count(), 0);
}
