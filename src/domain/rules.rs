//! The rules by which the claims of one board are judged: how its deadline comes about, and the
//! thresholds, for all of its claims and for single kinds.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::time::{Moment, Span};
use super::zone_doubt::ZoneDoubt;

/// Where a board's deadlines come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadlineRule {
    /// An instant in the row.
    Lease,
    /// `claimed_at` plus a length of time in the row.
    Timeout,
    /// The sign of life plus the TTL of the claim's kind.
    Ttl,
    /// The holder's own heartbeat plus `orphan_after`.
    Holder,
    /// The system has none: nobody knows when a claim is late.
    Never,
    /// The system has none, and needs none: only the holder can make a claim an orphan.
    Endless,
}

/// The thresholds that apply to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thresholds {
    /// The time to live of [`DeadlineRule::Ttl`]; none is known for kinds nobody listed.
    pub ttl: Option<Span>,
    /// The usual length of a lease, which its row does not tell: the measure of an overrun.
    pub lease: Span,
    /// How long before a deadline a claim is expiring; unset, it follows from the deadline.
    pub warn_before: Option<Span>,
    pub silent_after: Span,
    pub orphan_after: Span,
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds {
            ttl: None,
            lease: Span::minutes(30),
            warn_before: None,
            silent_after: Span::minutes(5),
            orphan_after: Span::minutes(10),
        }
    }
}

/// The longest time of warning.
const WARN: Span = Span::minutes(5);

impl Thresholds {
    /// How long before an absolute deadline a claim is expiring.
    pub fn warn_of_lease(&self) -> Span {
        self.warn_of(self.lease)
    }

    /// How long before a deadline that ends a length of time: a fifth of it. A lease of 30 seconds with
    /// a warning of five minutes would always be expiring.
    pub fn warn_of(&self, length: Span) -> Span {
        self.warn_before.unwrap_or_else(|| length.fifth().min(WARN))
    }
}

/// Everything that turns a claim and an instant into a verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    pub deadline: DeadlineRule,
    pub thresholds: Thresholds,
    /// Kinds with thresholds of their own.
    pub kinds: BTreeMap<String, Thresholds>,
    /// Times this far in the future are noise between clocks.
    pub clock_noise: Span,
    /// The resolution of the claims' times, see [`super::time::TimeUnit::tick`].
    pub tick: Span,
    /// The resolution of the registry's times.
    pub session_tick: Span,
    /// Why no time of these claims can be trusted at the moment.
    pub doubt: Option<Arc<ZoneDoubt>>,
}

impl Rules {
    /// The usual thresholds, under clocks that tell microseconds.
    pub fn new(deadline: DeadlineRule) -> Rules {
        Rules {
            deadline,
            thresholds: Thresholds::default(),
            kinds: BTreeMap::new(),
            clock_noise: Span::seconds(2),
            tick: Span::micros(1),
            session_tick: Span::micros(1),
            doubt: None,
        }
    }

    pub fn for_kind(&self, kind: Option<&str>) -> &Thresholds {
        kind.and_then(|kind| self.kinds.get(kind)).unwrap_or(&self.thresholds)
    }

    /// `now` as the clock that wrote the claims would show it.
    pub fn claim_now(&self, now: Moment) -> Moment {
        now.floor(self.tick)
    }

    /// `now` as the clock that wrote the registry would show it.
    pub fn session_now(&self, now: Moment) -> Moment {
        now.floor(self.session_tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warning_is_a_fifth_of_the_lease_and_at_most_five_minutes() {
        let warning = |lease: Span| Thresholds { lease, ..Thresholds::default() }.warn_of_lease();
        assert_eq!(warning(Span::seconds(30)), Span::seconds(6));
        assert_eq!(warning(Span::minutes(10)), Span::minutes(2));
        assert_eq!(warning(Span::minutes(30)), Span::minutes(5));
        let set = Thresholds { warn_before: Some(Span::seconds(1)), ..Thresholds::default() };
        assert_eq!(set.warn_of_lease(), Span::seconds(1));
    }
}
