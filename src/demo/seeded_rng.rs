//! A seeded random generator: the same numbers for the same seed.

use std::time::Duration;

/// SplitMix64: random enough for a demo, and shorter than a dependency.
#[derive(Debug, Clone)]
pub struct SeededRng(u64);

impl SeededRng {
    pub fn new(seed: u64) -> SeededRng {
        SeededRng(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn one_in(&mut self, many: u64) -> bool {
        self.next().is_multiple_of(many.max(1))
    }

    /// A duration between two numbers of milliseconds.
    pub fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.next() % (to.saturating_sub(from) + 1))
    }

    /// A random element, if there is any.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let many = u64::try_from(from.len()).unwrap_or(u64::MAX).max(1);
        from.get(usize::try_from(self.next() % many).unwrap_or(0))
    }
}
