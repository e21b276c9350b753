//! One poll for the dashboard, and for the recording if there is one.

use std::time::Instant;

use super::SourceReader;
use crate::app::message::Msg;
use crate::app::source::Poll;
use crate::events::Event;
use crate::store::StoreError;

impl SourceReader {
    pub(super) fn look(&mut self, started: Instant) -> Result<(Poll, Vec<Event>), StoreError> {
        let full = self.full.look(&mut self.watch, started)?;
        if let Some(recorder) = &self.recorder {
            let stopped = self.full.record(recorder, &mut self.watch, &full);
            self.report_stop(stopped);
        }
        let poll = Poll {
            snapshots: full.snapshots,
            horizon: full.horizon,
            whole: full.whole,
            warnings: full.warnings,
            facts: full.facts,
            causes: None,
        };
        Ok((poll, full.events))
    }

    /// Tells the operator that recording has stopped.
    pub(super) fn report_stop(&mut self, stopped: Option<String>) {
        if let Some(why) = stopped {
            self.recorder = None;
            let _ = self.answers.blocking_send(Msg::RecordingStopped(why));
        }
    }
}
