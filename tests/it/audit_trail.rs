//! The audit trail: a chain that holds, and shows it when it does not.

mod actor;
mod batches;
mod child_process;
mod concurrent_writers;
mod crashes;
mod full_disks;
mod journal_lock;
mod mutations;
mod periods;
mod permissions;
mod segments;
mod tampering;

use claimtop::domain::visible::is_deceptive;
use claimtop::recovery::trail::{
    Anchor, JournalEntry, JournalFinding, Record, RecordStage, Trail, TrailError, UserIdentity, Verification,
    new_action_id,
};
use serde_json::{Value as Json, json};
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A trail in a folder of its own, gone at the end of the test.
struct Place {
    home: TempDir,
    trail: Trail,
}

impl Place {
    fn new() -> Place {
        let home = tempfile::tempdir().expect("a temporary folder");
        let trail = Trail::open(&home.path().join("audit")).expect("a trail");
        Place { home, trail }
    }

    fn with(count: usize) -> Place {
        let mut place = Place::new();
        place.add(count);
        place
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("audit")
    }

    fn journal(&self) -> PathBuf {
        self.folder().join("journal.jsonl")
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.journal()).expect("a journal")
    }

    fn put(&self, bytes: &[u8]) {
        fs::write(self.journal(), bytes).expect("a journal");
    }

    fn add(&mut self, count: usize) -> Vec<JournalEntry> {
        let records: Vec<Record> = (0..count).map(|_| intent()).collect();
        self.trail.append(&records).expect("appended")
    }

    fn findings(&self) -> Vec<JournalFinding> {
        only_findings(self.trail.verify(None).expect("verified"))
    }

    fn anchor(&self) -> Anchor {
        self.trail.verify(None).expect("verified").anchor
    }

    #[track_caller]
    fn assert_whole(&self, count: usize) {
        let verification = self.trail.verify(None).expect("verified");
        assert!(verification.is_whole, "{:?}", verification.findings);
        assert_eq!(self.trail.entries().expect("entries").len(), count);
    }
}

