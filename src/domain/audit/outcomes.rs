//! How many acts came to what.

use std::fmt;
use std::ops::AddAssign;

/// Acts by outcome, as the audit trail names outcomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    pub applied: u64,
    pub moved: u64,
    pub refused: u64,
    pub unknown: u64,
    /// Begun, and nothing more is on record.
    pub open: u64,
}

impl OutcomeCounts {
    pub fn add(&mut self, outcome: Option<&str>) {
        *self.of(outcome) += 1;
    }

    /// Counts an act, or counts it anew if more is known of it: `counted` is the outcome it was counted with.
    pub fn change(&mut self, counted: Option<Option<&str>>, outcome: Option<&str>) {
        if let Some(counted) = counted {
            let count = self.of(counted);
            *count = count.saturating_sub(1);
        }
        self.add(outcome);
    }

    fn of(&mut self, outcome: Option<&str>) -> &mut u64 {
        match outcome {
            Some("applied") => &mut self.applied,
            Some("moved") => &mut self.moved,
            Some("refused") => &mut self.refused,
            Some(_) => &mut self.unknown,
            None => &mut self.open,
        }
    }

    pub fn total(&self) -> u64 {
        self.applied + self.moved + self.refused + self.unknown + self.open
    }

    /// The outcome of all of them, if they share one.
    pub fn in_common(&self) -> Option<&'static str> {
        let mut some = self.each().into_iter().filter(|(count, _)| *count > 0);
        let (_, word) = some.next()?;
        some.next().is_none().then_some(word)
    }

    fn each(&self) -> [(u64, &'static str); 5] {
        [
            (self.applied, "applied"),
            (self.moved, "moved"),
            (self.refused, "refused"),
            (self.unknown, "unknown"),
            (self.open, "open"),
        ]
    }
}

impl AddAssign for OutcomeCounts {
    fn add_assign(&mut self, other: OutcomeCounts) {
        self.applied += other.applied;
        self.moved += other.moved;
        self.refused += other.refused;
        self.unknown += other.unknown;
        self.open += other.open;
    }
}

/// "52 applied, 1 moved".
impl fmt::Display for OutcomeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let some = self.each().into_iter().filter(|(count, _)| *count > 0);
        let all: Vec<String> = some.map(|(count, word)| format!("{count} {word}")).collect();
        f.write_str(if all.is_empty() { "none" } else { "" })?;
        f.write_str(&all.join(", "))
    }
}
