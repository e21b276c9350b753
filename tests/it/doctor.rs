//! The doctor on real files: each check in good and in bad state, its fix, and no trace of the visit.

mod claims;
mod cron;
mod files;
mod on_mysql;
mod on_postgres;
mod output;
mod permissions;
mod profile_fit;

use crate::support::{COORDINATION, Database, MINUTE, command};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const AT_NOW: [&str; 2] = ["--now", "1794744000000"];

/// A place for the trail and the config, away from the user's.
struct Practice {
    folder: TempDir,
}

impl Practice {
    fn new() -> Practice {
        Practice { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn journal(&self) -> PathBuf {
        self.state().join("claimtop/audit/journal.jsonl")
    }

    /// A config with one source at this place, and these settings for it.
    fn config(&self, source: impl AsRef<Path>, settings: &str) -> String {
        let path = self.folder.path().join("config.toml");
        let text = format!("[source.prod]\nat = \"{}\"\n{settings}\n", source.as_ref().display());
        std::fs::write(&path, text).expect("the config");
        path.display().to_string()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("XDG_STATE_HOME", self.state());
        command
    }

    fn doctor(&self, options: &[&str], source: impl AsRef<Path>) -> Output {
        let mut command = self.command(&["doctor"]);
        command.args(AT_NOW).args(options).arg(source.as_ref()).output().expect("claimtop runs")
    }

    fn examine(&self, options: &[&str], source: impl AsRef<Path>) -> Findings {
        let output = self.doctor(&[&["--json"], options].concat(), source);
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let object = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)));
        Findings { object, code: output.status.code().expect("an exit code") }
    }
}

/// What the doctor said of one source.
struct Findings {
    object: Json,
    code: i32,
}

impl Findings {
    fn checks(&self) -> Vec<&Json> {
        self.object["checks"].as_array().expect("checks").iter().collect()
    }

    /// The worst of the checks with this name.
    #[track_caller]
    fn check(&self, name: &str) -> (String, String, String) {
        let rank =
            |check: &&Json| ["ok", "warning", "failed"].iter().position(|state| check["state"] == *state);
        let found = self.checks().into_iter().filter(|check| check["name"] == name).max_by_key(rank);
        let found = found.unwrap_or_else(|| panic!("no check {name} in {:#}", self.object));
        let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        (text("state"), text("said"), text("fix"))
    }

    /// The check went like this, and its sentence and its fix hold these words.
    #[track_caller]
    fn expect(&self, name: &str, state: &str, said: &str, fix: &str) {
        let check = self.check(name);
        assert_eq!(check.0, state, "{check:?}");
        assert!(check.1.contains(said), "{said:?} in {check:?}");
        assert!(check.2.contains(fix), "{fix:?} in {check:?}");
        assert_eq!(check.2.is_empty(), state == "ok", "what is wrong has a fix, and nothing else: {check:?}");
    }
}

/// The tables of coordination with a claim that nothing is wrong with.
fn healthy() -> Database {
    let database = Database::new(COORDINATION);
    database.session("session-1", MINUTE);
    database.task("task-1", "session-1", 20 * MINUTE);
    database
}

#[test]
fn a_source_that_nothing_is_wrong_with_gets_only_ticks_and_exit_code_0() {
    let (practice, database) = (Practice::new(), healthy());
    let config = practice.config(database.path(), "holders_on = \"elsewhere\"");
    let findings = practice.examine(&["--config", &config], database.path());
    assert!(findings.checks().iter().all(|check| check["state"] == "ok"), "{:#}", findings.object);
    assert_eq!((findings.code, findings.object["state"].as_str()), (0, Some("ok")));
    for name in [
        "reachable",
        "sqlite",
        "journal",
        "log",
        "file system",
        "profile",
        "queries",
        "indexes",
        "counts",
        "times",
        "clock",
        "sweeping",
        "holders",
        "acting",
        "audit table",
        "trail",
    ] {
        findings.expect(name, "ok", "", "");
    }
}
