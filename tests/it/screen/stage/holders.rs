//! Sessions and kinds of work, as their panes list them.

use claimtop::domain::claim::{Process, Worker};
use claimtop::domain::detail::{Holder, KindTally, Kinds};
use claimtop::domain::time::{Reading, Span};
use claimtop::domain::value::Value;

use super::{noon, span};

/// A session that beat so long ago.
pub fn session(name: &str, beat: &str, claims: u64) -> Holder {
    let at = |text: &str| Reading::At(noon().minus(span(text)));
    Holder {
        profile: "taskqueue".into(),
        listed_in: "sessions".into(),
        id: Value::Text(name.into()),
        beat_at: at(beat),
        started_at: at("3h"),
        is_stale: span(beat) > Span::minutes(10),
        worker: Worker::new(Value::Int(4312), Some("web1".into())),
        claims,
        now: noon(),
    }
}

/// What the kernel said of its process.
pub fn asked(mut holder: Holder, process: Process, evidence: &str) -> Holder {
    holder.worker.process = process;
    holder.worker.evidence = Some(evidence.into());
    holder
}

/// A session that nobody has heard of.
pub fn never_heard_of(name: &str) -> Holder {
    let mut holder = session(name, "1s", 1);
    (holder.beat_at, holder.started_at) = (Reading::Null, Reading::Absent);
    holder.worker = Worker::new(Value::Null, None);
    holder
}

pub fn tally(kind: &str, running: u64, queued: u64) -> KindTally {
    KindTally {
        kind: Some(kind.into()),
        running,
        queued,
        ttl: Some(Span::minutes(10)),
        overrun: Some(0.4),
        oldest_queued: (queued > 0).then(|| noon().minus(span("4m12s"))),
        ..KindTally::default()
    }
}

pub fn kinds(board: &str, kinds: impl IntoIterator<Item = KindTally>) -> Kinds {
    Kinds {
        profile: "taskqueue".into(),
        board: board.into(),
        kinds: kinds.into_iter().collect(),
        at_least: false,
    }
}
