//! Do the rows contradict the zone in which their times are read?
//!
//! A time without a zone means nothing until somebody says where it was written. If that is wrong,
//! living claims look hours old or come from the future. Zones differ by multiples of a quarter of
//! an hour, so a board whose newest sign of life lies just that far away is not believed. A claim or two may
//! have died at such a moment; where several did and nothing else runs, the zone is the likelier reason.

use std::fmt;

use super::rules::{DeadlineRule, Rules};
use super::time::{Moment, Offset, Span};

/// Why no time of a board can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ZoneDoubt {
    /// The newest times are this far from now; positive if they lie in the future.
    Shifted { by: Span, read_as: String },
    /// The zone cannot be known; the sentence says why.
    Undetermined(String),
}

impl ZoneDoubt {
    /// The offset from UTC that would fit, if the times are read as UTC or at a fixed offset.
    pub fn fitting(&self) -> Option<Offset> {
        let ZoneDoubt::Shifted { by, read_as } = self else { return None };
        let from = match read_as.as_str() {
            "utc" => 0,
            other => Offset::parse(other).ok()?.minutes(),
        };
        let shift = i16::try_from(by.as_micros() / Span::minutes(1).as_micros()).ok()?;
        let minutes = from.checked_add(shift)?;
        (-15 * 60..=15 * 60).contains(&minutes).then(|| Offset::of_minutes(minutes))
    }
}

impl fmt::Display for ZoneDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ZoneDoubt::Shifted { by, read_as } if by.is_positive() => {
                write!(f, "times without a zone, read as {read_as}, lie up to {by} in the future")
            }
            ZoneDoubt::Shifted { by, read_as } => write!(
                f,
                "no time without a zone, read as {read_as}, is newer than {}: that looks like another zone \
                 (if the workers really died just then, this ends within 90 s)",
                by.abs()
            ),
            ZoneDoubt::Undetermined(why) => f.write_str(why),
        }
    }
}

/// The newest of a board's times that name no zone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signs {
    /// Of `claimed_at` and the claims' own heartbeats, by kind.
    pub own: Vec<(Option<String>, Moment)>,
    /// Of the deadlines that the rows themselves tell.
    pub deadline: Option<Moment>,
    /// Of the holders' heartbeats.
    pub session: Option<Moment>,
    /// Of the instants at which the system gives a holder up, where it keeps them.
    pub session_end: Option<Moment>,
    /// How many claims and holders there are.
    pub count: u64,
}

/// Zones differ by multiples of this.
const QUARTER: Span = Span::minutes(15);
/// The smallest difference between two zones that is in use, and between UTC and any other.
const LEAST: Span = Span::minutes(30);
const LEAST_OF_UTC: Span = Span::minutes(60);
/// The largest: from -12:00 to +14:00.
const MOST: Span = Span::minutes(26 * 60);
/// A system that works has shown a sign of life within this time.
const FRESH: Span = Span::seconds(90);
/// Fewer claims and holders than this may all have died at the same moment.
const FEWEST: u64 = 3;

