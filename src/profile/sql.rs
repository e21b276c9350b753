//! The acts of a profile, by name.

use super::format::{Act, Board};

impl Board {
    /// Its acts by name.
    pub fn acts(&mut self) -> impl Iterator<Item = (&'static str, &mut Option<Act>)> {
        [
            ("reclaim", &mut self.reclaim),
            ("release", &mut self.release),
            ("extend", &mut self.extend),
            ("requeue", &mut self.requeue),
        ]
        .into_iter()
    }
}
