//! What a sweep of one source may do, and why it may fail.

use std::path::PathBuf;
use thiserror::Error;

use super::brakes::Brakes;
use super::reason::SweepSets;
use crate::domain::fencing::UnfencedBoards;
use crate::domain::time::Span;
use crate::recovery::audited_actor::RecoveryError;

#[derive(Debug, Error)]
pub enum SweepError {
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    #[error("{}: the sightings cannot be kept: {why}", path.display())]
    SightingsFile { path: PathBuf, why: String },
    #[error("this system does not report the time since boot, which two sightings need")]
    NoClock,
}

/// Whether a sweep acts or only rehearses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepMode {
    Act,
    Rehearse,
}

/// What evidence a sweep needs to take a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredEvidence {
    /// Any reason that allows a sweep.
    Ground,
    /// Proof that the holder is dead.
    Proof,
}

/// What a sweep of one source may do.
#[derive(Debug, Clone)]
pub struct SweepOptions {
    pub mode: SweepMode,
    pub wanted: SweepSets,
    pub board: Option<String>,
    pub brakes: Brakes,
    /// Generic profiles that somebody named explicitly: their tables may be changed.
    pub vouched: Vec<String>,
    /// How long a row must stay unchanged, instead of the claim's own time to live.
    pub sighted_for: Option<Span>,
    /// Boards whose systems do not fence late workers, but whose claims are taken for any reason all the same.
    pub unfenced: UnfencedBoards,
    /// The folder of the trail.
    pub trail: PathBuf,
}
