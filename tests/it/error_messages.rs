//! What goes wrong is said in one sentence, and never hides what goes right.

mod files;
mod holders_not_text;
mod overwritten_files;
mod permissions;
mod profile_sql;
mod settings;
mod tables;
mod thresholds;

use crate::support::postgres::PgDatabase;
use crate::support::{COORDINATION, Database, MINUTE, command, json, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::Output;

const AT_NOW: [&str; 2] = ["--now", "1794744000000"];

/// A database with one claim, of a living session, that expires so long after the frozen clock.
fn with_claim(expires_in: i64) -> Database {
    let database = Database::new(COORDINATION);
    database.session("session-1", MINUTE);
    database.task("task-1", "session-1", expires_in);
    database
}

/// A claim that nothing is wrong with.
fn healthy() -> Database {
    with_claim(20 * MINUTE)
}

fn run(arguments: &[&str], sources: &[&Path]) -> Output {
    command(arguments).args(AT_NOW).args(sources).output().expect("claimtop runs")
}

/// The same on one database, whichever engine it is on.
fn run_on(arguments: &[&str], database: &Database) -> Output {
    run(arguments, &[Path::new(&database.source())])
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit code")
}

/// The one sentence on standard error, less the name of the program.
fn sentence(output: &Output) -> String {
    let text = stderr(output);
    assert_eq!(text.lines().count(), 1, "one line: {text:?}");
    assert!(!text.contains("panicked"), "{text}");
    text.trim_end().strip_prefix("claimtop: ").expect("the program names itself").to_owned()
}

fn says(sentence: &str, parts: &[&str]) {
    for part in parts {
        assert!(sentence.contains(part), "{part:?} is not in: {sentence}");
    }
}

/// Holds `check` and `list` to everything that is promised of a source that cannot be read, and
/// hands back what was said of it.
fn refused(bad: &Path) -> String {
    refused_with(&[], bad, &bad.display().to_string())
}

/// The same of a database, whichever engine it is on.
fn refused_database(options: &[&str], bad: &Database) -> String {
    let (source, name) = (bad.source(), bad.server().map(PgDatabase::name));
    refused_with(options, Path::new(&source), name.unwrap_or(&source))
}

fn refused_with(options: &[&str], bad: &Path, name: &str) -> String {
    let with = |verb: &[&'static str], sources: &[&Path]| {
        let arguments: Vec<&str> = verb.iter().chain(options).copied().collect();
        run(&arguments, sources)
    };
    let alone = with(&["check"], &[bad]);
    assert_eq!(code(&alone), 3, "{}", stderr(&alone));
    assert_eq!(stdout(&alone), "");
    let said = sentence(&alone);
    let named = said.split(": ").next().unwrap_or_default();
    assert!(named.contains(name), "names the source: {said}");

    let listed = with(&["list"], &[bad]);
    assert_eq!((code(&listed), stdout(&listed)), (3, String::new()));
    assert_eq!(sentence(&listed), said);

    // The order of the sources must not matter.
    let good = healthy();
    let good = good.source();
    let good = Path::new(&good);
    for sources in [[bad, good], [good, bad]] {
        let both = with(&["check"], &sources);
        assert_eq!(code(&both), 3);
        assert_eq!(sentence(&both), said);
        assert!(stdout(&both).contains("all 1 claims are healthy"), "{}", stdout(&both));
        let both = with(&["list"], &sources);
        assert_eq!(code(&both), 3);
        assert!(stdout(&both).contains("task-1"), "{}", stdout(&both));
    }
    in_json(&with(&["check", "--json"], &[bad, good]), &said);

    // Critical goes before an error, and an error before a warning.
    let (late, near) = (with_claim(-MINUTE), with_claim(MINUTE));
    assert_eq!(code(&with(&["check"], &[bad, Path::new(&late.source())])), 2);
    assert_eq!(code(&with(&["check"], &[Path::new(&near.source()), bad])), 3);
    said
}

fn in_json(both: &Output, said: &str) {
    assert_eq!(code(both), 3);
    let all = json(both);
    let entries = all["sources"].as_array().expect("sources");
    assert_eq!(entries.len(), 2, "{all:#}");
    assert_eq!(entries[0]["ok"], false);
    assert_eq!(entries[0]["error"], said);
    assert_eq!(entries[1]["ok"], true);
    assert!(entries[1]["error"].is_null());
    assert_eq!(entries[1]["claims"]["healthy"], 1);
}

/// A file in a folder of its own.
struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Scratch {
        Scratch { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.at(name);
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// A database without a write-ahead log, closed: all of it is in one file.
    fn database(&self, name: &str, statements: &str) -> PathBuf {
        let path = self.at(name);
        let connection = rusqlite::Connection::open(&path).expect("a database");
        connection.execute_batch(statements).expect(statements);
        connection.close().expect("closed");
        path
    }
}

/// Thousands of claims in [`COORDINATION`], so that its tables have many pages.
const MANY_CLAIMS: &str = "
    INSERT INTO sessions VALUES ('session-1', '/project', 'cli', 1794740400000, 1794743970000, '{}', 4312);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
    INSERT INTO task_claims SELECT 'task-' || (100000 + i), 'session-1', 1794742800000, 1794745800000,
      1794743990000, 3, 'cli', NULL, '{\"note\": \"' || i || 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}' FROM n;";
