//! Whether the database's own clock ran evenly, and since when its timestamps can be trusted.

use serde::{Deserialize, Serialize};

use super::clock_continuity::{Clocks, NOISE};
use crate::domain::time::{Moment, Span};

/// What earlier runs showed about the database's clock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseClock {
    last: Option<ClockReading>,
    /// Timestamps before this were written by a clock that has been set since.
    believed_since_us: Option<i64>,
    /// Timestamps before the next run are not trusted.
    #[serde(default)]
    doubted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct ClockReading {
    now_us: i64,
    /// The same instant as time since boot of this machine.
    since_boot_us: i64,
}

impl DatabaseClock {
    /// Records its time, and how far it is ahead of ours. Returns by how much it was set since the last run.
    pub fn look(&mut self, now: Moment, ahead: Span, clocks: &Clocks) -> Option<Span> {
        let ours = Span::micros(now.micros().saturating_sub(ahead.as_micros()));
        let since_boot_us = clocks.since_boot_at(ours).as_micros();
        let look = ClockReading { now_us: now.micros(), since_boot_us };
        let jump = self.last.replace(look).map(|last| {
            let (shown, ran) = (look.now_us - last.now_us, look.since_boot_us - last.since_boot_us);
            Span::micros(shown.saturating_sub(ran))
        });
        let jump = jump.filter(|jump| jump.abs() > NOISE);
        if jump.is_some() || std::mem::take(&mut self.doubted) {
            self.believed_since_us = Some(look.now_us);
        }
        jump
    }

    /// From the next run on, only newer timestamps are trusted.
    pub fn doubt(&mut self) {
        self.doubted = true;
        self.forget_last();
    }

    /// Forgets the last reading: the next one has nothing to be compared with.
    pub fn forget_last(&mut self) {
        self.last = None;
    }

    /// Whether the clock that wrote this timestamp is the one that runs now.
    pub fn believes(&self, stamped: Option<Moment>) -> bool {
        match (self.believed_since_us, stamped) {
            (None, _) => true,
            (Some(since), Some(stamped)) => stamped.micros() >= since,
            (Some(_), None) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Moment {
        Moment::from_micros(1_700_000_000_000_000 + seconds * 1_000_000).unwrap()
    }

    /// A reading this many seconds after boot, with our own clock running evenly.
    fn look(clock: &mut DatabaseClock, second: i64, database: i64) -> Option<Span> {
        let clocks = Clocks::for_tests(Span::seconds(second), at(second));
        clock.look(at(database), Span::seconds(database - second), &clocks)
    }

    #[test]
    fn a_clock_that_runs_evenly_is_believed_however_far_ahead_it_is() {
        let mut clock = DatabaseClock::default();
        for second in [0, 30, 60] {
            assert_eq!(look(&mut clock, second, second + 500), None);
        }
        assert!(clock.believes(Some(at(0))) && clock.believes(None));
    }

    #[test]
    fn after_it_was_set_only_what_is_stamped_anew_is_believed() {
        for jump in [3_600, -3_600] {
            let mut clock = DatabaseClock::default();
            assert_eq!(look(&mut clock, 0, 0), None);
            assert_eq!(look(&mut clock, 30, 30 + jump), Some(Span::seconds(jump)));
            assert_eq!(look(&mut clock, 60, 60 + jump), None);
            assert!(!clock.believes(Some(at(29 + jump))) && !clock.believes(None));
            assert!(clock.believes(Some(at(30 + jump))));
        }
    }

    #[test]
    fn after_a_pause_nothing_older_is_believed() {
        let mut clock = DatabaseClock::default();
        look(&mut clock, 0, 0);
        clock.doubt();
        assert_eq!(look(&mut clock, 5_000, 5_000), None);
        assert!(!clock.believes(Some(at(4_999))) && clock.believes(Some(at(5_000))));
        look(&mut clock, 5_030, 5_030);
        assert!(clock.believes(Some(at(5_001))));
    }
}
