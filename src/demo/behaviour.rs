//! How a worker behaves, and how it fails.

use std::time::Duration;

use super::seeded_rng::SeededRng;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    Steady,
    /// Takes long, and renews at the last moment.
    Slow,
    /// Works without heartbeats.
    Forgetful,
    /// Stops itself (SIGSTOP) while it holds tasks.
    Hanging,
    /// Kills itself (SIGKILL) while it holds tasks.
    Crashing,
}

/// What happens to a worker at the end of its lifetime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureMode {
    WorksOn,
    Hangs,
    Crashes,
}

/// The heartbeat interval of steady workers: no claim becomes stale.
const STEADILY: Duration = Duration::from_millis(800);
/// The heartbeat interval of slow workers: claims become stale, but not orphaned.
const SELDOM: Duration = Duration::from_millis(3_200);
/// How long before the end of its lease a slow worker renews it.
const LAST_MOMENT: Duration = Duration::from_millis(1_500);

impl Behaviour {
    pub const ALL: [Behaviour; 5] =
        [Behaviour::Steady, Behaviour::Slow, Behaviour::Forgetful, Behaviour::Hanging, Behaviour::Crashing];

    pub fn as_str(self) -> &'static str {
        match self {
            Behaviour::Steady => "steady",
            Behaviour::Slow => "slow",
            Behaviour::Forgetful => "forgetful",
            Behaviour::Hanging => "hanging",
            Behaviour::Crashing => "crashing",
        }
    }

    /// How many tasks it holds at once.
    pub fn capacity(self) -> usize {
        match self {
            Behaviour::Steady | Behaviour::Slow => 3,
            Behaviour::Hanging | Behaviour::Crashing => 2,
            Behaviour::Forgetful => 1,
        }
    }

    /// How long one task takes.
    pub fn task_duration(self, rng: &mut SeededRng) -> Duration {
        match self {
            Behaviour::Steady | Behaviour::Hanging | Behaviour::Crashing => rng.millis(3_000, 9_000),
            Behaviour::Slow => rng.millis(12_000, 20_000),
            Behaviour::Forgetful => rng.millis(5_000, 13_000),
        }
    }

    /// How often it sends a heartbeat; a forgetful worker only when it asks for work.
    pub fn reports_every(self) -> Option<Duration> {
        match self {
            Behaviour::Steady | Behaviour::Hanging | Behaviour::Crashing => Some(STEADILY),
            Behaviour::Slow => Some(SELDOM),
            Behaviour::Forgetful => None,
        }
    }

    /// How often it renews a claim with this lease.
    pub fn renews_every(self, lease: Duration) -> Option<Duration> {
        match self {
            Behaviour::Steady | Behaviour::Hanging | Behaviour::Crashing => Some(STEADILY),
            Behaviour::Slow => Some(lease.saturating_sub(LAST_MOMENT)),
            Behaviour::Forgetful => None,
        }
    }

    pub fn failure_mode(self) -> FailureMode {
        match self {
            Behaviour::Steady | Behaviour::Slow | Behaviour::Forgetful => FailureMode::WorksOn,
            Behaviour::Hanging => FailureMode::Hangs,
            Behaviour::Crashing => FailureMode::Crashes,
        }
    }
}
