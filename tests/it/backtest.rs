//! A backtest says what a sweep would have done: on invented fleets whose truth is known, and on real databases.

mod agreement;
mod fleet;
mod output;
mod truth;

use claimtop::domain::backtest::{Measure, Outcome, Series};
use claimtop::domain::board_id::BoardId;
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
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fleet::{Fleet, Holding};

/// Times of the fleets are microseconds after this.
fn at(micros: i64) -> Moment {
    Moment::parse("2026-11-15T03:00:00Z").expect("an instant").plus(Span::micros(micros))
}

/// Jobs with a time to live of 30 minutes and an `orphan_after` of 15, whose holders are registered.
fn nature() -> Arc<Nature> {
    let mut rules = Rules::new(DeadlineRule::Ttl);
    rules.thresholds.ttl = Some(Span::minutes(30));
    rules.thresholds.orphan_after = Span::minutes(15);
    Arc::new(Nature {
        role: Role::Job,
        rules,
        stamped_by: StampedBy::Holder,
        fencing: Fencing::Fenced,
        held_by: HeldBy::Row,
        self_heals_after: None,
        acts: Vec::new(),
        extension: Extension::Anew,
        zone: None,
    })
}

/// A holding as a poll at `now` sees it.
fn claim(fleet: &Fleet, holding: &Holding, now: i64) -> Claim {
    let registry = match fleet.has_registry {
        false => Registry::None,
        true => Registry::Listed(Session {
            beat_at: Reading::At(at(fleet.session_beat(holding.session, now))),
            stale_at: None,
            started_at: Reading::At(at(0)),
        }),
    };
    Claim {
        key: Key(vec![Value::Text(holding.task.clone())]),
        kind: Some("mail".into()),
        holder: Some(format!("web-{}", holding.session)),
        claimed_at: Reading::At(at(holding.start)),
        beat_at: Reading::At(at(holding.last_beat(now))),
        registry,
        ..Claim::blank()
    }
}

/// Records what polls of a fleet see.
fn record(fleet: &Fleet, folder: &Path) -> PathBuf {
    let path = folder.join("fleet.rec");
    let source = SourceIdentity {
        label: "billing".into(),
        engine: "sqlite".into(),
        shown: "billing".into(),
        badge: None,
    };
    let mut writer =
        RecordingWriter::create(&path, &[source], RecordingOptions::default(), at(0)).expect("a recording");
    let nature = nature();
    for now in fleet.polls() {
        let (snapshot, whole) = poll(fleet, &nature, now);
        let seen = PollSeen {
            snapshots: &[snapshot],
            whole: &[whole],
            horizon: None,
            warnings: &[],
            causes: &[],
            events: &[],
            fingerprint: "file 1",
        };
        writer.record_poll(0, at(now), &seen).expect("a frame");
    }
    writer.finish(at(fleet.end)).expect("an end");
    path
}

fn poll(fleet: &Fleet, nature: &Arc<Nature>, now: i64) -> (Snapshot, Whole) {
    let held = fleet.holdings.iter().filter(|holding| holding.is_held(now));
    let judged = held.map(|holding| {
        let claim = claim(fleet, holding, now);
        let verdict = judge(&claim, &nature.rules, at(now));
        Judged { claim, verdict, seen: None, mark: None }
    });
    let claims: Vec<Judged> = judged.collect();
    let mut counts = Counts::default();
    claims.iter().for_each(|one| counts.add(&one.verdict));
    let board = BoardSnapshot {
        board: "job".into(),
        nature: Arc::clone(nature),
        counts,
        reasons: BTreeMap::new(),
        sessions: None,
        backlog: BTreeMap::new(),
        oldest_queued: None,
        worst: Default::default(),
        gaps: Gaps::default(),
    };
    let snapshot = Snapshot {
        profile: "queue".into(),
        generic: false,
        now: at(now),
        clock_offset: Span::ZERO,
        poll_cost: Span::ZERO,
        boards: vec![board],
        notices: Vec::new(),
        replica: None,
        veiled: None,
    };
    (snapshot, Whole { profile: "queue".into(), board: "job".into(), claims })
}

fn series(path: &Path, measure: Measure) -> Series {
    let all = Recording::open(path).expect("a recording").series(&BTreeSet::new()).expect("series");
    let found = all.into_iter().find(|series| series.subject.measure == measure);
    let found = found.unwrap_or_else(|| panic!("no series of {measure:?}"));
    assert_eq!(BoardId::new(&found.subject.profile, &found.subject.board), BoardId::new("queue", "job"));
    found
}

/// A take: when, how long after the last sign of life, and whether it was right.
type TakeKey = (Moment, Span, Outcome);

fn takes(series: &Series, threshold: Span) -> BTreeSet<TakeKey> {
    series.takes(threshold).map(|take| (take.at, take.delay, take.outcome)).collect()
}
