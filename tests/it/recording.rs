//! Recordings: what was on the screen is there again, nothing is lost but the last frame, and a replay writes nowhere.

mod full_disk;
mod live_screen;
mod on_postgres;
mod program;
mod replayed_frames;
mod secrets;
mod silences;

use claimtop::domain::claim::{Claim, Lease, Registry, Role, Session, StampedBy};
use claimtop::domain::detail::{Horizon, Whole};
use claimtop::domain::fencing::Fencing;
use claimtop::domain::recovery::Action;
use claimtop::domain::rules::{DeadlineRule, Rules};
use claimtop::domain::snapshot::{BoardSnapshot, Counts, Extension, Gaps, HeldBy, Judged, Nature, Snapshot};
use claimtop::domain::time::{Moment, Reading, Span};
use claimtop::domain::value::{Key, Value};
use claimtop::domain::verdict::{Set, judge};
use claimtop::events::Event;
use claimtop::recording::{PollSeen, RecordingOptions, RecordingWriter, SourceIdentity};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

fn second(second: i64) -> Moment {
    Moment::from_micros((1_794_744_000 + second) * 1_000_000).expect("an instant")
}

fn nature() -> Arc<Nature> {
    Arc::new(Nature {
        role: Role::Task,
        rules: Rules::new(DeadlineRule::Lease),
        stamped_by: StampedBy::Holder,
        fencing: Fencing::Fenced,
        held_by: HeldBy::Row,
        self_heals_after: None,
        acts: vec![Action::Reclaim],
        extension: Extension::AnyLength,
        zone: None,
    })
}

/// A claim of a session that beats.
fn claim(id: &str, holder: &str, claimed: i64, beat: i64, session_beat: i64) -> Claim {
    Claim {
        key: Key(vec![Value::Text(id.into())]),
        holder: Some(holder.into()),
        kind: Some("mail".into()),
        claimed_at: Reading::At(second(claimed)),
        beat_at: Reading::At(second(beat)),
        lease: Lease::Until(Reading::At(second(beat + 1_800))),
        registry: Registry::Listed(Session {
            beat_at: Reading::At(second(session_beat)),
            stale_at: None,
            started_at: Reading::At(second(-5_000)),
        }),
        ..Claim::blank()
    }
}

/// A poll that read a board whole.
fn poll(claims: &[Claim], nature: &Arc<Nature>, now: Moment) -> (Snapshot, Whole) {
    let judged = |claim: &Claim| Judged {
        verdict: judge(claim, &nature.rules, now),
        claim: claim.clone(),
        seen: None,
        mark: None,
    };
    let mut all: Vec<Judged> = claims.iter().map(judged).collect();
    all.sort_by_key(|one| {
        let deadline = one.verdict.deadline.map_or(i64::MAX, Moment::micros);
        (one.verdict.headline(), deadline, one.claim.key.address())
    });
    let (mut counts, mut reasons) = (Counts::default(), BTreeMap::new());
    for one in &all {
        counts.add(&one.verdict);
        one.verdict.reasons.iter().for_each(|reason| *reasons.entry(reason).or_default() += 1);
    }
    let worst = all.iter().filter(|one| one.verdict.headline() != Set::Healthy).cloned().collect();
    let board = BoardSnapshot {
        board: "task".into(),
        nature: Arc::clone(nature),
        counts,
        reasons,
        sessions: None,
        backlog: BTreeMap::from([("queued".to_owned(), counts.total)]),
        oldest_queued: Some(now),
        worst,
        gaps: Gaps::default(),
    };
    let snapshot = Snapshot {
        profile: "coordination".into(),
        generic: false,
        now,
        clock_offset: Span::micros(7),
        poll_cost: Span::micros(1_900),
        boards: vec![board],
        notices: vec!["a notice".into()],
        replica: None,
        veiled: None,
    };
    (snapshot, Whole { profile: "coordination".into(), board: "task".into(), claims: all })
}

fn identity() -> SourceIdentity {
    SourceIdentity {
        label: "tasks.db".into(),
        engine: "sqlite".into(),
        shown: "tasks.db".into(),
        badge: Some("prod".into()),
    }
}

/// A recording with one source that is being made.
struct Recorder {
    writer: RecordingWriter,
    nature: Arc<Nature>,
}

impl Recorder {
    fn begin(path: &Path, options: RecordingOptions) -> Recorder {
        let writer = RecordingWriter::create(path, &[identity()], options, second(0)).expect("a recording");
        Recorder { writer, nature: nature() }
    }

    fn poll(&mut self, at: i64, claims: &[Claim], events: &[Event]) -> (Snapshot, Whole) {
        let (snapshot, whole) = poll(claims, &self.nature, second(at));
        let horizon = Horizon { minutes: vec![at.unsigned_abs(); 30], moments: vec![1; 30], at_least: false };
        let seen = PollSeen {
            snapshots: std::slice::from_ref(&snapshot),
            whole: std::slice::from_ref(&whole),
            horizon: Some(&horizon),
            warnings: &["a warning".to_owned()],
            causes: &[],
            events,
            fingerprint: "sqlite:1:2",
        };
        self.writer.record_poll(0, second(at), &seen).expect("a frame");
        (snapshot, whole)
    }
}
