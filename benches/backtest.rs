//! What a backtest of 60 thresholds costs on a recording of a day: 300 claims of 300 sessions, polled every second,
//! one in twenty heartbeats late.
//!
//! `cargo bench --bench backtest`

#![allow(clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

#[path = "support/measure.rs"]
mod measure;

use claimtop::domain::backtest::Measure;
use claimtop::domain::claim::{Claim, Registry, Role, Session, StampedBy};
use claimtop::domain::detail::Whole;
use claimtop::domain::fencing::Fencing;
use claimtop::domain::rules::{DeadlineRule, Rules};
use claimtop::domain::snapshot::{BoardSnapshot, Counts, Extension, Gaps, HeldBy, Judged, Nature, Snapshot};
use claimtop::domain::time::{Moment, Reading, Span};
use claimtop::domain::value::{Key, Value};
use claimtop::domain::verdict::judge;
use claimtop::recording::{PollSeen, Recording, RecordingOptions, RecordingWriter, SourceIdentity};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use measure::{median, ms, timed};

const CLAIMS: usize = 300;
const SECONDS: i64 = 86_400;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("day.rec");
    let wrote = timed(|| record(&path));
    let size = std::fs::metadata(&path).expect("a file").len();
    println!(
        "recorded {SECONDS} polls of {CLAIMS} claims in {:.1} s, {} MB",
        wrote.as_secs_f64(),
        size >> 20
    );
    let recording = Recording::open(&path).expect("a recording");
    let read = || recording.series(&BTreeSet::new()).expect("series");
    println!("reading the silences       {:>8.1} ms", ms(median(5, || timed(|| drop(read())))));
    let thresholds: Vec<Span> = (1..=60).map(Span::minutes).collect();
    for series in read() {
        if series.subject.measure == Measure::SilentAfter {
            continue;
        }
        let took = median(5, || timed(|| drop(series.test(&thresholds))));
        let name = series.subject.measure.as_str();
        println!("60 thresholds of {name:<12}{:>6.1} ms  {} silences", ms(took), series.silences.len());
    }
}

fn at(second: i64) -> Moment {
    Moment::parse("2026-11-15T00:00:00Z").expect("an instant").plus(Span::seconds(second))
}

/// The next heartbeat after one, by a small generator: usually after 30 seconds.
fn next_beat(claim: usize, beat: i64) -> i64 {
    let mut mixed = (claim as u64) << 32 ^ beat.cast_unsigned();
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    let late = mixed.is_multiple_of(20);
    beat + if late { 60 + (mixed >> 8) as i64 % 600 } else { 29 + (mixed >> 8) as i64 % 3 }
}

fn record(path: &Path) {
    let mut rules = Rules::new(DeadlineRule::Ttl);
    rules.thresholds.ttl = Some(Span::minutes(30));
    let nature = Arc::new(Nature {
        role: Role::Job,
        rules,
        stamped_by: StampedBy::Holder,
        fencing: Fencing::Fenced,
        held_by: HeldBy::Row,
        self_heals_after: None,
        acts: Vec::new(),
        extension: Extension::Anew,
        zone: None,
    });
    let name = || "day".to_owned();
    let source = SourceIdentity { label: name(), engine: "sqlite".into(), shown: name(), badge: None };
    let mut writer =
        RecordingWriter::create(path, &[source], RecordingOptions::default(), at(0)).expect("a recording");
    let mut beats = [0_i64; CLAIMS];
    for now in 1..=SECONDS {
        for (claim, beat) in beats.iter_mut().enumerate() {
            let next = next_beat(claim, *beat);
            if next <= now {
                *beat = next;
            }
        }
        let claims = (0..CLAIMS).map(|number| judged(number, beats[number], now, &nature.rules)).collect();
        let whole = Whole { profile: "queue".into(), board: "job".into(), claims };
        let seen = PollSeen {
            snapshots: &[snapshot(&nature, now)],
            whole: &[whole],
            horizon: None,
            warnings: &[],
            causes: &[],
            events: &[],
            fingerprint: "file 1",
        };
        writer.record_poll(0, at(now), &seen).expect("a frame");
    }
    writer.finish(at(SECONDS)).expect("an end");
}

fn judged(number: usize, beat: i64, now: i64, rules: &Rules) -> Judged {
    // The sessions beat every ten seconds, each at its own second.
    let phase = (number % 10) as i64;
    let session = now - (now - phase).rem_euclid(10);
    let claim = Claim {
        key: Key(vec![Value::Int(number as i64)]),
        holder: Some(format!("web-{number}")),
        claimed_at: Reading::At(at(0)),
        beat_at: Reading::At(at(beat)),
        registry: Registry::Listed(Session {
            beat_at: Reading::At(at(session)),
            stale_at: None,
            started_at: Reading::At(at(0)),
        }),
        ..Claim::blank()
    };
    Judged { verdict: judge(&claim, rules, at(now)), claim, seen: None, mark: None }
}

fn snapshot(nature: &Arc<Nature>, now: i64) -> Snapshot {
    let counts = Counts { total: CLAIMS as u64, healthy: CLAIMS as u64, ..Counts::default() };
    Snapshot {
        profile: "queue".into(),
        generic: false,
        now: at(now),
        clock_offset: Span::ZERO,
        poll_cost: Span::ZERO,
        boards: vec![BoardSnapshot {
            board: "job".into(),
            nature: Arc::clone(nature),
            counts,
            reasons: BTreeMap::new(),
            sessions: None,
            backlog: BTreeMap::new(),
            oldest_queued: None,
            worst: Default::default(),
            gaps: Gaps::default(),
        }],
        notices: Vec::new(),
        replica: None,
        veiled: None,
    }
}
