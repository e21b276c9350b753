//! Whether time passed evenly between two runs.

use serde::{Deserialize, Serialize};
use std::fs;

use crate::domain::time::{Moment, Span};
use crate::store::clock;

/// The two clocks of this machine: the wall clock, which can be set, and the time since boot, which also runs while
/// the machine sleeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    boot: String,
    since_boot_us: i64,
    wall_us: i64,
}

/// How time passed from one run to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockContinuity {
    Steady,
    /// The machine was restarted.
    Restarted,
    /// The wall clock was set by this much.
    Jumped(Span),
    /// There was no run for this long.
    Gap(Span),
}

/// How far the two clocks may differ: reading them takes time, and one counts in hundredths of a second.
pub(super) const NOISE: Span = Span::seconds(2);

impl Clocks {
    /// Reads both clocks; `None` if the system does not report the time since boot.
    pub fn read() -> Option<Clocks> {
        let uptime = fs::read_to_string("/proc/uptime").ok()?;
        let seconds: f64 = uptime.split_whitespace().next()?.parse().ok()?;
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let since_boot_us = (seconds * 1e6) as i64;
        Some(Clocks { boot: boot.trim().into(), since_boot_us, wall_us: clock().micros() })
    }

    /// The time since boot.
    pub fn since_boot(&self) -> Span {
        Span::micros(self.since_boot_us)
    }

    /// The time since boot at an instant of the wall clock.
    pub(super) fn since_boot_at(&self, wall: Span) -> Span {
        Span::micros(self.since_boot_us - (self.wall_us - wall.as_micros()))
    }

    #[cfg(test)]
    pub(super) fn for_tests(since_boot: Span, wall: Moment) -> Clocks {
        Clocks { boot: "b".into(), since_boot_us: since_boot.as_micros(), wall_us: wall.micros() }
    }

    /// How time passed since an earlier reading, if runs are due at this interval.
    pub fn since(&self, before: &Clocks, every: Span) -> ClockContinuity {
        if self.boot != before.boot {
            return ClockContinuity::Restarted;
        }
        let ran = Span::micros(self.since_boot_us - before.since_boot_us);
        let wall = |clocks: &Clocks| Moment::from_micros(clocks.wall_us).unwrap_or(Moment::EARLIEST);
        let jump = Span::micros(wall(self).since(wall(before)).as_micros() - ran.as_micros());
        if jump.abs() > NOISE {
            return ClockContinuity::Jumped(jump);
        }
        if ran > every.times(3).max(NOISE) { ClockContinuity::Gap(ran) } else { ClockContinuity::Steady }
    }
}

impl ClockContinuity {
    /// A sentence about it, unless time passed evenly.
    pub fn sentence(self) -> Option<String> {
        let what = match self {
            ClockContinuity::Steady => return None,
            ClockContinuity::Restarted => "this machine was restarted".into(),
            ClockContinuity::Jumped(by) => format!("this machine's clock jumped by {by}"),
            ClockContinuity::Gap(of) => format!("there was no run for {of}"),
        };
        Some(format!("{what}: paused; every claim is watched again for its time to live"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(since_boot: i64, wall: i64) -> Clocks {
        Clocks { boot: "b".into(), since_boot_us: since_boot * 1_000_000, wall_us: wall * 1_000_000 }
    }

    #[test]
    fn jumps_gaps_and_restarts_are_told_from_steady_time() {
        let every = Span::seconds(10);
        let before = clocks(100, 5_000);
        for (after, passage) in [
            (clocks(110, 5_010), ClockContinuity::Steady),
            (clocks(110, 5_011), ClockContinuity::Steady),
            (clocks(110, 5_030), ClockContinuity::Jumped(Span::seconds(20))),
            (clocks(110, 4_000), ClockContinuity::Jumped(Span::seconds(-1_010))),
            (clocks(131, 5_031), ClockContinuity::Gap(Span::seconds(31))),
            (Clocks { boot: "c".into(), ..clocks(110, 5_010) }, ClockContinuity::Restarted),
        ] {
            assert_eq!(after.since(&before, every), passage, "{after:?}");
        }
    }
}
