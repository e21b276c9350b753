//! What a sweep asks about one source, and whom it tells what it did. The command line answers both.

use thiserror::Error;

use super::orders::{Manner, Orders, SweepError};
use super::summary::Summary;
use crate::domain::time::Span;
use crate::events::Event;
use crate::poller::Opener;
use crate::recovery::AuditedActor;

/// A source that is swept. It is asked anew before every run, because the config may have been read again.
pub trait SourcePlan: Send + Sync {
    /// What the source is called.
    fn label(&self) -> String;

    /// How far apart the runs are, if somebody says so.
    fn every(&self) -> Option<Span>;

    fn manner(&self) -> Manner;

    fn orders(&self) -> Orders;

    /// The source, opened to act on it, or to rehearse.
    fn open(&self) -> Result<AuditedActor, SweepFailure>;

    /// What an error of a run means.
    fn explain(&self, error: SweepError) -> SweepFailure;

    /// How to open it for the events between two runs.
    fn opener(&self) -> Opener;
}

/// Why a run did not begin, or did not come to its end.
#[derive(Debug, Error)]
pub enum SweepFailure {
    /// The source may not be written, or the act could not be recorded.
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Failed(String),
}

/// Hears of everything that a sweep does on one source.
pub trait SweepReporter: Send {
    /// Whether anybody reads the events between two runs.
    fn has_listeners(&self) -> bool;

    /// One act.
    fn acted(&mut self, event: &Event);

    /// What happened between two runs.
    fn changed(&mut self, events: Vec<Event>);

    /// The end of a run. The addresses of the claims that were taken.
    fn ended(&mut self, summary: &Summary) -> Vec<String>;

    /// Something that whoever runs the sweep should know.
    fn remark(&mut self, sentence: &str);
}
