//! How long to wait before the next try.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(2);

/// Waits of a random length below a bound that doubles: many watchers of one server that comes
/// back do not all knock at once.
#[derive(Debug, Clone)]
pub struct Backoff {
    bound: Duration,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff { bound: FIRST }
    }
}

impl Backoff {
    pub fn new() -> Backoff {
        Backoff::default()
    }

    /// The next wait; there is always one, so that this is no iterator.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Duration {
        let bound = self.bound;
        self.bound = (bound * 2).min(LONGEST);
        // Every state is seeded anew, so that its hash of nothing is a random number.
        let random = RandomState::new().hash_one(()) % 1_000;
        bound * u32::try_from(random + 1).unwrap_or(1) / 1_000
    }

    /// After a success.
    pub fn reset(&mut self) {
        self.bound = FIRST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_a_bound_and_start_small_again() {
        let mut backoff = Backoff::new();
        assert!(backoff.next() <= FIRST);
        let later: Vec<Duration> = (0..200).map(|_| backoff.next()).collect();
        assert!(later.iter().all(|wait| *wait <= LONGEST && !wait.is_zero()));
        assert!(later.iter().any(|wait| *wait > LONGEST / 2) && later.iter().any(|wait| *wait < LONGEST / 2));
        backoff.reset();
        assert!(backoff.next() <= FIRST);
    }
}
