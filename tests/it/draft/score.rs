//! How often a draft is right, on the tables of real systems. Drafts know none of the built-in profiles.
//!
//! Every file in `systems/` makes the tables of one system, with jobs that wait, run and are done, and begins with
//! what the profile should say.

use claimtop::profile::format::{Board, Engine, Time};
use claimtop::profile::{Library, Profile};
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
/// The same of the tables without rows.
const RIGHT_WITHOUT_ROWS: [usize; 5] = [52, 48, 45, 51, 43];

#[test]
fn most_drafts_find_the_table_the_holder_and_the_times() {
    let mut score = Score::default();
    for file in files("tests/it/draft/systems") {
        let text = fs::read_to_string(&file).expect("a file");
        let expected = expected(&text);
        let drafted = drafted(&file, &text).expect("the tables");
        score.add(&file, &drafted, |what| expected[what] == drafted[what]);
    }
    score.expect(RIGHT);
}

/// The same on the tables of the libraries themselves, without a row, compared with the built-in profiles.
#[test]
fn tables_without_rows_are_drafted_by_their_names() {
    let mut score = Score::default();
    for file in files("tests/it/systems/fixtures") {
        let stem = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let (system, engine) = stem.rsplit_once('.').expect("SYSTEM.ENGINE.sql");
        let described =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/systems.d").join(system).join("system.toml");
        let described: toml::Table = fs::read_to_string(described).expect("a system").parse().expect("TOML");
        let engine = if engine == "sqlite" { Engine::Sqlite } else { Engine::Postgres };
        let profile =
            Library::built_in().find(described["profile"].as_str().expect("a name")).expect("a profile");
        let profile = profile.on(engine).expect("a profile");
        let Some(drafted) = drafted(&file, &fs::read_to_string(&file).expect("a file")) else { continue };
        let board = profile.boards.iter().find(|board| board.table.eq_ignore_ascii_case(&drafted["table"]));
        score.add(&file, &drafted, |what| board.is_some_and(|board| agrees(board, what, &drafted[what])));
    }
    score.expect(RIGHT_WITHOUT_ROWS);
}

/// Whether a profile has this column, among others, for what is asked.
fn agrees(board: &Board, what: &str, drafted: &str) -> bool {
    // A fixed text stands in for a holder that the system does not have.
    let holder = board.holder.as_deref().filter(|sql| !sql.starts_with('\''));
    let deadline = &board.deadline;
    let sql = match what {
        "table" => return true,
        "holder" => holder,
        "claimed_at" => board.claimed_at.as_ref().map(Time::sql),
        "beat_at" => board.beat_at.as_ref().map(Time::sql),
        _ if deadline.holder => Some("holder"),
        _ => deadline.column.as_ref().map(Time::sql).or(deadline.claimed_at_plus.as_deref()),
    };
    let is_word = |part: &str| drafted.split(" + ").any(|drafted| drafted.eq_ignore_ascii_case(part));
    match sql {
        None => drafted == "-",
        Some(sql) => sql.split(|c: char| !c.is_alphanumeric() && c != '_').any(is_word),
    }
}

/// What was right so far, printed line by line.
#[derive(Default)]
struct Score {
    right: [usize; ASKED.len()],
    of: usize,
}

impl Score {
    fn add(&mut self, file: &Path, drafted: &BTreeMap<&str, String>, is_right: impl Fn(&str) -> bool) {
        if self.of == 0 {
            println!("{:<36} {}", "system", ASKED.map(|what| format!("{what:<12}")).concat());
        }
        let mut line = String::new();
        for (at, what) in ASKED.into_iter().enumerate() {
            let is_right = is_right(what);
            self.right[at] += usize::from(is_right);
            let said = if is_right { "yes".into() } else { format!("{}!", drafted[what]) };
            line.push_str(&format!("{said:<12}"));
        }
        println!("{:<36} {line}", file.file_stem().expect("a name").to_string_lossy());
        self.of += 1;
    }

    fn expect(&self, least: [usize; ASKED.len()]) {
        let share = self.right.map(|count| format!("{:<12}", format!("{count}/{}", self.of)));
        println!("{:<36} {}", "right", share.concat());
        for (at, what) in ASKED.into_iter().enumerate() {
            assert!(
                self.right[at] >= least[at],
                "{what}: {} of {}, was {}",
                self.right[at],
                self.of,
                least[at]
            );
        }
    }
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
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

/// What the draft says; nothing, if the tables cannot be made here.
fn drafted(file: &Path, text: &str) -> Option<BTreeMap<&'static str, String>> {
    let folder = tempfile::tempdir().expect("a folder");
    let profile = folder.path().join("draft.toml");
    let path = folder.path().join("jobs.db");
    let server = file.to_string_lossy().ends_with(".postgres.sql").then(|| PgDatabase::new(""));
    let made = match &server {
        Some(server) => server.attempt(text).map(|_| ()).map_err(|refusal| format!("{refusal:?}")),
        None => rusqlite::Connection::open(&path)
            .and_then(|connection| connection.execute_batch(text))
            .map_err(|error| error.to_string()),
    };
    if let Err(why) = made {
        // An extension that this server does not have, for example.
        println!("{} cannot be made: {why}", file.display());
        return None;
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
        return Some(ASKED.map(|what| (what, "none".to_owned())).into());
    }
    fs::write(&profile, &text).expect("written");
    let check = run(&["profile", "check", profile.to_str().expect("UTF-8")]);
    assert!(check.status.success(), "{}: {}\n{text}", file.display(), stdout(&check) + &stderr(&check));
    let profile = Profile::parse("draft", &text).expect("a profile");
    Some(columns(&profile.boards[0]))
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
