//! One poll with everything that the dashboard shows at once: the snapshots, the deadlines ahead, the small boards, the
//! facts and the events. A recording is made from the same poll.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Recorder, SMALL, SourceWatch, unless_lost};
use crate::domain::cause::Facts;
use crate::domain::detail::{Horizon, Whole};
use crate::domain::snapshot::Snapshot;
use crate::events::Event;
use crate::recording::PollSeen;
use crate::store::{StoreError, clock};

/// How many minutes the horizon looks ahead.
const MINUTES: usize = 30;
/// How often the horizon is read again: after a write, and without one.
const HORIZON: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(15));
/// A source that does not answer for longer is shown as silent.
pub const SILENCE: Duration = Duration::from_secs(3);

/// What one poll found.
#[derive(Debug)]
pub struct FullPoll {
    pub snapshots: Vec<Snapshot>,
    /// Nothing, if it was read a moment ago.
    pub horizon: Option<Horizon>,
    /// The boards that are small enough; nothing, if nothing was written since the last poll.
    pub whole: Option<Vec<Whole>>,
    pub warnings: Vec<String>,
    pub facts: Option<Arc<Facts>>,
    pub events: Vec<Event>,
}

/// What earlier polls have read and need not read again.
#[derive(Debug)]
pub struct FullLook {
    /// Boards with at most this many claims are read in full.
    whole_limit: usize,
    /// When the horizon was read, and at which version of the data.
    horizon: Option<(Instant, Option<i64>)>,
    /// The version of the data when the small boards were last read.
    whole: Option<i64>,
    /// The small boards at that version.
    small: Vec<Whole>,
}

impl Default for FullLook {
    fn default() -> FullLook {
        FullLook::with_boards_up_to(SMALL)
    }
}

impl FullLook {
    pub fn with_boards_up_to(whole_limit: usize) -> FullLook {
        FullLook { whole_limit, horizon: None, whole: None, small: Vec::new() }
    }

    /// Reads everything again at the next poll.
    pub fn forget(&mut self) {
        self.whole = None;
        self.small.clear();
    }

    /// Polls, and returns the events. If the connection is lost in between, the whole poll fails: its first part
    /// would be out of date.
    pub fn look(&mut self, watch: &mut SourceWatch, started: Instant) -> Result<FullPoll, StoreError> {
        let reader = watch.source.reader()?;
        let snapshots = reader.poll()?;
        watch.facts.refresh(reader, &snapshots)?;
        let (horizon, whole) = (self.horizon(watch)?, self.whole(watch)?);
        let mut events: Vec<Event> = Vec::new();
        // The screen has shown it as silent meanwhile.
        if started.elapsed() > SILENCE {
            let why = format!("no answer for {} s", started.elapsed().as_secs());
            events.extend(watch.detector.fail(&why, clock()));
        }
        events.extend(watch.detect(&snapshots, &self.small, clock())?);
        let warnings = watch.detector.warnings(clock());
        Ok(FullPoll { snapshots, horizon, whole, warnings, facts: watch.facts.facts(), events })
    }

    /// Records a poll; returns why recording has stopped, once.
    pub fn record(&self, recorder: &Recorder, watch: &mut SourceWatch, poll: &FullPoll) -> Option<String> {
        let fingerprint = watch.source.reader().map(|reader| reader.fingerprint()).unwrap_or_default();
        recorder.poll(&PollSeen {
            snapshots: &poll.snapshots,
            whole: &self.small,
            horizon: poll.horizon.as_ref(),
            warnings: &poll.warnings,
            causes: watch.facts.causes(),
            events: &poll.events,
            fingerprint: &fingerprint,
        })
    }

    fn horizon(&mut self, watch: &mut SourceWatch) -> Result<Option<Horizon>, StoreError> {
        let reader = watch.source.reader()?;
        let version = reader.data_version();
        if let Some((at, seen)) = self.horizon {
            let pause = if seen == version { HORIZON.1 } else { HORIZON.0 };
            if at.elapsed() < pause {
                return Ok(None);
            }
        }
        self.horizon = Some((Instant::now(), version));
        unless_lost(reader.horizon(MINUTES))
    }

    /// The small boards, if something was written.
    fn whole(&mut self, watch: &mut SourceWatch) -> Result<Option<Vec<Whole>>, StoreError> {
        let reader = watch.source.reader()?;
        let version = reader.data_version();
        if version.is_some() && self.whole == version {
            return Ok(None);
        }
        self.whole = version;
        let small = unless_lost(reader.whole(self.whole_limit))?;
        self.small = small.clone().unwrap_or_default();
        Ok(small)
    }
}
