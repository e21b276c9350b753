//! The arguments of a sweep.

use clap::Args;
use std::path::PathBuf;

use crate::cli::backtest::BacktestArgs;
use crate::cli::event_stream::BatchArgs;
use crate::cli::record::RecordBeside;
use crate::config::Share;
use crate::domain::time::Span;
use crate::domain::verdict::Set;

/// The arguments of `sweep`.
#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// SQLite files, postgres:// addresses, or names from the config; with --backtest, recordings
    #[arg(value_name = "SOURCE", required = true)]
    pub(super) sources: Vec<String>,
    /// Run once [default, unless the config sets how often]
    #[arg(long, conflicts_with = "every")]
    pub(super) once: bool,
    /// Sweep at this interval; claims whose times workers wrote are taken only if they stay unchanged
    #[arg(long, value_name = "DURATION", value_parser = Span::parse_interval)]
    pub(super) every: Option<Span>,
    /// Print exactly what would be done; write nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Take only claims that are unchanged since an earlier run; the state folder keeps the sightings
    #[arg(long, conflicts_with = "every")]
    pub(super) sighted: bool,
    #[command(flatten)]
    pub(super) backtest: BacktestArgs,
    #[command(flatten)]
    pub(super) terms: SweepTerms,
    #[command(flatten)]
    pub(super) recording: RecordBeside,
}

/// Options that `sweep` and `serve --sweep` share: what a sweep may take, how much, and where events go.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "What a sweep may take")]
pub(crate) struct SweepTerms {
    /// Only claims in these sets: stale, orphaned
    #[arg(long, value_name = "SET", value_delimiter = ',', value_parser = sweepable)]
    pub set: Vec<Set>,
    /// Only claims on this board
    #[arg(long, value_name = "NAME")]
    pub board: Option<String>,
    /// At most this many claims in a run of a source [default: 1000]
    #[arg(long, value_name = "N")]
    pub max: Option<usize>,
    /// Stop if more of a board's claims, or of all claims, went stale at once [default: 30%]
    #[arg(long, value_name = "SHARE", value_parser = Share::parse)]
    pub max_share: Option<Share>,
    /// Append the events to a file as JSON lines; - prints them
    #[arg(long, value_name = "FILE|-")]
    pub events: Option<PathBuf>,
    #[command(flatten)]
    pub batches: BatchArgs,
}

fn sweepable(text: &str) -> Result<Set, String> {
    match text {
        "stale" => Ok(Set::Stale),
        "orphaned" => Ok(Set::Orphaned),
        _ => Err("a sweep takes stale and orphaned claims only".into()),
    }
}
