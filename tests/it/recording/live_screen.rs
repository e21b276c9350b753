//! The screen of a replay is that of the dashboard then, and looking at it changes nothing.

use claimtop::recording::Recording;
use std::path::Path;

use super::program::{AT_NOW, database, frames, recorded};
use crate::dashboard::pty::{ESC, Start, until};

/// The lines of the panes: without the mode, the notice and the keys, which differ, and the scrubber, which is new.
fn panes(screen: &str) -> Vec<String> {
    let lines: Vec<&str> = screen.lines().collect();
    let last = lines.iter().position(|line| line.starts_with(" ✗ ▁") || line.starts_with(" ✗ █"));
    let body = &lines[1..last.unwrap_or(lines.len())];
    // The tabs have one more in a replay; the past before the recording began is not in it.
    let is_same = |line: &&&str| !line.contains("Overview") && !line.contains("orphaned ");
    body.iter().filter(is_same).map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn every_pane_of_a_replay_shows_what_the_live_one_showed() {
    let database = database();
    let (path, state) = (database.beside("live.rec"), database.beside("state"));
    let start = || Start::claimtop(&state).env("NO_COLOR", "1").size(150, 44);
    let mut live = start().with("--read-only").with("--now").with(AT_NOW[1]).with(database.path()).run();
    live.wait("lost");
    live.press(&format!(":record {}\r", path.display()), "REC");
    until("frames", || (frames(&path) >= 2).then_some(()));
    let shown = |pty: &mut crate::dashboard::pty::Pty| -> Vec<Vec<String>> {
        // What only this pane has, and a row of it: the row alone may still be that of the pane before.
        [("2", "HOLDER", "fine"), ("4", "SESSION", "session-1"), ("1", "Timeline", "lost")]
            .map(|(key, heading, row)| {
                pty.press(key, heading);
                panes(&pty.wait_for(row, |screen| {
                    let shown = screen.contents();
                    shown.contains(heading) && shown.contains(row)
                }))
            })
            .to_vec()
    };
    let live_panes = shown(&mut live);
    assert_eq!(live.quit().status.exit_code(), 0);
    let mut replay = start().with(&path).run();
    replay.wait("REPLAY");
    replay.wait("lost");
    let replayed = shown(&mut replay);
    for (live, replayed) in live_panes.iter().zip(&replayed) {
        let common = live.len().min(replayed.len());
        // The scrubber takes three lines from the panes.
        let (live, replayed) = (&live[..common], &replayed[..common]);
        let rows = |lines: &[String]| -> Vec<String> {
            let of_claims = ["lost", "late", "fine", "session-1", "nobody"];
            // Acts do not exist in a replay.
            let is_act = |line: &&String| {
                ["r reclaim:", "x release:", "e extend:"].iter().any(|act| line.contains(act))
            };
            // Neither do the results of process checks.
            let shown =
                |line: &String| line.split("   the row names no host").next().unwrap_or_default().to_owned();
            let lines = lines.iter().filter(|line| !is_act(line));
            lines.filter(|line| of_claims.iter().any(|word| line.contains(word))).map(shown).collect()
        };
        assert!(!rows(live).is_empty(), "{live:#?}");
        assert_eq!(rows(replayed), rows(live));
    }
    replay.quit();
}

#[test]
fn a_replay_leaves_the_file_and_the_trail_as_they_are() {
    let database = database();
    let path = recorded(&database, &[]);
    let state = database.beside("state");
    std::fs::create_dir_all(state.join("claimtop/audit")).expect("a folder");
    std::fs::write(state.join("claimtop/audit/journal.jsonl"), "untouched\n").expect("a file");
    let tree = |folder: &Path| -> Vec<(String, Vec<u8>)> {
        let mut all: Vec<(String, Vec<u8>)> = Vec::new();
        let mut folders = vec![folder.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => {
                        all.push((path.display().to_string(), std::fs::read(&path).expect("a file")));
                    }
                }
            }
        }
        all.sort();
        all
    };
    let before = tree(database.folder());
    let mut pty = Start::claimtop(&state).with(&path).folder(database.folder()).size(120, 36).run();
    pty.wait("REPLAY");
    pty.wait("lost");
    for (key, text) in
        [("r", "acts do not exist here"), ("8", "does not contain the trail"), ("9", "9 Backtest")]
    {
        pty.press(key, text);
    }
    pty.press(":record again.rec\r", "nothing to record");
    pty.press("s", "Backtest");
    pty.press("]", "REPLAY");
    assert_eq!(pty.quit().status.exit_code(), 0);
    assert_eq!(tree(database.folder()), before);
}

#[test]
fn a_replay_shows_what_other_thresholds_would_have_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = crate::backtest::recorded_fleet(folder.path());
    assert!(Recording::open(&path).is_ok());
    for (columns, lines) in [(120, 36), (80, 24)] {
        let start = Start::claimtop(folder.path()).with(&path).size(columns, lines);
        let mut pty = start.run();
        pty.wait("9 backtest");
        let mut screens = pty.press("9", "wrongly taken");
        let questions = ["taking a silent claim", "giving a silent session up"];
        let other = questions.iter().find(|question| !screens.contains(**question));
        screens += &pty.press("j", other.expect("another threshold"));
        for part in ["orphan_after", "ttl", "recommended: ", "config: [source.billing.board.job]", "▲", "└1m"]
        {
            assert!(screens.contains(part), "{part} in\n{screens}");
        }
        pty.press("?", "What other thresholds would have done");
        pty.press(ESC, "wrongly taken");
        pty.quit();
    }
}
