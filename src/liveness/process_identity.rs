//! Identity: whether the process that has a PID now is the one that had it then.
//!
//! A PID belongs to one process from its start to its end. A process that is older than the session's registration
//! is therefore the one that registered it, and a process that started after the last sign of life of the session
//! is not.
//!
//! The start in wall time is the boot time plus the kernel's ticks. `/proc/stat` rounds the boot time down to a
//! second, and many systems round their own times too. The slack covers both: a PID that was reused within it is not
//! noticed. The kernel computes the boot time from the current clock. If the clock was stepped by more than the slack
//! since the last heartbeat, start times appear shifted by as much until the next heartbeat.

use crate::domain::time::{Moment, Span};

/// The most by which two clocks that are rounded to a second can differ.
pub(super) const SLACK: Span = Span::seconds(2);

/// How the start of a process compares with the times of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessIdentity {
    /// The process has had the PID since before the session was registered.
    Same,
    /// The session has no time to compare with.
    Unchecked,
    /// It started at this time: after the session was registered, and before its last sign of life.
    Doubtful(Moment),
    /// It started at this time: after the session's last sign of life.
    Other(Moment),
}

impl ProcessIdentity {
    pub(super) fn of(start: Moment, started_at: Option<Moment>, beat_at: Option<Moment>) -> ProcessIdentity {
        let after = |then: Moment| start > then.plus(SLACK);
        // If the registration is later than the last heartbeat, it is the later sign of life: the heartbeat may belong
        // to an earlier session in the same row.
        let last_sign = beat_at.map(|beat| started_at.map_or(beat, |registered| beat.max(registered)));
        match (started_at, last_sign) {
            (_, Some(sign)) if after(sign) => ProcessIdentity::Other(sign),
            // Another process may have registered the session, so this does not prove that the PID was reused.
            (Some(registered), _) if after(registered) => ProcessIdentity::Doubtful(registered),
            (None, None) => ProcessIdentity::Unchecked,
            (Some(_), _) | (None, Some(_)) => ProcessIdentity::Same,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Moment {
        Moment::from_micros(1_700_000_000_000_000).unwrap().plus(Span::seconds(seconds))
    }

    fn identity(start: i64, started_at: Option<i64>, beat_at: Option<i64>) -> ProcessIdentity {
        ProcessIdentity::of(at(start), started_at.map(at), beat_at.map(at))
    }

    #[test]
    fn a_process_older_than_the_session_is_the_holder() {
        assert_eq!(identity(0, Some(10), Some(20)), ProcessIdentity::Same);
        assert_eq!(identity(0, Some(10), None), ProcessIdentity::Same);
        assert_eq!(identity(0, None, Some(20)), ProcessIdentity::Same);
    }

    #[test]
    fn a_process_younger_than_the_last_heartbeat_is_another() {
        assert_eq!(identity(30, Some(10), Some(20)), ProcessIdentity::Other(at(20)));
        assert_eq!(identity(23, None, Some(20)), ProcessIdentity::Other(at(20)));
    }

    #[test]
    fn the_slack_is_on_the_side_of_the_living() {
        assert_eq!(identity(22, None, Some(20)), ProcessIdentity::Same);
        assert_eq!(identity(12, Some(10), None), ProcessIdentity::Same);
        assert_eq!(identity(22, Some(10), Some(20)), ProcessIdentity::Doubtful(at(10)));
    }

    #[test]
    fn between_registration_and_heartbeat_it_cannot_be_told() {
        assert_eq!(identity(15, Some(10), Some(20)), ProcessIdentity::Doubtful(at(10)));
        assert_eq!(identity(15, Some(10), None), ProcessIdentity::Doubtful(at(10)));
    }

    #[test]
    fn a_heartbeat_left_over_from_before_the_registration_proves_nothing() {
        assert_eq!(identity(15, Some(20), Some(10)), ProcessIdentity::Same);
        assert_eq!(identity(30, Some(20), Some(10)), ProcessIdentity::Other(at(20)));
    }

    #[test]
    fn without_times_nothing_is_checked() {
        assert_eq!(identity(15, None, None), ProcessIdentity::Unchecked);
    }

    #[test]
    fn times_at_the_edge_of_the_calendar_do_not_overflow() {
        let of = ProcessIdentity::of;
        assert_eq!(
            of(Moment::LATEST, Some(Moment::EARLIEST), None),
            ProcessIdentity::Doubtful(Moment::EARLIEST)
        );
        assert_eq!(of(Moment::EARLIEST, Some(Moment::LATEST), Some(Moment::LATEST)), ProcessIdentity::Same);
    }
}
