//! What an act came to.

use std::fmt;

use super::{Moved, Refusal, RefusalReach};

/// What an act came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Applied,
    /// The claim is not what it was when it was seen; nothing was written.
    Moved(Moved),
    /// The act is not allowed; nothing was written.
    Refused(Refusal),
    /// It cannot be told whether the act was done.
    Unknown(Unknown),
}

/// Why it cannot be told whether an act was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// What the database, or the connection, reported for the commit.
    pub error: String,
    pub clue: Clue,
}

/// What could be found out about a commit whose answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clue {
    /// Nobody looked.
    NotSought,
    /// Nobody can tell yet.
    NotFound,
    /// The rows are as the act would have left them.
    LooksApplied,
    /// The rows are as they were before the act.
    LooksNotApplied,
}

impl Outcome {
    pub fn as_str(&self) -> &'static str {
        match self {
            Outcome::Applied => "applied",
            Outcome::Moved(_) => "moved",
            Outcome::Refused(_) => "refused",
            Outcome::Unknown(_) => "unknown",
        }
    }

    /// The sentence that says why it was not applied, and which options would allow it.
    pub fn why(&self) -> Option<String> {
        match self {
            Outcome::Applied => None,
            Outcome::Moved(moved) => Some(moved.to_string()),
            Outcome::Refused(refusal) => Some(refusal.to_string()),
            Outcome::Unknown(unknown) => Some(unknown.to_string()),
        }
    }

    /// The same without the options of the command line that would allow it.
    pub fn cause(&self) -> Option<String> {
        match self {
            Outcome::Refused(refusal) => Some(refusal.cause()),
            other => other.why(),
        }
    }

    /// Why the next act of a bulk need not be tried: it would meet the same. An answer that was lost means that
    /// the connection was.
    pub fn stops_a_bulk(&self) -> Option<String> {
        match self {
            Outcome::Refused(refusal) if refusal.reach() == RefusalReach::EveryClaim => {
                Some(refusal.to_string())
            }
            Outcome::Unknown(unknown) => Some(unknown.to_string()),
            Outcome::Applied | Outcome::Refused(_) | Outcome::Moved(_) => None,
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error)?;
        f.write_str(match self.clue {
            Clue::NotSought => "",
            Clue::NotFound => ", and what became of it cannot be found out yet",
            Clue::LooksApplied => "; the rows suggest that it was applied",
            Clue::LooksNotApplied => "; the rows suggest that it was not applied",
        })
    }
}
