//! One silence of a claim.

use crate::domain::time::Moment;

/// A claim without a new sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// The number of the claim: one holder that has one task since one instant.
    pub claim: u32,
    /// The last sign of life.
    pub sign: Moment,
    /// The first and the last poll that saw it so.
    pub first: Moment,
    pub last: Moment,
    pub end: SilenceEnd,
    /// The poll that found it ended.
    pub ended_at: Moment,
}

/// How a silence ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SilenceEnd {
    /// Its holder gave a new sign of life.
    Renewed,
    /// It was gone, and its holder was alive.
    Finished,
    /// Another holder had it.
    ChangedHands,
    /// It was gone, and its holder was silent: somebody else freed it.
    Abandoned,
    /// It was gone, and nothing tells whether its holder was alive.
    Vanished,
    /// It went on when the recording ended.
    Open,
}

/// What the end of a silence says about taking the claim before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    Right,
    /// The holder was alive.
    Wrong,
    /// The claim was finished by its holder, or freed by somebody else: nothing tells which.
    Unclear,
    /// The recording ended before.
    Undecided,
}

impl SilenceEnd {
    pub fn outcome(self) -> Outcome {
        match self {
            SilenceEnd::Renewed | SilenceEnd::Finished => Outcome::Wrong,
            SilenceEnd::ChangedHands | SilenceEnd::Abandoned => Outcome::Right,
            SilenceEnd::Vanished => Outcome::Unclear,
            SilenceEnd::Open => Outcome::Undecided,
        }
    }
}
