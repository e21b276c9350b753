//! A row of `tasker_finalization_attempts`.

use super::outcome::{EXTENDED, Outcome};
use super::row::Row;
use crate::domain::time::Moment;

pub(in crate::worker) struct Attempt<'a> {
    pub claimed: bool,
    pub holder: Option<&'a str>,
    pub state: Option<&'a str>,
    pub message: &'a str,
}

impl<'a> Attempt<'a> {
    pub fn to_claim(outcome: &'a Outcome, row: Option<&'a Row>, processor: &'a str) -> Attempt<'a> {
        let holder = match outcome {
            // The document names the claimant itself as the holder once it has the claim.
            Outcome::Claimed { .. } | Outcome::Extended { .. } => Some(processor),
            Outcome::AlreadyClaimed { by, .. } => Some(by.as_str()),
            Outcome::AlreadyComplete | Outcome::NotReady | Outcome::NotFound => None,
        };
        let state = match outcome {
            Outcome::NotFound => Some("not_found"),
            Outcome::AlreadyComplete => Some("complete"),
            _ => row.and_then(|row| row.state.as_deref()),
        };
        Attempt { claimed: outcome.is_claimed(), holder, state, message: outcome.message() }
    }

    pub fn to_extend(until: Option<Moment>, row: Option<&'a Row>) -> Attempt<'a> {
        Attempt {
            claimed: until.is_some(),
            holder: row.and_then(|row| row.claimed_by.as_deref()),
            state: row.and_then(|row| row.state.as_deref()),
            message: if until.is_some() { EXTENDED } else { "Failed to extend claim" },
        }
    }
}
