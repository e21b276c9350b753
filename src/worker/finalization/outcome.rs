//! What a processor is answered.

use super::metrics::Reason;
use crate::domain::time::Moment;

pub(super) const EXTENDED: &str = "Claim extended";

/// The answers to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Claimed {
        until: Moment,
    },
    /// The claim was the caller's already and its time starts anew.
    Extended {
        until: Moment,
    },
    AlreadyClaimed {
        by: String,
        /// Unknown if the row's time cannot be read; such a claim is left to people.
        until: Option<Moment>,
    },
    AlreadyComplete,
    /// No step has completed or failed yet.
    NotReady,
    NotFound,
}

impl Outcome {
    /// Whether the caller has the claim now.
    pub fn is_claimed(&self) -> bool {
        matches!(self, Outcome::Claimed { .. } | Outcome::Extended { .. })
    }

    /// The document's words.
    pub fn message(&self) -> &'static str {
        match self {
            Outcome::Claimed { .. } => "Successfully claimed for finalization",
            Outcome::Extended { .. } => EXTENDED,
            Outcome::AlreadyClaimed { .. } => "Task already claimed for finalization",
            Outcome::AlreadyComplete => "Task already complete",
            Outcome::NotReady => "Task has no completed or failed steps",
            Outcome::NotFound => "Task not found",
        }
    }

    /// Why there is no claim, by the document's labels; it has none of its own for an unknown task.
    pub(super) fn reason(&self) -> Option<Reason> {
        match self {
            Outcome::Claimed { .. } | Outcome::Extended { .. } => None,
            Outcome::AlreadyClaimed { .. } => Some(Reason::AlreadyClaimed),
            Outcome::AlreadyComplete => Some(Reason::AlreadyComplete),
            Outcome::NotReady => Some(Reason::NotReady),
            Outcome::NotFound => Some(Reason::Other),
        }
    }
}

/// The answers to the word that a task is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    Completed,
    AlreadyComplete,
    /// Another has the claim, or nobody.
    NotOwner {
        by: Option<String>,
    },
    NotFound,
}
