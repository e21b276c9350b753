//! How many claims one transaction takes: as many as keep a heartbeat of theirs waiting only shortly.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BatchSize {
    pub claims: usize,
    /// Somebody else works through the same claims.
    pub has_competitors: bool,
}

const FEWEST: usize = 100;
const MOST: usize = 1_000;
/// How long a transaction should take: a heartbeat that finds its row locked waits no longer.
const LONG: Duration = Duration::from_millis(35);
/// The same where others are at work, too: they keep the server busy meanwhile, and make it less certain how long
/// the next one takes.
const LONG_WITH_COMPETITORS: Duration = Duration::from_millis(25);

impl Default for BatchSize {
    fn default() -> BatchSize {
        BatchSize { claims: 500, has_competitors: false }
    }
}

impl BatchSize {
    /// The next one, after a transaction that took so long and found so many of its claims gone.
    pub(super) fn after(self, took: Duration, tried: usize, gone: usize) -> BatchSize {
        let claims = match tried - gone {
            // What was hardly begun tells nothing.
            done if done < self.claims / 2 => self.claims,
            done => {
                let long = if self.has_competitors { LONG_WITH_COMPETITORS } else { LONG };
                let share = long.as_secs_f64() / took.as_secs_f64().max(1e-6);
                (done as f64 * share.clamp(0.5, 2.0)) as usize
            }
        };
        BatchSize { claims: claims.clamp(FEWEST, MOST), has_competitors: self.has_competitors || gone > 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_that_are_gone_show_competitors() {
        let alone = BatchSize::default().after(Duration::from_millis(20), 500, 0);
        assert!(!alone.has_competitors);
        assert!(alone.after(Duration::from_millis(20), 500, 3).has_competitors);
    }

    #[test]
    fn a_slow_server_gets_shorter_transactions_and_a_fast_one_longer() {
        let batch_size = BatchSize::default();
        assert_eq!(batch_size.after(Duration::from_millis(100), 500, 0).claims, 250);
        assert_eq!(batch_size.after(Duration::from_millis(5), 500, 0).claims, 1_000);
        assert_eq!(batch_size.after(Duration::from_millis(35), 500, 0).claims, 500);
        assert_eq!(batch_size.after(Duration::from_millis(50), 200, 0).claims, 500, "it was a short one");
        assert_eq!(batch_size.after(Duration::from_millis(1), 500, 400).claims, 500);
        let has_competitors = BatchSize { has_competitors: true, ..batch_size };
        assert_eq!(has_competitors.after(Duration::from_millis(50), 500, 0).claims, 250);
    }
}
