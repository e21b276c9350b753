//! A row of `tasker_finalization_attempts`.

use super::outcome::{EXTENDED, FinalizationClaim};
use super::row::TaskRow;
use crate::domain::time::Moment;

pub(in crate::worker) struct ClaimAttempt<'a> {
    pub claimed: bool,
    pub holder: Option<&'a str>,
    pub state: Option<&'a str>,
    pub message: &'a str,
}

impl<'a> ClaimAttempt<'a> {
    pub(crate) fn to_claim(
        outcome: &'a FinalizationClaim,
        row: Option<&'a TaskRow>,
        processor: &'a str,
    ) -> ClaimAttempt<'a> {
        let holder = match outcome {
            // The specification reports the claimant itself as the holder once it has the claim.
            FinalizationClaim::Claimed { .. } | FinalizationClaim::Extended { .. } => Some(processor),
            FinalizationClaim::AlreadyClaimed { by, .. } => Some(by.as_str()),
            FinalizationClaim::AlreadyComplete
            | FinalizationClaim::NotReady
            | FinalizationClaim::NotFound => None,
        };
        let state = match outcome {
            FinalizationClaim::NotFound => Some("not_found"),
            FinalizationClaim::AlreadyComplete => Some("complete"),
            _ => row.and_then(|row| row.state.as_deref()),
        };
        ClaimAttempt { claimed: outcome.is_claimed(), holder, state, message: outcome.message() }
    }

    pub(crate) fn to_extend(until: Option<Moment>, row: Option<&'a TaskRow>) -> ClaimAttempt<'a> {
        ClaimAttempt {
            claimed: until.is_some(),
            holder: row.and_then(|row| row.claimed_by.as_deref()),
            state: row.and_then(|row| row.state.as_deref()),
            message: if until.is_some() { EXTENDED } else { "Failed to extend claim" },
        }
    }
}
