//! What version 0.1.0 left behind is read: its config, its journal and its state folder.
//!
//! `upgrades/0.1.0` was written by that version on a host called web-1, in `/srv/app`: seven acts by hand, a bulk, an
//! undo, and one sweep with sightings. A journal names the database file by device and inode, which no copy keeps;
//! `Left::here` writes the new numbers into the copy and chains it again.

use rusqlite::Connection;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

use crate::support::{command, json, lines, stderr, stdout};

const LEFT_BY: &str = "sqlite:65024:";
const ANCHOR: &str = "18:";

/// A copy of all that 0.1.0 left.
struct Left {
    folder: TempDir,
}

impl Left {
    /// As it was: the journal tells of a file elsewhere.
    fn elsewhere() -> Left {
        let folder = tempfile::tempdir().expect("a folder");
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/upgrades/0.1.0"), folder.path());
        Left { folder }
    }

    /// As if the upgrade had happened where the file is.
    fn here() -> Left {
        let left = Left::elsewhere();
        let (old, new) = (left.fingerprint_in_journal(), left.fingerprint());
        let text = fs::read_to_string(left.journal()).expect("a journal");
        fs::write(left.journal(), chained(&text.replace(&old, &new))).expect("a journal");
        let sightings = left.state().join("sightings");
        fs::rename(sightings.join(shelf(&old)), sightings.join(shelf(&new))).expect("sightings");
        left
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state/claimtop")
    }

    fn journal(&self) -> PathBuf {
        self.state().join("audit/journal.jsonl")
    }

    fn fingerprint(&self) -> String {
        let found = fs::metadata(self.folder.path().join("tasks.db")).expect("the file");
        format!("sqlite:{}:{}", found.dev(), found.ino())
    }

    fn fingerprint_in_journal(&self) -> String {
        let text = fs::read_to_string(self.journal()).expect("a journal");
        let start = text.find(LEFT_BY).expect("a fingerprint");
        let rest = &text[start..];
        rest[..rest.find('"').expect("its end")].to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.current_dir(self.folder.path()).env("XDG_STATE_HOME", self.folder.path().join("state"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("claimtop runs")
    }

    #[track_caller]
    fn succeed(&self, arguments: &[&str]) -> Output {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
        output
    }

    /// The applied acts on this address, oldest first.
    fn applied(&self, address: &str) -> Vec<Json> {
        let records = lines(&self.run(&["audit", "list", "--json"]));
        let wanted =
            |entry: &Json| entry["record"]["address"] == address && entry["record"]["outcome"] == "applied";
        records.into_iter().filter(wanted).map(|entry| entry["record"].clone()).collect()
    }

    fn undo(&self, id: &Json) {
        self.succeed(&["undo", "tasks.db", id.as_str().expect("an id"), "--yes"]);
    }

    fn texts(&self, sql: &str) -> Vec<String> {
        let connection = Connection::open(self.folder.path().join("tasks.db")).expect("a database");
        let mut statement = connection.prepare(sql).expect(sql);
        let rows = statement.query_map([], |row| row.get(0)).expect(sql);
        rows.collect::<Result<_, _>>().expect(sql)
    }
}

/// Copies a folder. Nobody else may write to a journal, and a checkout does not keep such modes.
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let copied = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            fs::create_dir(&copied).expect("a folder");
            copy(&path, &copied);
            fs::set_permissions(&copied, fs::Permissions::from_mode(0o700)).expect("a mode");
        } else {
            fs::copy(&path, &copied).expect("a copy");
            fs::set_permissions(&copied, fs::Permissions::from_mode(0o600)).expect("a mode");
        }
    }
}

