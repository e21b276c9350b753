//! From a profile, and what the operator set, to the rules that judge a board's claims.
//!
//! From weak to strong: the defaults, the profile, the source's settings, the source's settings
//! for one board, and for one kind on it.

use serde::Deserialize;
use std::collections::BTreeMap;

use super::format::{Board, Never, Registry, Role, Time};
use crate::domain::rules::{DeadlineRule, Rules, Thresholds};
use crate::domain::time::{Span, ZoneName};

/// Thresholds that somebody set; what is unset comes from the next weaker place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThresholdSettings {
    /// The time to live of claims whose kind has none of its own.
    pub ttl: Option<Span>,
    pub lease: Option<Span>,
    pub warn_before: Option<Span>,
    pub silent_after: Option<Span>,
    pub orphan_after: Option<Span>,
    /// The same for single kinds.
    #[serde(default)]
    pub kind: BTreeMap<String, ThresholdSettings>,
}

impl ThresholdSettings {
    fn lay_onto(&self, thresholds: &mut Thresholds) {
        thresholds.ttl = self.ttl.or(thresholds.ttl);
        thresholds.lease = self.lease.unwrap_or(thresholds.lease);
        thresholds.warn_before = self.warn_before.or(thresholds.warn_before);
        thresholds.silent_after = self.silent_after.unwrap_or(thresholds.silent_after);
        thresholds.orphan_after = self.orphan_after.unwrap_or(thresholds.orphan_after);
    }
}

/// What the operator set for a source: for all of its boards, and for single ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    pub defaults: ThresholdSettings,
    pub clock_noise: Span,
    pub source: ThresholdSettings,
    pub boards: BTreeMap<String, ThresholdSettings>,
    /// The zone of times that have none, in place of what the profiles say.
    pub zone: Option<ZoneName>,
}

impl Default for Operator {
    fn default() -> Operator {
        Operator {
            defaults: ThresholdSettings::default(),
            clock_noise: Span::seconds(2),
            source: ThresholdSettings::default(),
            boards: BTreeMap::new(),
            zone: None,
        }
    }
}

/// The warning for locks, whose leases are short.
const WARN_OF_LOCK: Span = Span::seconds(15);

/// The rules of `board` in a database that has `registry`, or has none.
pub fn rules(board: &Board, registry: Option<&Registry>, operator: &Operator) -> Rules {
    let mut thresholds = Thresholds::default();
    operator.defaults.lay_onto(&mut thresholds);
    ThresholdSettings {
        // Beside a column it is in the deadline itself.
        ttl: board.deadline.otherwise.filter(|_| board.deadline.column.is_none()),
        lease: board.deadline.lease,
        warn_before: board.warn_before.or(lock_warning(board)),
        silent_after: board.silent_after,
        orphan_after: board.orphan_after,
        kind: BTreeMap::new(),
    }
    .lay_onto(&mut thresholds);

    let set = [Some(&operator.source), operator.boards.get(&board.name)];
    let mut kinds: BTreeMap<String, Thresholds> = BTreeMap::new();
    // What the operator set for all kinds goes before what the profile says of one, TTLs apart:
    // those are the system's own and only a setting for that kind replaces them.
    for limits in set.into_iter().flatten() {
        limits.lay_onto(&mut thresholds);
    }
    for (kind, ttl) in board.deadline.ttl.iter().flatten() {
        kinds.insert(kind.clone(), Thresholds { ttl: Some(*ttl), ..thresholds.clone() });
    }
    for (kind, limits) in set.into_iter().flatten().flat_map(|limits| &limits.kind) {
        limits.lay_onto(kinds.entry(kind.clone()).or_insert_with(|| thresholds.clone()));
    }

    let deadline = deadline_rule(board, registry, &thresholds, &kinds);
    // Of a holder that need not register, and has not, the TTL decides.
    if !matches!(deadline, DeadlineRule::Ttl | DeadlineRule::Holder) {
        // Kinds that differ in nothing but a TTL are no kinds of their own here.
        kinds.retain(|_, own| {
            Thresholds { ttl: None, ..own.clone() } != Thresholds { ttl: None, ..thresholds.clone() }
        });
    }
    Rules {
        deadline,
        thresholds,
        kinds,
        clock_noise: operator.clock_noise,
        tick: tick(board),
        session_tick: registry.map_or(Span::micros(1), |registry| registry.time.tick()),
        doubt: None,
    }
}

fn lock_warning(board: &Board) -> Option<Span> {
    (board.role == Role::Lock && board.deadline.column.is_some()).then_some(WARN_OF_LOCK)
}

fn deadline_rule(
    board: &Board,
    registry: Option<&Registry>,
    thresholds: &Thresholds,
    kinds: &BTreeMap<String, Thresholds>,
) -> DeadlineRule {
    let deadline = &board.deadline;
    let counts_from = board.claimed_at.as_ref().or(board.beat_at.as_ref());
    let operator_set_one = thresholds.ttl.is_some() || kinds.values().any(|kind| kind.ttl.is_some());
    if deadline.column.is_some() {
        DeadlineRule::Lease
    } else if deadline.claimed_at_plus.is_some() {
        DeadlineRule::Timeout
    } else if deadline.holder && registry.is_some() {
        DeadlineRule::Holder
    } else if deadline.ttl.is_some() || operator_set_one && counts_from.is_some() {
        DeadlineRule::Ttl
    } else if deadline.never == Never::Healthy {
        DeadlineRule::Endless
    } else {
        DeadlineRule::Never
    }
}

/// The coarsest clock among the board's own times.
fn tick(board: &Board) -> Span {
    let times: [&Option<Time>; 3] = [&board.claimed_at, &board.beat_at, &board.deadline.column];
    times.into_iter().flatten().map(|time| time.unit(board.time).tick()).max().unwrap_or(board.time.tick())
}
