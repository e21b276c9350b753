//! What a sweep needs to know about one source, and to whom it reports. The command line implements both.

use thiserror::Error;

use super::options::{SweepError, SweepMode, SweepOptions};
use super::summary::SweepSummary;
use crate::domain::time::Span;
use crate::events::Event;
use crate::poller::Opener;
use crate::recovery::AuditedActor;

/// A source to sweep. It is asked again before every run, because the config may have been reloaded.
pub trait SourcePlan: Send + Sync {
    /// The name of the source.
    fn label(&self) -> String;

    /// The interval between runs, if one is configured.
    fn every(&self) -> Option<Span>;

    fn mode(&self) -> SweepMode;

    fn options(&self) -> SweepOptions;

    /// Opens the source to act on it, or to rehearse.
    fn open(&self) -> Result<AuditedActor, SweepFailure>;

    /// The failure that an error of a run means.
    fn explain(&self, error: SweepError) -> SweepFailure;

    /// How to open the source for the events between two runs.
    fn opener(&self) -> Opener;
}

/// Why a run did not start or did not finish.
#[derive(Debug, Error)]
pub enum SweepFailure {
    /// The source may not be written, or an act could not be recorded.
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Failed(String),
}

/// Receives everything that a sweep does on one source.
pub trait SweepReporter: Send {
    /// Whether the events between two runs are needed.
    fn has_listeners(&self) -> bool;

    /// Reports one act.
    fn acted(&mut self, event: &Event);

    /// Reports events between two runs.
    fn changed(&mut self, events: Vec<Event>);

    /// Reports the end of a run. Returns the addresses of the claims that were taken.
    fn ended(&mut self, summary: &SweepSummary) -> Vec<String>;

    /// Reports something that the operator of the sweep should know.
    fn remark(&mut self, sentence: &str);
}
