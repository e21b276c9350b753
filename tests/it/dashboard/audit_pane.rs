//! The Audit pane on a real journal: a bulk unfolds, a filter finds, and u on a bulk takes all of it back.

use std::process::Command;

use super::pty::{ESC, until};
use super::*;

/// Three claims that were reclaimed as one bulk, and one by itself.
fn after_a_bulk() -> Scene {
    let scene = Scene::new();
    scene.session("worker-1", SECOND);
    scene.task("task-alone", "worker-1", -60 * MINUTE);
    run(&scene, &["reclaim", "DB", "task-alone", "--reason", "by itself"]);
    for number in 0..3 {
        scene.task(&format!("task-{number}"), "worker-1", -60 * MINUTE);
    }
    run(&scene, &["reclaim", "DB", "--set", "stale", "--yes", "--reason", "INC-204"]);
    assert_eq!(scene.ids(), Vec::<String>::new());
    scene
}

fn run(scene: &Scene, arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_claimtop"));
    for argument in arguments {
        match *argument {
            "DB" => command.arg(scene.database.path()),
            other => command.arg(other),
        };
    }
    command.env("XDG_STATE_HOME", scene.state()).env("XDG_CONFIG_HOME", "/proc/nonexistent");
    let output = command.output().expect("claimtop runs");
    assert!(output.status.success(), "{output:?}");
}

fn in_audit(scene: &Scene) -> Pty {
    let mut pty = scene.open();
    pty.press(":audit", "the trail of all acts");
    pty.press("\r", "[+] 3 claims");
    pty
}

#[test]
fn a_bulk_is_one_line_that_unfolds() {
    let scene = after_a_bulk();
    let mut pty = in_audit(&scene);
    let folded = pty.screen();
    assert!(folded.contains("task-alone") && folded.contains("INC-204"), "{folded}");
    assert!(!folded.contains("task-1"), "{folded}");
    pty.press("\r", "task-1");
    let unfolded = pty.screen();
    assert!(unfolded.contains("[-] 3 claims"), "{unfolded}");
    pty.press("j\r", "Evidence");
    pty.wait("lease_expired");
    pty.keys(ESC);
    pty.quit();
}

#[test]
fn a_filter_finds_acts_in_the_journal() {
    let scene = after_a_bulk();
    let mut pty = in_audit(&scene);
    pty.press("/", "since:2h");
    pty.keys("claim:task-alone\r");
    pty.wait_without("task-alone", "[+] 3 claims");
    pty.press(ESC, "[+] 3 claims");
    pty.press("/", "since:2h");
    pty.press("action:undo\r", "no entry passes the filter");
    pty.press(ESC, "[+] 3 claims");
    pty.press("/", "since:2h");
    pty.press("until:1h\r", "no entry passes the filter");
    pty.quit();
}

#[test]
fn u_on_a_bulk_takes_all_of_it_back() {
    let scene = after_a_bulk();
    let mut pty = in_audit(&scene);
    pty.press("u", "y undo");
    pty.keys("y");
    until("the rows are back", || (scene.ids() == ["task-0", "task-1", "task-2"]).then_some(()));
    // The undo is a bulk of its own.
    pty.wait_for("two bulks", |screen| screen.contents().matches("[+] 3 claims").count() == 2);
    pty.quit();
}
