//! A journal in which anything was changed: the verifier answers, and never in a panic.
//!
//! It knows nothing of the format: the program writes the journal, and its files are changed byte by byte.

use super::fuzz;
use crate::support::{COORDINATION, Database, MINUTE, command};
use claimtop::recovery::trail::Trail;
use std::fs;
use std::path::{Path, PathBuf};

/// The files below a folder, with what is in them.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        if entry.file_type().expect("a type").is_dir() {
            all.extend(files(&entry.path()));
        } else {
            all.push((entry.path(), fs::read(entry.path()).expect("a file")));
        }
    }
    all.sort();
    all
}

#[test]
fn a_journal_in_which_anything_was_changed() {
    let database = Database::new(COORDINATION);
    let state = tempfile::tempdir().expect("a folder");
    for number in 0..6 {
        database.task(&format!("task-{number}"), "nobody", -30 * MINUTE);
        let path = database.path();
        let output = command(&["reclaim", "--force", "--yes"])
            .arg(path)
            .arg(format!("task-{number}"))
            .env("XDG_STATE_HOME", state.path())
            .output()
            .expect("claimtop runs");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    let folder = state.path().join("claimtop/audit");
    let good = files(&folder);
    assert!(good.iter().any(|(_, bytes)| !bytes.is_empty()), "{good:?}");
    let verify = || Trail::read_only(&folder).and_then(|trail| trail.verify(None));
    assert!(verify().expect("a journal").is_whole);
    fuzz("the verifier of the journal answers, whatever is in its files", 400, |random| {
        let (path, bytes) = &good[random.below(good.len())];
        fs::write(path, random.changed_bytes(bytes)).expect("changed");
        // Whole, not whole or unreadable: any of them is an answer.
        let _ = verify();
        fs::write(path, bytes).expect("as it was");
    });
    assert!(verify().expect("a journal").is_whole);
}
