//! How often a draft is right, on the tables of real systems. Drafts know none of the built-in profiles.
//!
//! Every file in `systems/` makes the tables of one system, with jobs that wait, run and are done, and begins with
//! what the profile should say.

use claimtop::profile::Profile;
use claimtop::profile::format::Board;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::postgres::PgDatabase;
use crate::support::{command, stderr, stdout};

/// What a draft is asked for, and what the file says.
const ASKED: [&str; 5] = ["table", "holder", "claimed_at", "beat_at", "deadline"];

/// What was right of all systems the last time somebody worked on the guesses; it may only become more.
const RIGHT: [usize; 5] = [25, 25, 25, 25, 25];

#[test]
fn most_drafts_find_the_table_the_holder_and_the_times() {
    let mut right = [0; ASKED.len()];
    let files = files();
    println!("{:<28} {}", "system", ASKED.map(|what| format!("{what:<12}")).concat());
    for file in &files {
        let text = fs::read_to_string(file).expect("a file");
        let expected = expected(&text);
        let drafted = drafted(file, &text);
        let mut line = String::new();
        for (at, what) in ASKED.into_iter().enumerate() {
            let is_right = expected[what] == drafted[what];
            right[at] += usize::from(is_right);
            let said = if is_right { "yes".into() } else { format!("{}!", drafted[what]) };
            line.push_str(&format!("{said:<12}"));
        }
        println!("{:<28} {line}", file.file_stem().expect("a name").to_string_lossy());
    }
    println!(
        "{:<28} {}",
        "right",
        right.map(|count| format!("{:<12}", format!("{count}/{}", files.len()))).concat()
    );
    for (at, what) in ASKED.into_iter().enumerate() {
        assert!(right[at] >= RIGHT[at], "{what}: {} of {}, was {}", right[at], files.len(), RIGHT[at]);
    }
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/draft/systems");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// The first line: `-- table: jobs, holder: locked_by, ...`.
fn expected(text: &str) -> BTreeMap<&str, String> {
    let first = text.lines().next().and_then(|line| line.strip_prefix("-- ")).expect("what to expect");
    first
        .split(", ")
        .map(|pair| pair.split_once(": ").expect("a pair"))
        .map(|(key, value)| (key, value.into()))
        .collect()
}

fn drafted(file: &Path, text: &str) -> BTreeMap<&'static str, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let profile = folder.path().join("draft.toml");
    let path = folder.path().join("jobs.db");
    let server = file.to_string_lossy().ends_with(".postgres.sql").then(|| PgDatabase::new(text));
    if server.is_none() {
        let connection = rusqlite::Connection::open(&path).expect("a file");
        connection.execute_batch(text).expect("the tables");
    }
    let run = |arguments: &[&str]| -> Output {
        match &server {
            Some(server) => server.claimtop(arguments),
            None => command(arguments).arg(&path).output().expect("claimtop runs"),
        }
    };
    let output = run(&["profile", "draft"]);
    let text = stdout(&output);
    if !output.status.success() {
        return ASKED.map(|what| (what, "none".to_owned())).into();
    }
    fs::write(&profile, &text).expect("written");
    let check = run(&["profile", "check", profile.to_str().expect("UTF-8")]);
    assert!(check.status.success(), "{}: {}\n{text}", file.display(), stdout(&check) + &stderr(&check));
    let profile = Profile::parse("draft", &text).expect("a profile");
    columns(&profile.boards[0])
}

/// The columns of a draft by what they are, `-` where it has none.
fn columns(board: &Board) -> BTreeMap<&'static str, String> {
    let none = || "-".to_owned();
    let deadline = &board.deadline;
    let ends = match (&deadline.column, &deadline.claimed_at_plus, &board.claimed_at) {
        (Some(column), _, _) => bare(column.sql()),
        (None, Some(seconds), Some(since)) => format!("{} + {seconds}", since.sql()),
        _ if deadline.holder => "holder".into(),
        _ => none(),
    };
    BTreeMap::from([
        ("table", board.table.clone()),
        ("holder", board.holder.as_deref().map_or_else(none, bare)),
        ("claimed_at", board.claimed_at.as_ref().map_or_else(none, |time| bare(time.sql()))),
        ("beat_at", board.beat_at.as_ref().map_or_else(none, |time| bare(time.sql()))),
        ("deadline", ends),
    ])
}

/// The column in a value, which may be the last element of a list.
fn bare(sql: &str) -> String {
    let from = sql.split_once("c.").map_or(sql, |(_, rest)| rest);
    from.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}
