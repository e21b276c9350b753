//! One poll for the dashboard: the snapshots, the chart, the small boards and the events.

use std::time::{Duration, Instant};

use super::{SILENCE, SourceReader};
use crate::app::source::Poll;
use crate::domain::detail::{Horizon, Whole};
use crate::events::Event;
use crate::poller::{SMALL, unless_lost};
use crate::store::{StoreError, clock};

/// How many minutes the horizon looks ahead.
const MINUTES: usize = 30;
/// How often the horizon is read again: after a write, and without one.
const HORIZON: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(15));

impl SourceReader {
    /// Polls, and returns the events. If the connection is lost in between, the whole poll fails: its first part
    /// would be out of date.
    pub(super) fn look(&mut self, started: Instant) -> Result<(Poll, Vec<Event>), StoreError> {
        let reader = self.watch.source.reader()?;
        let snapshots = reader.poll()?;
        self.watch.facts.refresh(reader, &snapshots)?;
        let (horizon, whole) = (self.horizon()?, self.whole()?);
        let mut events: Vec<Event> = Vec::new();
        // The screen has shown it as silent meanwhile.
        if started.elapsed() > SILENCE {
            let why = format!("no answer for {} s", started.elapsed().as_secs());
            events.extend(self.watch.detector.fail(&why, clock()));
        }
        events.extend(self.watch.detect(&snapshots, &self.small, clock())?);
        let warnings = self.watch.detector.warnings(clock());
        Ok((Poll { snapshots, horizon, whole, warnings, facts: self.watch.facts.facts() }, events))
    }

    fn horizon(&mut self) -> Result<Option<Horizon>, StoreError> {
        let reader = self.watch.source.reader()?;
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
    fn whole(&mut self) -> Result<Option<Vec<Whole>>, StoreError> {
        let reader = self.watch.source.reader()?;
        let version = reader.data_version();
        if version.is_some() && self.whole == version {
            return Ok(None);
        }
        self.whole = version;
        let small = unless_lost(reader.whole(SMALL))?;
        self.small = small.clone().unwrap_or_default();
        Ok(small)
    }
}
