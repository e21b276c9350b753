//! Every metric: its name, its labels, and the sentence that a scraper is told.

use prometheus_client::metrics::MetricType;

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    Gauge,
    /// A gauge in seconds.
    Seconds,
    Counter,
    /// A histogram in seconds.
    Histogram,
    Info,
}

impl Nature {
    pub fn in_seconds(self) -> bool {
        matches!(self, Nature::Seconds | Nature::Histogram)
    }

    pub fn encoded(self) -> MetricType {
        match self {
            Nature::Gauge | Nature::Seconds => MetricType::Gauge,
            Nature::Counter => MetricType::Counter,
            Nature::Histogram => MetricType::Histogram,
            Nature::Info => MetricType::Info,
        }
    }
}

/// One metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Without the unit and the ending that its nature adds.
    pub name: &'static str,
    pub nature: Nature,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

impl Metric {
    const fn new(
        name: &'static str,
        nature: Nature,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Metric {
        Metric { name, nature, labels, help }
    }

    /// The names that its samples have.
    pub fn samples(&self) -> Vec<String> {
        let name = self.name;
        match self.nature {
            Nature::Gauge => vec![name.into()],
            Nature::Seconds => vec![format!("{name}_seconds")],
            Nature::Counter => vec![format!("{name}_total")],
            Nature::Histogram => {
                ["sum", "count", "bucket"].iter().map(|end| format!("{name}_seconds_{end}")).collect()
            }
            Nature::Info => vec![format!("{name}_info")],
        }
    }
}

use Nature::{Counter, Gauge, Histogram, Info, Seconds};

const SOURCE: &[&str] = &["source"];
const BOARD: &[&str] = &["source", "profile", "board"];

pub const BUILD: Metric = Metric::new("claimtop_build", Info, &["version"], "The program that answers.");
pub const UP: Metric = Metric::new(
    "claimtop_up",
    Gauge,
    SOURCE,
    "1 if the last poll of the source was good, is not too old, and found every board that was there before.",
);
pub const AGE: Metric = Metric::new(
    "claimtop_last_good_poll_age",
    Seconds,
    SOURCE,
    "Time since the source was last read well, or since the start if it never was.",
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
    "Claims that have taken twice the time they may, or more.",
);
pub const EXHAUSTED: Metric = Metric::new(
    "claimtop_claims_exhausted",
    Gauge,
    BOARD,
    "Claims with as many attempts as they may have; looked at less often than the rest.",
);
pub const EXACT: Metric = Metric::new(
    "claimtop_counts_exact",
    Gauge,
    BOARD,
    "0 while a part of the counts comes from a census that has not seen every row yet.",
);
pub const OLDEST_STALE: Metric = Metric::new(
    "claimtop_oldest_stale",
    Seconds,
    BOARD,
    "How long the worst stale claim is past its deadline, or silent; 0 without one.",
);
pub const OLDEST_QUEUED: Metric = Metric::new(
    "claimtop_oldest_queued",
    Seconds,
    BOARD,
    "How long the oldest job has waited that nobody holds; 0 without one.",
);
pub const BACKLOG: Metric = Metric::new(
    "claimtop_backlog",
    Gauge,
    &["source", "profile", "board", "state"],
    "Jobs that nobody holds, by the states that the profile names, queued and dead among them.",
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
    "Claims by kind: running are all, and of them stale, orphaned, exhausted. Looked at less often.",
);
pub const KIND_BACKLOG: Metric = Metric::new(
    "claimtop_kind_backlog",
    Gauge,
    &["source", "profile", "board", "kind", "state"],
    "Jobs that nobody holds by kind: queued, dead. Looked at less often.",
);
pub const KIND_QUEUED: Metric = Metric::new(
    "claimtop_kind_oldest_queued",
    Seconds,
    &["source", "profile", "board", "kind"],
    "How long the oldest job of the kind has waited.",
);
pub const KINDS_EXACT: Metric = Metric::new(
    "claimtop_kinds_exact",
    Gauge,
    BOARD,
    "0 where a board has too many rows to count all of them by kind.",
);
pub const TRAIL: Metric = Metric::new(
    "claimtop_trail_up",
    Gauge,
    &[],
    "1 while the trail, from which acts are counted, can be read.",
);
pub const ACTS: Metric = Metric::new(
    "claimtop_acts",
    Counter,
    &["source", "profile", "board", "kind", "action", "by", "outcome"],
    "Acts in the trail of this user, whichever process did them: by operator or sweeper.",
);
pub const ACT: Metric = Metric::new(
    "claimtop_act",
    Histogram,
    SOURCE,
    "How long the acts of the own sweeper took; those of one pass share its time, pauses left out.",
);
pub const SWEEPS: Metric = Metric::new(
    "claimtop_sweeps",
    Counter,
    &["source", "result"],
    "Passes of the own sweeper: done, held by a brake, or failed.",
);
pub const SWEEP_CLAIMS: Metric = Metric::new(
    "claimtop_sweep_claims",
    Gauge,
    &["source", "state"],
    "What the last pass left: left in all, watching because seen too shortly, poison.",
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
    "Passes of the own sweeper that the brake held.",
);
pub const ATTEMPTS: Metric = Metric::new(
    "finalization_claim_attempts",
    Counter,
    SOURCE,
    "Attempts to claim a task for finalization, seen in the attempts table since the start.",
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

/// All of them, in the order in which they are printed.
pub const ALL: [&Metric; 32] = [
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
    &SESSIONS,
    &KIND_CLAIMS,
    &KIND_BACKLOG,
    &KIND_QUEUED,
    &KINDS_EXACT,
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
];
