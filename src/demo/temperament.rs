//! How a worker works, and how it ends.

use std::time::Duration;

use super::dice::Dice;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Temperament {
    Steady,
    /// Takes long, and renews at the last moment.
    Slow,
    /// Works, but never says that it does.
    Forgetful,
    /// Stops itself with its hands full.
    Hanging,
    /// Kills itself with its hands full.
    Crashing,
}

/// What becomes of a worker when its time is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerFate {
    WorksOn,
    Hangs,
    Crashes,
}

/// The signs of life of who gives them: often enough that nobody worries.
const STEADILY: Duration = Duration::from_millis(800);
/// Those of the slow: too seldom for that, but often enough to be no orphan.
const SELDOM: Duration = Duration::from_millis(3_200);
/// How much of its lease the slow one leaves when it renews it.
const LAST_MOMENT: Duration = Duration::from_millis(1_500);

impl Temperament {
    pub const ALL: [Temperament; 5] = [
        Temperament::Steady,
        Temperament::Slow,
        Temperament::Forgetful,
        Temperament::Hanging,
        Temperament::Crashing,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Temperament::Steady => "steady",
            Temperament::Slow => "slow",
            Temperament::Forgetful => "forgetful",
            Temperament::Hanging => "hanging",
            Temperament::Crashing => "crashing",
        }
    }

    /// How much it takes on at a time.
    pub fn hands(self) -> usize {
        match self {
            Temperament::Steady | Temperament::Slow => 3,
            Temperament::Hanging | Temperament::Crashing => 2,
            Temperament::Forgetful => 1,
        }
    }

    /// How long it works on one task.
    pub fn effort(self, dice: &mut Dice) -> Duration {
        match self {
            Temperament::Steady | Temperament::Hanging | Temperament::Crashing => dice.millis(3_000, 9_000),
            Temperament::Slow => dice.millis(12_000, 20_000),
            Temperament::Forgetful => dice.millis(5_000, 13_000),
        }
    }

    /// How often it reports to the registry; the forgetful only when it comes for work.
    pub fn reports_every(self) -> Option<Duration> {
        match self {
            Temperament::Steady | Temperament::Hanging | Temperament::Crashing => Some(STEADILY),
            Temperament::Slow => Some(SELDOM),
            Temperament::Forgetful => None,
        }
    }

    /// How often it renews a claim that lasts this long.
    pub fn renews_every(self, lease: Duration) -> Option<Duration> {
        match self {
            Temperament::Steady | Temperament::Hanging | Temperament::Crashing => Some(STEADILY),
            Temperament::Slow => Some(lease.saturating_sub(LAST_MOMENT)),
            Temperament::Forgetful => None,
        }
    }

    pub fn fate(self) -> WorkerFate {
        match self {
            Temperament::Steady | Temperament::Slow | Temperament::Forgetful => WorkerFate::WorksOn,
            Temperament::Hanging => WorkerFate::Hangs,
            Temperament::Crashing => WorkerFate::Crashes,
        }
    }
}
