//! What a recording costs: a day at one poll a second over 10,000 live claims, accelerated. The size of the file, the time
//! of a frame, and the time to show any instant.
//!
//! `cargo bench --bench recording` records 24 hours; `-- 1` records that many hours instead.

#![allow(clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

use claimtop::domain::claim::{Claim, Registry, Role, Session, StampedBy};
use claimtop::domain::detail::Horizon;
use claimtop::domain::fencing::Fencing;
use claimtop::domain::recovery::Action;
use claimtop::domain::rules::{DeadlineRule, Rules, Thresholds};
use claimtop::domain::snapshot::{BoardSnapshot, Counts, Extension, Gaps, HeldBy, Judged, Nature, Snapshot};
use claimtop::domain::time::{Moment, Reading, Span};
use claimtop::domain::value::{Key, Value};
use claimtop::domain::verdict::{Reason, Set, judge};
use claimtop::events::{ClaimContext, Event, Origin};
use claimtop::recording::{PollSeen, Recording, RecordingOptions, RecordingWriter, SourceIdentity};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const LIVE: u64 = 10_000;
/// Claims in trouble at a time, and for how long each of them is.
const TROUBLED: i64 = 160;
const FOR: i64 = 150;

fn main() {
    let hours: i64 = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(24);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("day.rec");
    let frames = hours * 3_600;
    let mut times = record(&path, frames);
    times.sort();
    let total: Duration = times.iter().sum();
    let size = std::fs::metadata(&path).expect("a file").len();
    println!(
        "frame     {:>8.3} ms on average, p99 {:.3} ms ({frames} frames, {LIVE} live claims, {TROUBLED} in trouble)",
        ms(total) / frames as f64,
        ms(times[times.len() * 99 / 100]),
    );
    println!("file      {:>8.1} MB for {hours} h", size as f64 / 1e6);
    let recording = Recording::open(&path).expect("a recording");
    let mut seeks: Vec<Duration> = (0..300).map(|at| seek(&recording, (at * 7_919 * 31) % frames)).collect();
    seeks.sort();
    println!("seek      {:>8.2} ms p50, {:.2} ms p95", ms(seeks[150]), ms(seeks[285]));
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn seek(recording: &Recording, second: i64) -> Duration {
    let started = Instant::now();
    let frame = recording.frame_at(Some(0), at(second)).expect("readable").expect("a frame");
    let poll = recording.poll(&frame).expect("readable").expect("a poll");
    let took = started.elapsed();
    assert_eq!(poll.snapshots[0].boards[0].worst.len() as i64, TROUBLED);
    took
}

fn at(second: i64) -> Moment {
    Moment::from_micros((1_794_744_000 + second) * 1_000_000).expect("an instant")
}

/// The polls of a fleet in which one claim a second gets into trouble and one is recovered.
fn record(path: &std::path::Path, frames: i64) -> Vec<Duration> {
    let source = SourceIdentity {
        label: "tasks.db".into(),
        engine: "sqlite".into(),
        shown: "tasks.db".into(),
        badge: None,
    };
    let mut writer =
        RecordingWriter::create(path, &[source], RecordingOptions::default(), at(0)).expect("a recording");
    let nature = nature();
    let mut times = Vec::new();
    for second in 0..frames {
        let snapshot = snapshot(&nature, second);
        let horizon = (second % 2 == 0).then(|| horizon(second));
        let events = [event(second, "claim"), event(second, "end")];
        let poll = PollSeen {
            snapshots: std::slice::from_ref(&snapshot),
            whole: &[],
            horizon: horizon.as_ref(),
            warnings: &[],
            causes: &[],
            // About one event a second in all, as measured on a fleet.
            events: &events[..usize::from(second % 2 == 0) * 2],
            fingerprint: "sqlite:1:2",
        };
        let started = Instant::now();
        writer.record_poll(0, at(second), &poll).expect("a frame");
        times.push(started.elapsed());
    }
    writer.finish(at(frames)).expect("an end");
    times
}

fn nature() -> Arc<Nature> {
    let mut rules = Rules::new(DeadlineRule::Ttl);
    rules.thresholds = Thresholds { ttl: Some(Span::minutes(10)), ..Thresholds::default() };
    Arc::new(Nature {
        role: Role::Job,
        rules,
        stamped_by: StampedBy::Holder,
        fencing: Fencing::Fenced,
        held_by: HeldBy::Row,
        self_heals_after: None,
        acts: vec![Action::Reclaim],
        extension: Extension::Anew,
        zone: None,
    })
}

fn snapshot(nature: &Arc<Nature>, second: i64) -> Snapshot {
    let now = at(second);
    // A new claim enters and an old one leaves about once a second.
    let first = second * TROUBLED / FOR;
    let judged = |number: i64| {
        let claim = claim(number, second);
        Judged { verdict: judge(&claim, &nature.rules, now), claim, seen: None, mark: None }
    };
    let worst: Vec<Judged> = (first..first + TROUBLED).map(judged).collect();
    let total = LIVE + (second * 7 % 50).unsigned_abs();
    let stale = worst.iter().filter(|one| one.verdict.is_in(Set::Stale)).count() as u64;
    let counts = Counts { total, healthy: total - stale, stale, ..Counts::default() };
    let board = BoardSnapshot {
        board: "job".into(),
        nature: Arc::clone(nature),
        counts,
        reasons: BTreeMap::from([(Reason::TtlExceeded, stale)]),
        sessions: None,
        backlog: BTreeMap::from([("queued".to_owned(), (second * 13 % 400).unsigned_abs())]),
        oldest_queued: Some(now.minus(Span::seconds(second % 30))),
        worst: worst.into(),
        gaps: Gaps::default(),
    };
    Snapshot {
        profile: "executor-jobs".into(),
        generic: false,
        now,
        clock_offset: Span::micros(second % 90),
        poll_cost: Span::micros(1_900 + second % 700),
        boards: vec![board],
        notices: Vec::new(),
        replica: None,
        veiled: None,
    }
}

/// A claim that fell silent; the sessions of half of them still beat every ten seconds.
fn claim(number: i64, second: i64) -> Claim {
    let silent_since = number * FOR / TROUBLED - 800;
    let session = number % 300;
    let beat = if session % 2 == 0 { second - (second + session) % 10 } else { silent_since };
    Claim {
        key: Key(vec![Value::Text(format!("job-{number:08}"))]),
        kind: Some(format!("kind-{}", number % 5)),
        holder: Some(format!("web-{}-{session}", session % 30)),
        claimed_at: Reading::At(at(silent_since - 40)),
        beat_at: Reading::At(at(silent_since)),
        registry: Registry::Listed(Session {
            beat_at: Reading::At(at(beat)),
            stale_at: None,
            started_at: Reading::At(at(-9_000)),
        }),
        attempts: Some(number % 3),
        max_attempts: Some(10),
        ..Claim::blank()
    }
}

fn horizon(second: i64) -> Horizon {
    let count = |at: i64| ((second + at) * 17 % 300).unsigned_abs();
    Horizon { minutes: (0..30).map(count).collect(), moments: (0..30).map(count).collect(), at_least: false }
}

fn event(second: i64, name: &str) -> Event {
    let id = format!("job-{second:08}-{name}");
    Event::Expired {
        task_id: id.clone(),
        session_id: Some(format!("web-{}-{}", second % 30, second % 300)),
        expired_at: Some(second),
        age_ms: Some(600_000),
        about: ClaimContext {
            source: "tasks.db".into(),
            profile: "executor-jobs".into(),
            board: "job".into(),
            address: format!("executor-jobs/job/{id}"),
            why: "no sign of life for 10m, kind-3 may take 10m".into(),
            by: Origin::Look,
            action_id: None,
            timestamp: second * 1_000,
            dry_run: false,
            shown: id,
        },
    }
}
