//! How far apart the polls of a source are.

use std::time::Duration;

/// So many polls in a row have to be slow: one that met a frozen server is an exception.
const POLLS: usize = 4;

/// How long the last polls took.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    took: [Duration; POLLS],
    polls: usize,
}

impl Pace {
    /// From the beginning of a poll that took so long to the beginning of the next: one that is slow to
    /// answer is asked less often.
    pub fn after(&mut self, took: Duration, every: Duration) -> Duration {
        self.took[self.polls % POLLS] = took;
        self.polls += 1;
        let usual = self.took.iter().min().copied().unwrap_or_default();
        every.max(usual * 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_source_that_stays_slow_is_asked_less_often() {
        let second = Duration::from_secs(1);
        let mut pace = Pace::default();
        for took in [0, 30, 0, 5] {
            assert_eq!(pace.after(second * took, second), second);
        }
        let slow: Vec<Duration> = [5, 6, 7, 8].map(|took| pace.after(second * took, second)).into();
        assert_eq!(slow, [second, second, second * 20, second * 20]);
        assert_eq!(pace.after(second / 10, second), second);
    }
}
