//! What a sweep is told on the command line.

use clap::Args;
use std::path::PathBuf;

use crate::config::Share;
use crate::domain::time::Span;
use crate::domain::verdict::Set;

/// What a sweep is told.
#[derive(Debug, Args)]
pub struct SweepArgs {
    #[arg(value_name = "SOURCE", required = true)]
    pub(super) sources: Vec<String>,
    /// One run [default, unless the config says how often]
    #[arg(long, conflicts_with = "every")]
    pub(super) once: bool,
    /// Sweep again and again, this far apart; what workers stamped is taken only if it stood still
    #[arg(long, value_name = "DURATION", value_parser = Span::parse_interval)]
    pub(super) every: Option<Span>,
    /// Print exactly what would be done, and write nothing at all
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Take only what stood still since an earlier run; keeps sightings in the state folder
    #[arg(long, conflicts_with = "every")]
    pub(super) sighted: bool,
    #[command(flatten)]
    pub(super) terms: SweepTerms,
}

/// What a sweep may take, how much of it, and who is told: the same wherever it runs.
#[derive(Debug, Clone, Args)]
pub struct SweepTerms {
    /// Only claims in these sets: stale, orphaned
    #[arg(long, value_name = "SET", value_delimiter = ',', value_parser = sweepable)]
    pub set: Vec<Set>,
    /// Only this board
    #[arg(long, value_name = "NAME")]
    pub board: Option<String>,
    /// At most this many claims a run and source [default: 1000]
    #[arg(long, value_name = "N")]
    pub max: Option<usize>,
    /// Hold if more of a board's claims, or of all, went stale at once [default: 30%]
    #[arg(long, value_name = "SHARE", value_parser = Share::parse)]
    pub max_share: Option<Share>,
    /// Append the events to a file, or print them with -
    #[arg(long, value_name = "FILE|-")]
    pub events: Option<PathBuf>,
}

fn sweepable(text: &str) -> Result<Set, String> {
    match text {
        "stale" => Ok(Set::Stale),
        "orphaned" => Ok(Set::Orphaned),
        _ => Err("a sweep takes stale and orphaned claims only".into()),
    }
}
