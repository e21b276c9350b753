//! Did time pass evenly between two looks?

use serde::{Deserialize, Serialize};
use std::fs;

use crate::domain::time::{Moment, Span};
use crate::store::clock;

/// What the two clocks of this machine show: the one that people set, and the one that counts from
/// the start and goes on while the machine sleeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    boot: String,
    since_boot_us: i64,
    wall_us: i64,
}

/// How time passed from one look to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockContinuity {
    Steady,
    /// The machine has been started anew.
    Restarted,
    /// The wall clock was set by this much.
    Jumped(Span),
    /// Nobody looked for this long.
    Gap(Span),
}

/// What the two clocks may differ by: reading them takes time, and one counts in hundredths.
pub(super) const NOISE: Span = Span::seconds(2);

impl Clocks {
    /// Reads them; nothing where the system does not tell the time since its start.
    pub fn read() -> Option<Clocks> {
        let uptime = fs::read_to_string("/proc/uptime").ok()?;
        let seconds: f64 = uptime.split_whitespace().next()?.parse().ok()?;
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let since_boot_us = (seconds * 1e6) as i64;
        Some(Clocks { boot: boot.trim().into(), since_boot_us, wall_us: clock().micros() })
    }

    /// The time since the machine's start.
    pub fn since_boot(&self) -> Span {
        Span::micros(self.since_boot_us)
    }

    /// The time since the machine's start at an instant that this wall clock showed.
    pub(super) fn since_boot_at(&self, wall: Span) -> Span {
        Span::micros(self.since_boot_us - (self.wall_us - wall.as_micros()))
    }

    #[cfg(test)]
    pub(super) fn for_tests(since_boot: Span, wall: Moment) -> Clocks {
        Clocks { boot: "b".into(), since_boot_us: since_boot.as_micros(), wall_us: wall.micros() }
    }

    /// How time passed since an earlier reading, when looks were due every so often.
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
    /// What is said of it, unless all is well.
    pub fn sentence(self) -> Option<String> {
        let what = match self {
            ClockContinuity::Steady => return None,
            ClockContinuity::Restarted => "this machine was started anew".into(),
            ClockContinuity::Jumped(by) => format!("this machine's clock jumped by {by}"),
            ClockContinuity::Gap(of) => format!("nobody looked for {of}"),
        };
        Some(format!("{what}: paused, every claim is watched anew for its time to live"))
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
