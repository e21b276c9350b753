//! One look of a poller: the poll, what goes with it, and what both reveal.

use std::time::Instant;

use super::{HORIZON, MINUTES, SILENCE, SMALL, Work};
use crate::app::source::Poll;
use crate::domain::detail::{Horizon, Whole};
use crate::domain::snapshot::Snapshot;
use crate::events::{Again, Event, Look, ObservedClaim};
use crate::store::StoreError;
use crate::store::{Reader, clock};

impl Work {
    /// A poll, and what it revealed. A link that is lost on the way ends it: what was read before is
    /// old by the time that this is known.
    pub(super) fn look(&mut self, started: Instant) -> Result<(Poll, Vec<Event>), StoreError> {
        let snapshots = self.reader()?.poll()?;
        let (horizon, whole) = (self.horizon()?, self.whole()?);
        let mut events: Vec<Event> = Vec::new();
        // The screen called it silent meanwhile.
        if started.elapsed() > SILENCE {
            let why = format!("no answer for {} s", started.elapsed().as_secs());
            events.extend(self.detector.fail(&why, clock()));
        }
        events.extend(self.reveal(&snapshots)?);
        let warnings = self.detector.warnings(clock());
        Ok((Poll { snapshots, horizon, whole, warnings }, events))
    }

    fn reveal(&mut self, snapshots: &[Snapshot]) -> Result<Vec<Event>, StoreError> {
        let Work { reader, detector, small, .. } = self;
        let Some(reader) = reader else { return Ok(Vec::new()) };
        let look = Look::of(&reader.fingerprint(), snapshots, small);
        detector.see(look, clock(), &mut |sight| read_again(reader, sight))
    }

    fn horizon(&mut self) -> Result<Option<Horizon>, StoreError> {
        let Some(reader) = self.reader.as_mut() else { return Ok(None) };
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

    /// The small boards, whenever something was written.
    fn whole(&mut self) -> Result<Option<Vec<Whole>>, StoreError> {
        let Some(reader) = self.reader.as_mut() else { return Ok(None) };
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

/// A chart that cannot be drawn is no reason to lose the poll; a link that is gone is.
fn unless_lost<T>(answer: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(lost @ StoreError::Unreachable { .. }) => Err(lost),
        Err(_) => Ok(None),
    }
}

/// What a claim that left the rows is now, by its key.
pub fn read_again(reader: &mut Reader, sight: &ObservedClaim<'_>) -> Result<Again, StoreError> {
    let Some(mark) = &sight.judged.mark else { return Ok(Again::Unknown) };
    let key = sight.judged.claim.key.address();
    let examined = unless_lost(reader.examine(sight.profile, sight.board, mark, &key))?;
    Ok(match examined {
        Some(Some(examined)) => Again::Is(Box::new(examined.judged)),
        Some(None) => {
            let key = &sight.judged.claim.key;
            match unless_lost(reader.released(sight.profile, sight.board, key))?.flatten() {
                Some(row) => Again::Released { state: row.state, error: row.error },
                None => Again::Gone,
            }
        }
        None => Again::Unknown,
    })
}
