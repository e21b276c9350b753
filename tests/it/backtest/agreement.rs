//! The backtest at an instant agrees with `sweep --dry-run` on the database of that instant.

use claimtop::profile::Library;
use claimtop::reference::System;
use claimtop::store::{Effort, Profiles, Reader};

use super::*;
use crate::support::engine::on_both;
use crate::support::{Database, lines};

/// A job of a kind that was locked so many minutes ago, and beat later.
fn job(database: &Database, name: &str, kind: &str, locked: i64, beat: Option<i64>) {
    let ago = |minutes: i64| {
        let at = chrono::Utc::now() - chrono::TimeDelta::minutes(minutes);
        at.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
    };
    database.run(
        "INSERT INTO executor_jobs (id, dedupe_key, type, status, locked_at, heartbeat_at, locked_by, attempts)
         VALUES (?1, ?2, ?3, 'running', ?4, ?5, 'worker-1', 1)",
        (uuid::Uuid::now_v7().to_string(), name, kind, ago(locked), beat.map(ago)),
    );
}

#[test]
fn the_takes_at_an_instant_are_those_of_a_dry_run_then() {
    on_both(|| {
        let database = Database::of(System::ExecutorJobs);
        let rows = [
            ("run_tsa", 35, None),
            ("run_tsa", 29, None),
            ("run_tsa", 90, Some(2)),
            ("run_tsa", 90, Some(31)),
        ];
        let more =
            [("build_artifact", 14, None), ("build_artifact", 16, None), ("protect_document_v2", 6, Some(1))];
        for (number, (kind, locked, beat)) in rows.into_iter().chain(more).enumerate() {
            job(&database, &format!("job-{number}"), kind, locked, beat);
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("jobs.rec");
        let mut recorder = Recorder::begin(&database, &path);
        let poll = recorder.poll();
        recorder.writer.finish(poll).expect("an end");
        let taken = taken_at(&path, poll);
        assert_eq!(taken, swept(database.command(DRY_RUN), folder.path()));
        assert_eq!(taken.len(), 3);
    });
}

#[test]
fn a_recording_that_went_on_agrees_with_a_dry_run_on_a_copy_of_the_file_then() {
    let database = Database::of(System::ExecutorJobs);
    for (number, minutes) in [35, 29, 31, 90].into_iter().enumerate() {
        job(&database, &format!("job-{number}"), "run_tsa", minutes, None);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (path, copy) = (folder.path().join("jobs.rec"), folder.path().join("then.db"));
    let mut recorder = Recorder::begin(&database, &path);
    recorder.poll();
    job(&database, "job-4", "build_artifact", 16, None);
    let then = recorder.poll();
    database.run("VACUUM INTO ?1", [copy.to_str().expect("UTF-8")]);
    // What happened afterwards does not matter to what was due then.
    database.run("DELETE FROM executor_jobs WHERE dedupe_key = 'job-0'", []);
    let now = chrono::Utc::now().format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    database.run("UPDATE executor_jobs SET heartbeat_at = ?1 WHERE dedupe_key = 'job-2'", [now]);
    let end = recorder.poll();
    recorder.writer.finish(end).expect("an end");
    let mut dry_run = crate::support::command(DRY_RUN);
    dry_run.arg(&copy);
    let taken = taken_at(&path, then);
    assert_eq!(taken, swept(dry_run, folder.path()));
    assert_eq!(taken.len(), 4);
    assert_eq!(taken_at(&path, end).len(), 2);
}

const DRY_RUN: &[&str] = &["sweep", "--once", "--dry-run", "--json"];

/// The claims that a sweep at this poll would have taken, by the recording.
fn taken_at(path: &Path, poll: Moment) -> Vec<String> {
    let recording = Recording::open(path).expect("a recording");
    let mut taken = Vec::new();
    for series in recording.series(&BTreeSet::new()).expect("series") {
        if series.subject.measure == Measure::Ttl
            && let Some(ttl) = series.current
        {
            taken.extend(series.taken_at(ttl, poll).map(|claim| series.claims[claim as usize].clone()));
        }
    }
    taken.sort();
    taken
}

/// The claims that a dry run names.
fn swept(mut command: std::process::Command, state: &Path) -> Vec<String> {
    let output = command.env("XDG_STATE_HOME", state).output().expect("claimtop runs");
    let swept = lines(&output).into_iter().filter(|line| line["event"] == "claim:expired");
    let mut swept: Vec<String> =
        swept.map(|line| line["taskId"].as_str().expect("an id").to_owned()).collect();
    swept.sort();
    swept
}

/// Polls a database and records what it sees.
struct Recorder {
    reader: Reader,
    writer: RecordingWriter,
}

impl Recorder {
    fn begin(database: &Database, path: &Path) -> Recorder {
        let options = database.options(Profiles::Detect(Library::built_in()), |options| {
            options.frozen_at = None;
            options.effort = Effort { rows: 200, ..options.effort };
        });
        let source = SourceIdentity {
            label: "jobs".into(),
            engine: "sqlite".into(),
            shown: "jobs".into(),
            badge: None,
        };
        let writer = RecordingWriter::create(path, &[source], RecordingOptions::default(), at(0));
        Recorder { reader: Reader::open(options).expect("a reader"), writer: writer.expect("a recording") }
    }

    /// Returns the clock of the database.
    fn poll(&mut self) -> Moment {
        let (snapshots, whole) =
            (self.reader.poll().expect("a poll"), self.reader.whole(500).expect("boards"));
        let now = snapshots[0].now;
        let seen = PollSeen {
            snapshots: &snapshots,
            whole: &whole,
            horizon: None,
            warnings: &[],
            causes: &[],
            events: &[],
            fingerprint: &self.reader.fingerprint(),
        };
        self.writer.record_poll(0, now, &seen).expect("a frame");
        now
    }
}
