//! Identity: whether the process that has a number now is the one that had it then.
//!
//! A number belongs to one process from its start to its end. So a process that has had the
//! number since before the session was registered is the one that registered it, and a process
//! that started after the last sign of the session is not.
//!
//! A start in wall time is the boot time plus the kernel's ticks. `/proc/stat` cuts the boot time
//! to a second and many systems cut their own times too, hence the slack: a number reused within
//! it is not noticed. The kernel computes the boot time from today's clock; if the clock was
//! stepped by more than the slack between the last heartbeat and now, starts look moved by as
//! much until the next heartbeat.

use crate::domain::time::{Moment, Span};

/// What two clocks cut to a second can differ by, and no more.
pub const SLACK: Span = Span::seconds(2);

/// How the start of a process compares with the times of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// It has had the number since before the session was there.
    Same,
    /// The session has no time to compare with.
    Unchecked,
    /// It started after the session was registered, then, and before its last sign, if any.
    Doubtful(Moment),
    /// It started after the session's last sign, then.
    Other(Moment),
}

impl Identity {
    pub fn of(start: Moment, started_at: Option<Moment>, beat_at: Option<Moment>) -> Identity {
        let after = |then: Moment| start > then.plus(SLACK);
        // A registration later than the last heartbeat is the later sign: the heartbeat may be
        // left over from a former session of the same row.
        let last_sign = beat_at.map(|beat| started_at.map_or(beat, |registered| beat.max(registered)));
        match (started_at, last_sign) {
            (_, Some(sign)) if after(sign) => Identity::Other(sign),
            // Another process may have registered it, so this is no proof of a reuse.
            (Some(registered), _) if after(registered) => Identity::Doubtful(registered),
            (None, None) => Identity::Unchecked,
            (Some(_), _) | (None, Some(_)) => Identity::Same,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Moment {
        Moment::from_micros(1_700_000_000_000_000).unwrap().plus(Span::seconds(seconds))
    }

    fn identity(start: i64, started_at: Option<i64>, beat_at: Option<i64>) -> Identity {
        Identity::of(at(start), started_at.map(at), beat_at.map(at))
    }

    #[test]
    fn a_process_older_than_the_session_is_the_holder() {
        assert_eq!(identity(0, Some(10), Some(20)), Identity::Same);
        assert_eq!(identity(0, Some(10), None), Identity::Same);
        assert_eq!(identity(0, None, Some(20)), Identity::Same);
    }

    #[test]
    fn a_process_younger_than_the_last_heartbeat_is_another() {
        assert_eq!(identity(30, Some(10), Some(20)), Identity::Other(at(20)));
        assert_eq!(identity(23, None, Some(20)), Identity::Other(at(20)));
    }

    #[test]
    fn the_slack_is_on_the_side_of_the_living() {
        assert_eq!(identity(22, None, Some(20)), Identity::Same);
        assert_eq!(identity(12, Some(10), None), Identity::Same);
        assert_eq!(identity(22, Some(10), Some(20)), Identity::Doubtful(at(10)));
    }

    #[test]
    fn between_registration_and_heartbeat_it_cannot_be_told() {
        assert_eq!(identity(15, Some(10), Some(20)), Identity::Doubtful(at(10)));
        assert_eq!(identity(15, Some(10), None), Identity::Doubtful(at(10)));
    }

    #[test]
    fn a_heartbeat_left_over_from_before_the_registration_proves_nothing() {
        assert_eq!(identity(15, Some(20), Some(10)), Identity::Same);
        assert_eq!(identity(30, Some(20), Some(10)), Identity::Other(at(20)));
    }

    #[test]
    fn without_times_nothing_is_checked() {
        assert_eq!(identity(15, None, None), Identity::Unchecked);
    }

    #[test]
    fn times_at_the_edge_of_the_calendar_do_not_overflow() {
        let of = Identity::of;
        assert_eq!(of(Moment::LATEST, Some(Moment::EARLIEST), None), Identity::Doubtful(Moment::EARLIEST));
        assert_eq!(of(Moment::EARLIEST, Some(Moment::LATEST), Some(Moment::LATEST)), Identity::Same);
    }
}
