//! What a sweep of one source is told, and why it may fail.

use std::path::PathBuf;
use thiserror::Error;

use super::brakes::Brakes;
use super::reason::Wanted;
use crate::domain::time::Span;
use crate::recovery::audited_actor::RecoveryError;

#[derive(Debug, Error)]
pub enum SweepError {
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    #[error("{}: the sightings cannot be kept: {why}", path.display())]
    SightingsFile { path: PathBuf, why: String },
    #[error("this system does not tell the time since its start, and two sightings need it")]
    NoClock,
}

/// Whether it is done, or only said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Act,
    Rehearse,
}

/// What a sweep of one source is to do.
#[derive(Debug, Clone)]
pub struct Orders {
    pub manner: Manner,
    pub wanted: Wanted,
    pub board: Option<String>,
    pub brakes: Brakes,
    /// Generic profiles that somebody has named: their tables are theirs.
    pub vouched: Vec<String>,
    /// How long a row must have stood still, in place of the claim's own time.
    pub sighted_for: Option<Span>,
    /// The folder of the trail.
    pub trail: PathBuf,
}