impl Signs {
    /// Takes in the newest sign of life of a kind.
    pub fn add(&mut self, kind: Option<String>, sign: Option<Moment>) {
        let Some(sign) = sign else { return };
        match self.own.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, newest)) => *newest = sign.max(*newest),
            None => self.own.push((kind, sign)),
        }
    }

    /// Why they cannot be trusted, read in the zone of that name, if they cannot.
    pub fn doubt(&self, rules: &Rules, read_as: &str, now: Moment) -> Option<ZoneDoubt> {
        let least = if read_as == "utc" { LEAST_OF_UTC } else { LEAST };
        let by = self.shift(rules, least, now)?;
        Some(ZoneDoubt::Shifted { by, read_as: read_as.into() })
    }

    /// How far all of them are shifted, if they are; positive if they lie in the future.
    fn shift(&self, rules: &Rules, least: Span, now: Moment) -> Option<Span> {
        let newest = self.own.iter().map(|(_, at)| *at).max();
        let ahead = newest.max(self.session).map(|at| at.since(now))?;
        if ahead >= QUARTER.minus(FRESH) {
            let quarters = (ahead.as_micros() + QUARTER.as_micros() - 1) / QUARTER.as_micros();
            return Some(QUARTER.times(quarters));
        }
        if self.count < FEWEST || self.any_runs(rules, now) {
            return None;
        }
        let own = match rules.deadline {
            DeadlineRule::Lease => newest.max(self.deadline.map(|at| at.minus(rules.thresholds.lease))),
            DeadlineRule::Timeout | DeadlineRule::Ttl => newest,
            DeadlineRule::Holder | DeadlineRule::Never | DeadlineRule::Endless => None,
        };
        let age = now.since(own.max(self.session)?);
        let noise = rules.clock_noise.as_micros();
        let quarters = (age.as_micros() + noise).div_euclid(QUARTER.as_micros());
        let shift = QUARTER.times(quarters);
        let is_fresh = age.minus(shift) <= FRESH;
        (is_fresh && (least..=MOST).contains(&shift)).then(|| shift.times(-1))
    }

    /// Whether a claim's time still runs, as it is read: then living claims do not look dead.
    fn any_runs(&self, rules: &Rules, now: Moment) -> bool {
        let by_deadline = self.deadline.is_some_and(|at| at >= now);
        let by_ttl = rules.deadline == DeadlineRule::Ttl
            && self
                .own
                .iter()
                .any(|(kind, at)| rules.for_kind(kind.as_deref()).ttl.is_some_and(|ttl| at.plus(ttl) >= now));
        let session = match self.session_end {
            Some(end) => Some(end),
            None => self.session.map(|at| at.plus(rules.thresholds.orphan_after)),
        };
        by_deadline || by_ttl || session.is_some_and(|at| at >= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::rules::Thresholds;

    fn rules(deadline: DeadlineRule) -> Rules {
        Rules {
            thresholds: Thresholds { ttl: Some(Span::minutes(5)), ..Thresholds::default() },
            ..Rules::new(deadline)
        }
    }

    fn shift(age: Span) -> Option<Span> {
        let now = Moment::parse("2026-11-15 12:00:00").unwrap();
        let signs = Signs { own: vec![(None, now.minus(age))], count: 3, ..Signs::default() };
        signs.shift(&rules(DeadlineRule::Ttl), LEAST, now)
    }

    #[test]
    fn a_board_whose_newest_sign_of_life_is_a_zone_away_is_shifted() {
        let hours = |hours: i64| Span::minutes(60 * hours);
        assert_eq!(shift(hours(5)), Some(hours(-5)));
        assert_eq!(shift(hours(5).plus(Span::seconds(80))), Some(hours(-5)));
        assert_eq!(shift(hours(5).minus(Span::seconds(1))), Some(hours(-5)));
        assert_eq!(shift(Span::minutes(210)), Some(Span::minutes(-210)));
        assert_eq!(shift(hours(-2).plus(Span::seconds(30))), Some(hours(2)));
        assert_eq!(shift(Span::minutes(-345)), Some(Span::minutes(345)));
    }

    #[test]
    fn a_board_that_is_merely_old_or_fresh_is_not() {
        for age in [
            Span::seconds(10),
            Span::minutes(4),
            Span::minutes(15),
            Span::minutes(20),
            Span::minutes(302),
            Span::minutes(27 * 60),
            Span::seconds(-30),
        ] {
            assert_eq!(shift(age), None, "{age}");
        }
    }

    #[test]
    fn two_claims_may_have_died_a_whole_hour_ago() {
        let now = Moment::parse("2026-11-15 12:00:00").unwrap();
        let hour = Span::minutes(60);
        let signs = |count| Signs { own: vec![(None, now.minus(hour))], count, ..Signs::default() };
        assert_eq!(signs(2).shift(&rules(DeadlineRule::Ttl), LEAST, now), None);
        assert_eq!(signs(3).shift(&rules(DeadlineRule::Ttl), LEAST, now), Some(hour.times(-1)));
    }

    #[test]
    fn a_claim_that_still_runs_vouches_for_the_zone() {
        let now = Moment::parse("2026-11-15 12:00:00").unwrap();
        let hour = Span::minutes(60);
        let signs = Signs {
            own: vec![(None, now.minus(hour))],
            deadline: Some(now.plus(Span::seconds(20))),
            count: 3,
            ..Signs::default()
        };
        assert_eq!(signs.shift(&rules(DeadlineRule::Lease), LEAST, now), None);
        let over = Signs { deadline: Some(now.minus(hour).plus(Span::minutes(30))), ..signs };
        assert_eq!(over.shift(&rules(DeadlineRule::Lease), LEAST, now), Some(hour.times(-1)));
    }

    #[test]
    fn the_offset_that_fits_is_named() {
        let doubt = |by, read_as: &str| ZoneDoubt::Shifted { by, read_as: read_as.into() };
        let fits = |doubt: ZoneDoubt| doubt.fitting().map(|offset| offset.to_string());
        assert_eq!(fits(doubt(Span::minutes(-300), "utc")).as_deref(), Some("-05:00"));
        assert_eq!(fits(doubt(Span::minutes(60), "+01:00")).as_deref(), Some("+02:00"));
        assert_eq!(fits(doubt(Span::minutes(60), "Europe/Berlin")), None);
    }
}
