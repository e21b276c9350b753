//! A row of `tasker_finalization_attempts`.

use std::time::Instant;

use super::outcome::{EXTENDED, FinalizationClaim, NOT_EXTENDED, NOT_RELEASED, RELEASED};
use super::row::TaskRow;
use crate::domain::time::Moment;

pub(in crate::worker) struct ClaimAttempt<'a> {
    pub operation: &'static str,
    pub claimed: bool,
    pub holder: Option<&'a str>,
    pub state: Option<&'a str>,
    pub message: &'a str,
    /// How long it took until now: waiting for others is most of it, and the commit is missing.
    pub seconds: f64,
}

impl<'a> ClaimAttempt<'a> {
    pub(crate) fn to_claim(
        outcome: &'a FinalizationClaim,
        row: Option<&'a TaskRow>,
        processor: &'a str,
        started: Instant,
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
        ClaimAttempt {
            operation: "claim",
            claimed: outcome.is_claimed(),
            holder,
            state,
            message: outcome.message(),
            seconds: started.elapsed().as_secs_f64(),
        }
    }

    pub(crate) fn to_extend(
        until: Option<Moment>,
        row: Option<&'a TaskRow>,
        started: Instant,
    ) -> ClaimAttempt<'a> {
        ClaimAttempt {
            operation: "extend",
            claimed: until.is_some(),
            holder: row.and_then(|row| row.claimed_by.as_deref()),
            state: row.and_then(|row| row.state.as_deref()),
            message: if until.is_some() { EXTENDED } else { NOT_EXTENDED },
            seconds: started.elapsed().as_secs_f64(),
        }
    }

    /// `released` says whether the processor had the claim. Nobody has claimed anything by it.
    pub(crate) fn to_release(released: bool, row: Option<&'a TaskRow>, started: Instant) -> ClaimAttempt<'a> {
        ClaimAttempt {
            operation: "release",
            claimed: false,
            holder: row.and_then(|row| row.claimed_by.as_deref()),
            state: row.and_then(|row| row.state.as_deref()),
            message: if released { RELEASED } else { NOT_RELEASED },
            seconds: started.elapsed().as_secs_f64(),
        }
    }
}
