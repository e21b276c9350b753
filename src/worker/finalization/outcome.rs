//! The results of a processor's operations.

use super::metrics::ContentionReason;
use crate::domain::time::Moment;

pub(crate) const EXTENDED: &str = "Claim extended";
pub(crate) const NOT_EXTENDED: &str = "Failed to extend claim";
pub(crate) const RELEASED: &str = "Claim released";
pub(crate) const NOT_RELEASED: &str = "Claim was not owned by this processor";

/// The result of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinalizationClaim {
    Claimed {
        until: Moment,
    },
    /// The caller held the claim already; its timeout starts again.
    Extended {
        until: Moment,
    },
    AlreadyClaimed {
        by: String,
        /// Unknown if the time in the row cannot be read; such a claim is left to people.
        until: Option<Moment>,
    },
    AlreadyComplete,
    /// No step has completed or failed yet.
    NotReady,
    NotFound,
}

impl FinalizationClaim {
    /// Whether the caller holds the claim now.
    pub fn is_claimed(&self) -> bool {
        matches!(self, FinalizationClaim::Claimed { .. } | FinalizationClaim::Extended { .. })
    }

    /// The message of the specification.
    pub fn message(&self) -> &'static str {
        match self {
            FinalizationClaim::Claimed { .. } => "Successfully claimed for finalization",
            FinalizationClaim::Extended { .. } => EXTENDED,
            FinalizationClaim::AlreadyClaimed { .. } => "Task already claimed for finalization",
            FinalizationClaim::AlreadyComplete => "Task already complete",
            FinalizationClaim::NotReady => "Task has no completed or failed steps",
            FinalizationClaim::NotFound => "Task not found",
        }
    }

    /// The reason label of the specification; it has none for an unknown task.
    pub(super) fn reason(&self) -> Option<ContentionReason> {
        match self {
            FinalizationClaim::Claimed { .. } | FinalizationClaim::Extended { .. } => None,
            FinalizationClaim::AlreadyClaimed { .. } => Some(ContentionReason::AlreadyClaimed),
            FinalizationClaim::AlreadyComplete => Some(ContentionReason::AlreadyComplete),
            FinalizationClaim::NotReady => Some(ContentionReason::NotReady),
            FinalizationClaim::NotFound => Some(ContentionReason::Other),
        }
    }
}

/// The result of completing a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    Completed,
    AlreadyComplete,
    /// Another processor holds the claim, or nobody does.
    NotOwner {
        by: Option<String>,
    },
    NotFound,
}