/// How often something is tried: the long form says so in the environment.
fn rounds(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// What was found, wherever.
fn only_findings(verification: Verification) -> Vec<JournalFinding> {
    verification.findings.into_iter().map(|found| found.finding).collect()
}

fn nobody() -> UserIdentity {
    UserIdentity {
        uid: 65_534,
        login: Some("nobody".into()),
        claimed_user: None,
        claimed_sudo_user: None,
        claimed_ssh: None,
        tty: None,
        host: "web1".into(),
    }
}

fn intent() -> Record {
    Record {
        stage: RecordStage::Intent,
        action_id: new_action_id(),
        action: "reclaim".into(),
        at: "2026-11-15T12:00:00Z".into(),
        db_at: None,
        by: "operator".into(),
        who: nobody(),
        source: "tasks".into(),
        fingerprint: "inode 12".into(),
        profile: "coordination".into(),
        board: "tasks".into(),
        address: "task-1".into(),
        holder: Some("session-1".into()),
        reason: Some("silent".into()),
        evidence: json!({"z": [1, {"b": 0.1, "a": null}], "a": "silent for 75s"}),
        before: json!([{"task_id": "task-1", "load": 0.30000000000000004}]),
        after: json!([]),
        outcome: None,
        why: None,
        refers_to: None,
        transaction: None,
        batch: None,
        inferred: false,
        tool: "claimtop 0.1.0".into(),
    }
}

fn outcome(of: &Record, outcome: &str) -> Record {
    Record { stage: RecordStage::Outcome, outcome: Some(outcome.into()), ..of.clone() }
}

#[test]
fn the_chain_holds_over_appends_and_reopening() {
    let mut place = Place::with(3);
    place.add(1);
    place.trail = Trail::open(&place.folder()).expect("reopened");
    let added = place.add(2);
    let all = place.trail.entries().expect("entries");
    assert_eq!(all.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(all[0].prev, "0".repeat(64));
    assert!(all.windows(2).all(|pair| pair[1].prev == pair[0].hash));
    assert_eq!(all[4..], added);
    assert_eq!(place.findings(), []);
    assert_eq!(place.anchor(), Anchor { count: 6, head: all[5].hash.clone() });
}

#[test]
fn what_is_read_is_what_was_written() {
    let mut place = Place::new();
    let record = intent();
    place.trail.append(std::slice::from_ref(&record)).expect("appended");
    let read = place.trail.entries().expect("entries").remove(0).record;
    assert_eq!(read.before, record.before);
    assert_eq!(read, record);
}

#[test]
fn the_text_does_not_depend_on_the_order_of_keys() {
    let mut place = Place::new();
    let one = Record { evidence: json!({"a": 1, "b": {"c": 2, "d": 3}}), ..intent() };
    let other = Record { evidence: json!({"b": {"d": 3, "c": 2}, "a": 1}), ..one.clone() };
    place.trail.append(&[one, other]).expect("appended");
    let text = String::from_utf8(place.bytes()).expect("UTF-8");
    let records: Vec<&str> = text.lines().filter_map(|line| line.split("\"record\":").nth(1)).collect();
    assert_eq!(records[0], records[1]);
}

#[test]
fn appending_nothing_writes_nothing() {
    let mut place = Place::with(1);
    let before = place.bytes();
    assert_eq!(place.trail.append(&[]).expect("appended"), []);
    assert_eq!(place.bytes(), before);
}

#[test]
fn a_line_longer_than_any_buffer_is_continued() {
    let mut place = Place::with(1);
    let huge = Record { before: json!("x".repeat(3_000_000)), ..intent() };
    place.trail.append(&[huge]).expect("appended");
    place.add(1);
    assert_eq!(place.findings(), []);
    place.assert_whole(3);
}

#[test]
fn a_record_that_could_not_be_read_back_is_refused() {
    let mut place = Place::with(1);
    let before = place.bytes();
    let deep = (0..200).fold(Json::Null, |inner, _| json!([inner]));
    let error = place.trail.append(&[intent(), Record { evidence: deep, ..intent() }]);
    assert!(matches!(error, Err(TrailError::Record(_))), "{error:?}");
    assert_eq!(place.bytes(), before);
}

#[test]
fn appending_reads_only_the_end_of_the_journal() {
    let mut place = Place::with(2);
    let lines = place.bytes();
    place.put(b"");
    // A hole that nobody could read in a test's time; it takes no room on disk.
    let file = fs::OpenOptions::new().write(true).open(place.journal()).expect("the journal");
    file.write_all_at(&[b"\n", lines.as_slice()].concat(), 1 << 36).expect("written far behind");
    let records: Vec<Record> = (0..500).map(|_| intent()).collect();
    let added = place.trail.append(&records).expect("appended");
    assert_eq!((added[0].seq, added.len()), (3, 500));
}

#[test]
fn the_files_are_their_owners_alone() {
    let place = Place::with(1);
    let mode = |path: &Path| fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
    assert_eq!(mode(&place.folder()), 0o700);
    assert_eq!(mode(&place.journal()), 0o600);
}

#[test]
fn a_session_that_only_reads_makes_nothing_and_writes_nothing() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join("audit");
    let mut trail = Trail::read_only(&folder).expect("an empty trail");
    assert_eq!(trail.entries().expect("entries"), []);
    assert_eq!(trail.verify(None).expect("verified").anchor, Anchor::start());
    assert!(matches!(trail.append(&[intent()]), Err(TrailError::ReadOnlySession { .. })));
    assert!(!folder.exists());
}

#[test]
fn an_intent_is_open_until_its_outcome_is_known() {
    let mut place = Place::new();
    let [done, lost, found, begun] = [intent(), intent(), intent(), intent()];
    let story = [
        done.clone(),
        lost.clone(),
        outcome(&done, "applied"),
        found.clone(),
        outcome(&lost, "unknown"),
        outcome(&found, "unknown"),
        begun.clone(),
        outcome(&found, "moved"),
    ];
    place.trail.append(&story).expect("appended");
    let open: Vec<String> =
        place.trail.open_actions().expect("open").into_iter().map(|entry| entry.record.action_id).collect();
    assert_eq!(open, [lost.action_id, begun.action_id]);
}

#[test]
fn hostile_strings_are_written_escaped_and_read_back_unchanged() {
    let mut place = Place::new();
    let hostile = "a\u{1b}]52;c;aGk=\u{7}\u{9b}2J\u{7f}\u{202e}\u{200b}\u{e0041}\r\n\"\\é";
    let record = Record {
        address: hostile.into(),
        reason: Some(hostile.into()),
        before: json!([{hostile: hostile}]),
        ..intent()
    };
    place.trail.append(&[record.clone(), record.clone()]).expect("appended");
    let text = String::from_utf8(place.bytes()).expect("UTF-8");
    assert!(text.chars().all(|c| c == '\n' || !is_deceptive(c)), "{text}");
    assert_eq!(text.lines().count(), 2);
    assert!(place.trail.entries().expect("entries").iter().all(|entry| entry.record == record));
    assert_eq!(place.findings(), []);
}

#[test]
fn action_ids_are_unique_and_sort_by_time() {
    let ids: Vec<String> = (0..1_000).map(|_| new_action_id()).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(ids.iter().all(|id| id.len() == 36 && id.as_bytes()[14] == b'7'));
}

#[test]
fn an_anchor_is_read_as_it_is_written() {
    let anchor = Place::with(2).anchor();
    assert_eq!(anchor.to_string().parse(), Ok(anchor));
    for bad in ["", "2", "2:abc", ":", "-1:00", "x:y\u{1b}"] {
        let error = bad.parse::<Anchor>().expect_err("no anchor").to_string();
        assert!(error.contains("COUNT:HASH") && error.chars().all(|c| !is_deceptive(c)), "{error}");
    }
}