/// The same records in a chain of their own, as version 0.1.0 computed it.
fn chained(journal: &str) -> String {
    let mut prev = "0".repeat(64);
    let mut all = String::new();
    for (number, line) in journal.lines().enumerate() {
        let opening = format!("{{\"seq\":{},\"prev\":\"{prev}\",", number + 1);
        let (_, rest) = line.split_once("\"hash\":\"").expect("a hash");
        let rest = rest.split_once("\",").expect("its end").1;
        prev = hex(&Sha256::digest(format!("{opening}{rest}").as_bytes()));
        all.push_str(&format!("{opening}\"hash\":\"{prev}\",{rest}\n"));
    }
    all
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The file that holds the sightings of a database.
fn shelf(fingerprint: &str) -> String {
    format!("{}.json", hex(&Sha256::digest(fingerprint.as_bytes())[..12]))
}

#[test]
fn a_config_of_0_1_0_is_read_and_protects_what_it_protected() {
    let left = Left::elsewhere();
    let checked = left.run(&["check", "prod", "--json", "--config", "config.toml"]);
    let answer = json(&checked);
    assert_eq!(answer["sources"][0]["profile"], "executor-jobs", "{}", stderr(&checked));
    assert_eq!(answer["sources"][1]["profile"], "coordination");
    let refused = left.run(&["reclaim", "prod", "resize-8", "--config", "config.toml"]);
    assert_eq!(refused.status.code(), Some(5), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("read-only"), "{}", stderr(&refused));
}

#[test]
fn a_journal_of_0_1_0_is_listed_and_verified() {
    let left = Left::elsewhere();
    let records = lines(&left.run(&["audit", "list", "--json"]));
    assert_eq!(records.len(), 20);
    assert!(records.iter().all(|entry| entry["record"]["tool"] == "claimtop 0.1.0"));
    assert!(stdout(&left.succeed(&["audit", "list"])).contains("end_session"));
    assert_eq!(lines(&left.run(&["audit", "export"])).len(), 20);
    let verified = stdout(&left.succeed(&["audit", "verify"]));
    let anchor = verified.split_whitespace().find(|word| word.starts_with(ANCHOR)).expect("an anchor");
    left.succeed(&["audit", "verify", "--anchor", anchor]);
}

#[test]
fn acts_of_0_1_0_are_undone() {
    let left = Left::here();
    assert_eq!(left.texts("SELECT task_id FROM task_claims ORDER BY 1"), ["archive-2", "resize-8"]);
    // Reclaimed, put back, and reclaimed again by the bulk.
    let [_, _, bulk] = &left.applied("coordination/task/resize-7")[..] else {
        panic!("three acts on resize-7")
    };
    left.undo(&bulk["batch"]);
    left.undo(&left.applied("coordination/task/resize-8")[0]["action_id"]);
    // The session that it released comes back before the claim that was taken from it.
    left.undo(&left.applied("coordination/task/send-mail")[0]["batch"]);
    left.undo(&left.applied("coordination/task/rebuild-index")[0]["action_id"]);
    for job in ["job-1", "job-2"] {
        left.undo(&left.applied(&format!("executor-jobs/job/{job}"))[0]["action_id"]);
    }
    let tasks = left.texts("SELECT task_id FROM task_claims WHERE expires_at = 1794739800000 ORDER BY 1");
    assert_eq!(tasks, ["archive-1", "archive-2", "rebuild-index", "resize-7", "resize-8", "send-mail"]);
    assert_eq!(left.texts("SELECT id FROM sessions ORDER BY 1"), ["cli-77aa", "cli-91c0", "cli-beef"]);
    let jobs =
        "SELECT id || ' ' || status || ' ' || locked_by || ' ' || attempts FROM executor_jobs ORDER BY 1";
    assert_eq!(left.texts(jobs), ["job-1 running w1 1", "job-2 running w2 10"]);
    left.succeed(&["audit", "verify"]);
}

#[test]
fn an_act_that_0_1_0_left_open_is_settled_by_its_row_in_the_database() {
    let left = Left::here();
    let text = fs::read_to_string(left.journal()).expect("a journal");
    // Killed between the commit and the record of the outcome.
    let cut = text.trim_end().rfind('\n').expect("lines") + 1;
    fs::write(left.journal(), &text[..cut]).expect("a journal");
    assert_eq!(lines(&left.run(&["audit", "list", "--open", "--json"])).len(), 1);
    left.succeed(&["reclaim", "tasks.db", "archive-2"]);
    assert!(lines(&left.run(&["audit", "list", "--open", "--json"])).is_empty());
    let [settled] = &left.applied("executor-jobs/job/job-2")[..] else { panic!("one outcome") };
    assert!(settled.get("inferred").is_none(), "{settled:#}");
    left.undo(&settled["action_id"]);
}

#[test]
fn the_state_folder_of_0_1_0_is_used_further() {
    let left = Left::here();
    let kept = left.state().join("sightings").join(shelf(&left.fingerprint()));
    let before = fs::read_to_string(&kept).expect("sightings");
    left.succeed(&["sweep", "tasks.db", "--once", "--sighted", "--json"]);
    assert_ne!(fs::read_to_string(&kept).expect("sightings"), before);
    assert_eq!(fs::read_dir(left.state().join("sightings")).expect("a folder").count(), 1);
    left.succeed(&["reclaim", "tasks.db", "archive-2", "--reason", "INC-300"]);
    let records = lines(&left.run(&["audit", "list", "--json"]));
    assert_eq!(records.len(), 22);
    left.succeed(&["audit", "verify"]);
}

#[test]
fn a_journal_that_tells_of_another_file_is_refused_with_the_reason() {
    let left = Left::elsewhere();
    let id = &left.applied("executor-jobs/job/job-1")[0]["action_id"];
    let refused = left.run(&["undo", "tasks.db", id.as_str().expect("an id"), "--yes"]);
    assert_eq!(refused.status.code(), Some(3), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("another"), "{}", stderr(&refused));
    assert_eq!(left.texts("SELECT status FROM executor_jobs WHERE id = 'job-1'"), ["queued"]);
}
