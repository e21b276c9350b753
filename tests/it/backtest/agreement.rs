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
        record_once(&database, &path);
        let recording = Recording::open(&path).expect("a recording");
        let poll = recording.last_frame().expect("frames").and_then(|frame| frame.now).expect("a poll");
        let mut taken = Vec::new();
        for series in recording.series(&BTreeSet::new()).expect("series") {
            if series.subject.measure == Measure::Ttl
                && let Some(ttl) = series.current
            {
                taken.extend(series.taken_at(ttl, poll).map(|claim| series.claims[claim as usize].clone()));
            }
        }
        let output = database
            .command(&["sweep", "--once", "--dry-run", "--json"])
            .env("XDG_STATE_HOME", folder.path())
            .output()
            .expect("claimtop runs");
        let swept = lines(&output).into_iter().filter(|line| line["event"] == "claim:expired");
        let mut swept: Vec<String> =
            swept.map(|line| line["taskId"].as_str().expect("an id").to_owned()).collect();
        taken.sort();
        swept.sort();
        assert_eq!(taken, swept);
        assert_eq!(taken.len(), 3);
    });
}

fn record_once(database: &Database, path: &Path) {
    let options = database.options(Profiles::Detect(Library::built_in()), |options| {
        options.frozen_at = None;
        options.effort = Effort { rows: 200, ..options.effort };
    });
    let mut reader = Reader::open(options).expect("a reader");
    let (snapshots, whole) = (reader.poll().expect("a poll"), reader.whole(500).expect("boards"));
    let source =
        SourceIdentity { label: "jobs".into(), engine: "sqlite".into(), shown: "jobs".into(), badge: None };
    let now = snapshots[0].now;
    let mut writer =
        RecordingWriter::create(path, &[source], RecordingOptions::default(), now).expect("a recording");
    let fingerprint = reader.fingerprint();
    let seen = PollSeen {
        snapshots: &snapshots,
        whole: &whole,
        horizon: None,
        warnings: &[],
        causes: &[],
        events: &[],
        fingerprint: &fingerprint,
    };
    writer.record_poll(0, now, &seen).expect("a frame");
    writer.finish(now).expect("an end");
}
