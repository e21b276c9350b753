//! Before there is anything to look at: no source, no file, no terminal, no valid config.

use std::fs;

use super::Scene;
use super::pty::{Ended, Start};
use crate::support::{command, stderr, stdout};

/// It said something, ended with an error, and never touched the screen.
fn assert_refused(ended: &Ended, said: &str) {
    assert_eq!(ended.status.exit_code(), 3, "{ended:?}");
    assert!(ended.is_sane && !ended.bytes.contains(&0x1b), "{ended:?}");
    let left = ended.left.replace('\n', "");
    assert!(left.contains(said), "{said:?} is not in {left}");
}

#[test]
fn a_file_that_is_not_there_is_said_without_touching_the_screen() {
    let scene = Scene::new();
    let missing = scene.database.beside("missing.db");
    let ended = scene.start().with(&missing).run().end();
    assert_refused(&ended, "missing.db: there is no such file, and no such verb; check the path");
}

#[test]
fn a_config_that_cannot_be_read_and_keys_that_clash_are_said_without_touching_the_screen() {
    let scene = Scene::usual();
    let config = scene.database.beside("config.toml");
    for (text, said) in [
        ("interval = \"1s\"\nintervall = \"2s\"\n", "config.toml:2: unknown field `intervall`"),
        ("interval = 7 7\n", "config.toml:1: "),
        ("theme = \"pink\"\n", "config.toml:1: an unknown word"),
        ("[keys]\nreclaim = \"x\"\n", "\"x\" is used by both reclaim and release"),
        ("[keys]\nrecliam = \"r\"\n", "there is no command \"recliam\""),
        ("[keys]\nreclaim = \"hyper-9\"\n", "\"hyper-9\" is no key"),
    ] {
        fs::write(&config, text).expect("a config");
        let ended = scene.start().with("--config").with(&config).with(scene.database.path()).run().end();
        assert_refused(&ended, said);
    }
    // And one that is fine does what it says.
    fs::write(&config, "theme = \"light\"\nmouse = \"off\"\n[keys]\nreclaim = [\"ctrl-r\", \"b\"]\n")
        .expect("a config");
    let mut pty = scene.start().with("--config").with(&config).with(scene.database.path()).run();
    pty.wait("task-old");
    pty.press("b", "done, u undoes it: reclaim task-old (worker-1)");
    let ended = pty.quit();
    assert!(!String::from_utf8_lossy(&ended.bytes).contains("\x1b[?1000h"), "the mouse is the terminal's");
}

#[test]
fn what_is_no_terminal_gets_a_sentence_and_a_hint() {
    let scene = Scene::usual();
    let output = command(&[]).arg(scene.database.path()).output().expect("claimtop runs");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("needs a terminal") && stderr(&output).contains("claimtop list"));
}

#[test]
fn without_a_source_the_screen_says_how_to_start_and_no_key_does_harm() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut pty = Start::claimtop(&folder.path().join("state")).folder(folder.path()).run();
    let shown = pty.wait("q leaves");
    assert!(shown.contains("claimtop tasks.db") && shown.contains("claimtop demo"), "{shown}");
    for key in
        ["r", "x", "e", "R", "X", "u", "p", "P", " ", "\r", "z", "s", "o", "y", "g", "G", "j", "k", "h", "l"]
    {
        pty.keys(key);
    }
    for pane in ["2", "3", "4", "5", "6", "7", "1", "\t"] {
        pty.keys(pane);
    }
    pty.press("?", "Put it right");
    pty.keys("q");
    pty.wait_without("q leaves", "Put it right");
    pty.quit();
    // The order of the lists is kept for the next start, and nothing else.
    let kept = fs::read_dir(folder.path().join("state/claimtop")).expect("a folder");
    let names: Vec<_> = kept.map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(names, ["dashboard.toml"]);
}
