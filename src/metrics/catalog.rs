//! Every metric: its name, its labels and its help text.

use prometheus_client::metrics::MetricType;

/// The type and unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    Gauge,
    /// A gauge in seconds.
    Seconds,
    Counter,
    /// A histogram in seconds.
    Histogram,
    Info,
}

impl MetricKind {
    pub fn in_seconds(self) -> bool {
        matches!(self, MetricKind::Seconds | MetricKind::Histogram)
    }

    pub fn encoded(self) -> MetricType {
        match self {
            MetricKind::Gauge | MetricKind::Seconds => MetricType::Gauge,
            MetricKind::Counter => MetricType::Counter,
            MetricKind::Histogram => MetricType::Histogram,
            MetricKind::Info => MetricType::Info,
        }
    }
}

/// One metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Without the unit and the suffix that its kind adds.
    pub name: &'static str,
    pub kind: MetricKind,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

impl Metric {
    const fn new(
        name: &'static str,
        kind: MetricKind,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Metric {
        Metric { name, kind, labels, help }
    }

    /// The names of its samples.
    pub fn samples(&self) -> Vec<String> {
        let name = self.name;
        match self.kind {
            MetricKind::Gauge => vec![name.into()],
            MetricKind::Seconds => vec![format!("{name}_seconds")],
            MetricKind::Counter => vec![format!("{name}_total")],
            MetricKind::Histogram => {
                ["sum", "count", "bucket"].iter().map(|end| format!("{name}_seconds_{end}")).collect()
            }
            MetricKind::Info => vec![format!("{name}_info")],
        }
    }
}

use MetricKind::{Counter, Gauge, Histogram, Info, Seconds};

const SOURCE: &[&str] = &["source"];
const BOARD: &[&str] = &["source", "profile", "board"];

pub const BUILD: Metric =
    Metric::new("claimtop_build", Info, &["version"], "The version of the running program.");
pub const UP: Metric = Metric::new(
    "claimtop_up",
    Gauge,
    SOURCE,
    "1 if the last poll of the source succeeded, is recent, and found every board that was there before.",
);
pub const AGE: Metric = Metric::new(
    "claimtop_last_good_poll_age",
    Seconds,
    SOURCE,
    "Time since the last successful poll of the source, or since the start if there was none.",
);
pub const POLLS: Metric =
    Metric::new("claimtop_polls", Counter, &["source", "result"], "Polls, by result: good or failed.");
pub const POLL: Metric = Metric::new("claimtop_poll", Histogram, SOURCE, "How long polls took.");
pub const LAST_POLL: Metric =
    Metric::new("claimtop_last_poll", Seconds, SOURCE, "How long the last good poll took.");
pub const CLOCK: Metric =
    Metric::new("claimtop_clock_offset", Seconds, SOURCE, "The database's clock minus this host's.");
pub const HELD: Metric = Metric::new("claimtop_claims_held", Gauge, BOARD, "All claims.");
pub const CLAIMS: Metric = Metric::new(
    "claimtop_claims",
    Gauge,
    &["source", "profile", "board", "set"],
    "Claims in each set: healthy, expiring, stale, orphaned, unknown. One claim may be in several.",
);
pub const REASONS: Metric = Metric::new(
    "claimtop_claims_by_reason",
    Gauge,
    &["source", "profile", "board", "reason"],
    "Claims by the reasons that put them into a set.",
);
pub const RUNAWAY: Metric = Metric::new(
    "claimtop_claims_runaway",
    Gauge,
    BOARD,
    "Claims that have taken at least twice the time they may take.",
);
pub const EXHAUSTED: Metric = Metric::new(
    "claimtop_claims_exhausted",
    Gauge,
    BOARD,
    "Claims that have used all their attempts; updated less often than the rest.",
);
pub const EXACT: Metric = Metric::new(
    "claimtop_counts_exact",
    Gauge,
    BOARD,
    "0 while some counts come from a census that has not seen every row yet.",
);
pub const OLDEST_STALE: Metric = Metric::new(
    "claimtop_oldest_stale",
    Seconds,
    BOARD,
    "How long the worst stale claim is past its deadline, or silent; 0 if there is none.",
);
pub const OLDEST_QUEUED: Metric = Metric::new(
    "claimtop_oldest_queued",
    Seconds,
    BOARD,
    "How long the oldest job that nobody holds has waited; 0 if there is none.",
);
pub const BACKLOG: Metric = Metric::new(
    "claimtop_backlog",
    Gauge,
    &["source", "profile", "board", "state"],
    "Jobs that nobody holds, by the states that the profile names, including queued and dead.",
);
pub const CAUSES: Metric = Metric::new(
    "claimtop_causes",
    Gauge,
    SOURCE,
    "Causes: what claims in trouble have in common, such as a host that fell silent. `check` names them.",
);
pub const SESSIONS: Metric = Metric::new(
    "claimtop_sessions",
    Gauge,
    &["source", "profile", "state"],
    "Registered holders: alive, stale, or unknown because their heartbeat cannot be read.",
);
pub const KIND_CLAIMS: Metric = Metric::new(
    "claimtop_kind_claims",
    Gauge,
    &["source", "profile", "board", "kind", "state"],
    "Claims by kind: running counts all of them; stale, orphaned and exhausted are parts of it. Updated less often.",
);
pub const KIND_BACKLOG: Metric = Metric::new(
    "claimtop_kind_backlog",
    Gauge,
    &["source", "profile", "board", "kind", "state"],
    "Jobs that nobody holds, by kind: queued, dead. Updated less often.",
);
pub const KIND_QUEUED: Metric = Metric::new(
    "claimtop_kind_oldest_queued",
    Seconds,
    &["source", "profile", "board", "kind"],
    "How long the oldest job of the kind has waited.",
);
pub const KIND_RECLAIMED: Metric = Metric::new(
    "claimtop_kind_reclaimed_last_hour",
    Gauge,
    &["source", "profile", "board", "kind"],
    "Jobs that were reclaimed within the last hour, by whomever, where the system keeps traces. Updated less often.",
);
pub const KINDS_EXACT: Metric = Metric::new(
    "claimtop_kinds_exact",
    Gauge,
    BOARD,
    "0 if a board has too many rows to count all of them by kind.",
);
pub const CLEANED_UP: Metric = Metric::new(
    "claimtop_claims_cleaned_up",
    Counter,
    BOARD,
    "Claims that were stale or orphaned at one poll and that nobody held at the next, whoever freed them: at least so many.",
);
pub const TRAIL: Metric = Metric::new(
    "claimtop_trail_up",
    Gauge,
    &[],
    "1 while the audit trail, from which acts are counted, can be read.",
);
pub const ACTS: Metric = Metric::new(
    "claimtop_acts",
    Counter,
    &["source", "profile", "board", "kind", "action", "by", "outcome"],
    "Acts in this user's audit trail, done by any process: by operator or sweeper.",
);
pub const ACT: Metric = Metric::new(
    "claimtop_act",
    Histogram,
    SOURCE,
    "How long acts of this process's sweeper took; the acts of one pass share its time, without pauses.",
);
pub const SWEEPS: Metric = Metric::new(
    "claimtop_sweeps",
    Counter,
    &["source", "result"],
    "Passes of this process's sweeper: done, held by a brake, or failed.",
);
pub const SWEEP_CLAIMS: Metric = Metric::new(
    "claimtop_sweep_claims",
    Gauge,
    &["source", "state"],
    "Claims that the last pass left alone: left (all of them), watching (not watched long enough), poison.",
);
pub const HELD_BY: Metric = Metric::new(
    "claimtop_sweep_held",
    Gauge,
    &["source", "brake"],
    "1 if the brake held the last pass: share, cap, poison, clock, or profile (generic and not named).",
);
pub const HOLDS: Metric = Metric::new(
    "claimtop_sweep_holds",
    Counter,
    &["source", "brake"],
    "Passes of this process's sweeper that the brake held.",
);
pub const ATTEMPTS: Metric = Metric::new(
    "finalization_claim_attempts",
    Counter,
    SOURCE,
    "Attempts to claim a task for finalization, counted in the attempts table since the start.",
);
pub const SUCCESS: Metric =
    Metric::new("finalization_claim_success", Counter, SOURCE, "Attempts that got the claim.");
pub const CONTENTION: Metric =
    Metric::new("finalization_claim_contention", Counter, SOURCE, "Attempts that did not get the claim.");
pub const CONTENTION_BY: Metric = Metric::new(
    "finalization_claim_contention_by_reason",
    Counter,
    &["source", "reason"],
    "Attempts that did not get the claim, by reason.",
);

pub const CLAIM_TIME: Metric = Metric::new(
    "finalization_claim_duration",
    Histogram,
    SOURCE,
    "How long attempts to claim took, as far as the attempts table says.",
);
pub const RELEASE_ATTEMPTS: Metric =
    Metric::new("finalization_claim_release_attempts", Counter, SOURCE, "Attempts to release a claim.");
pub const RELEASE_SUCCESS: Metric =
    Metric::new("finalization_claim_release_success", Counter, SOURCE, "Claims that were released.");
pub const RELEASE_NOT_OWNED: Metric = Metric::new(
    "finalization_claim_release_not_owned",
    Counter,
    SOURCE,
    "Attempts to release a claim that another processor had, or nobody.",
);
pub const RELEASE_TIME: Metric =
    Metric::new("finalization_claim_release_duration", Histogram, SOURCE, "How long releases took.");
pub const EXTEND_ATTEMPTS: Metric =
    Metric::new("finalization_claim_extend_attempts", Counter, SOURCE, "Attempts to extend a claim.");
pub const EXTEND_SUCCESS: Metric =
    Metric::new("finalization_claim_extend_success", Counter, SOURCE, "Claims that were extended.");
pub const EXTEND_FAILED: Metric = Metric::new(
    "finalization_claim_extend_failed",
    Counter,
    SOURCE,
    "Attempts to extend a claim that had run out, or that another processor had.",
);
pub const EXTEND_TIME: Metric =
    Metric::new("finalization_claim_extend_duration", Histogram, SOURCE, "How long extensions took.");

/// All metrics in the order in which they are printed.
pub const ALL: [&Metric; 44] = [
    &BUILD,
    &UP,
    &AGE,
    &POLLS,
    &POLL,
    &LAST_POLL,
    &CLOCK,
    &HELD,
    &CLAIMS,
    &REASONS,
    &RUNAWAY,
    &EXHAUSTED,
    &EXACT,
    &OLDEST_STALE,
    &OLDEST_QUEUED,
    &BACKLOG,
    &CAUSES,
    &SESSIONS,
    &KIND_CLAIMS,
    &KIND_BACKLOG,
    &KIND_QUEUED,
    &KIND_RECLAIMED,
    &KINDS_EXACT,
    &CLEANED_UP,
    &TRAIL,
    &ACTS,
    &ACT,
    &SWEEPS,
    &SWEEP_CLAIMS,
    &HELD_BY,
    &HOLDS,
    &ATTEMPTS,
    &SUCCESS,
    &CONTENTION,
    &CONTENTION_BY,
    &CLAIM_TIME,
    &RELEASE_ATTEMPTS,
    &RELEASE_SUCCESS,
    &RELEASE_NOT_OWNED,
    &RELEASE_TIME,
    &EXTEND_ATTEMPTS,
    &EXTEND_SUCCESS,
    &EXTEND_FAILED,
    &EXTEND_TIME,
];
