//! A source that is watched from look to look, and the events that two looks reveal.

use super::{OpenSource, Opener};
use crate::domain::detail::Whole;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Moment;
use crate::events::{Again, ChangeDetector, Event, Look, ObservedClaim};
use crate::store::{Reader, StoreError, clock};

/// Boards of at most this many claims are read whole.
pub const SMALL: usize = 500;

#[derive(Debug)]
pub struct SourceWatch {
    pub source: OpenSource,
    pub detector: ChangeDetector,
}

impl SourceWatch {
    pub fn new(label: &str, open: Opener) -> SourceWatch {
        SourceWatch { source: OpenSource::new(open), detector: ChangeDetector::new(label) }
    }

    /// A poll, and the events since the last one, dated `at`.
    pub fn look(&mut self, at: Moment) -> Result<(Vec<Snapshot>, Vec<Event>), StoreError> {
        let reader = self.source.reader()?;
        let (snapshots, small) = (reader.poll()?, reader.whole(SMALL)?);
        let events = self.detect(&snapshots, &small, at)?;
        Ok((snapshots, events))
    }

    /// The events that a poll reveals.
    pub fn detect(
        &mut self,
        snapshots: &[Snapshot],
        small: &[Whole],
        at: Moment,
    ) -> Result<Vec<Event>, StoreError> {
        let reader = self.source.reader()?;
        let look = Look::of(&reader.fingerprint(), snapshots, small);
        self.detector.see(look, at, &mut |claim| read_again(reader, claim))
    }

    /// The events of a look that failed. The next one opens the source anew.
    pub fn fail(&mut self, why: &str) -> Vec<Event> {
        self.source.close();
        self.detector.fail(why, clock()).into_iter().collect()
    }
}

/// An answer that a look can do without: only a lost connection is an error.
pub fn unless_lost<T>(answer: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(lost @ StoreError::Unreachable { .. }) => Err(lost),
        Err(_) => Ok(None),
    }
}

/// The current state of a claim that is no longer among the rows of a poll, found by its key.
pub fn read_again(reader: &mut Reader, claim: &ObservedClaim<'_>) -> Result<Again, StoreError> {
    let Some(mark) = &claim.judged.mark else { return Ok(Again::Unknown) };
    let key = claim.judged.claim.key.address();
    let examined = unless_lost(reader.examine(claim.profile, claim.board, mark, &key))?;
    Ok(match examined {
        Some(Some(examined)) => Again::Is(Box::new(examined.judged)),
        Some(None) => {
            let key = &claim.judged.claim.key;
            match unless_lost(reader.released(claim.profile, claim.board, key))?.flatten() {
                Some(row) => Again::Released { state: row.state, error: row.error },
                None => Again::Gone,
            }
        }
        None => Again::Unknown,
    })
}
