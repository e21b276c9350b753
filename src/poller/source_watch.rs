//! A source that is watched from poll to poll, and the events between two polls.

use super::{FactsWatch, OpenSource, Opener};
use crate::domain::detail::Whole;
use crate::domain::recovery_preview::RecoveryPreview;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Moment;
use crate::events::{CauseLog, ChangeDetector, Event, ObservedClaim, ObservedSource, Reread};
use crate::store::{Reader, StoreError, clock};

/// Boards with at most this many claims are read in full.
pub const SMALL: usize = 500;

#[derive(Debug)]
pub struct SourceWatch {
    pub source: OpenSource,
    pub detector: ChangeDetector,
    pub facts: FactsWatch,
    label: String,
    causes: CauseLog,
}

impl SourceWatch {
    pub fn new(label: &str, open: Opener) -> SourceWatch {
        SourceWatch {
            source: OpenSource::new(open),
            detector: ChangeDetector::new(label),
            facts: FactsWatch::new(label),
            label: label.into(),
            causes: CauseLog::default(),
        }
    }

    /// Polls, and returns the events since the last poll, dated `at`.
    pub fn look(&mut self, at: Moment) -> Result<(Vec<Snapshot>, Vec<Event>), StoreError> {
        let reader = self.source.reader()?;
        let (snapshots, small) = (reader.poll()?, reader.whole(SMALL)?);
        self.facts.refresh(reader, &snapshots)?;
        let events = self.detect(&snapshots, &small, at)?;
        Ok((snapshots, events))
    }

    /// Polls, and updates the facts in which causes are found.
    pub fn poll(&mut self) -> Result<Vec<Snapshot>, StoreError> {
        let reader = self.source.reader()?;
        let snapshots = reader.poll()?;
        self.facts.refresh(reader, &snapshots)?;
        Ok(snapshots)
    }

    /// What the own recovery of a merge queue would do now, by profile; nothing if it cannot be read.
    pub fn recovery_previews(&mut self) -> Vec<(String, RecoveryPreview)> {
        self.source.reader().and_then(Reader::recovery_previews).unwrap_or_default()
    }

    /// The events between the last poll and this one.
    pub fn detect(
        &mut self,
        snapshots: &[Snapshot],
        small: &[Whole],
        at: Moment,
    ) -> Result<Vec<Event>, StoreError> {
        let reader = self.source.reader()?;
        let look = ObservedSource::of(&reader.fingerprint(), snapshots, small);
        let mut events = self.detector.observe(look, at, &mut |claim| read_again(reader, claim))?;
        events.extend(self.causes.observe(self.facts.causes(), &self.label, at));
        Ok(events)
    }

    /// The events of a failed poll. The next one opens the source again.
    pub fn fail(&mut self, why: &str) -> Vec<Event> {
        self.source.close();
        self.facts.forget();
        self.detector.fail(why, clock()).into_iter().collect()
    }
}

/// The result of an optional query: only a lost connection is an error.
pub fn unless_lost<T>(answer: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(lost @ StoreError::Unreachable { .. }) => Err(lost),
        Err(_) => Ok(None),
    }
}

/// The current state of a claim that is no longer among the rows of a poll, found by its key.
pub fn read_again(reader: &mut Reader, claim: &ObservedClaim<'_>) -> Result<Reread, StoreError> {
    let Some(mark) = &claim.judged.mark else { return Ok(Reread::Unknown) };
    let key = claim.judged.claim.key.address();
    let examined = unless_lost(reader.examine(claim.profile, claim.board, mark, &key))?;
    Ok(match examined {
        Some(Some(examined)) => Reread::Is(Box::new(examined.judged)),
        Some(None) => {
            let key = &claim.judged.claim.key;
            match unless_lost(reader.released(claim.profile, claim.board, key))?.flatten() {
                Some(row) => Reread::Released { state: row.state, error: row.error },
                None => Reread::Gone,
            }
        }
        None => Reread::Unknown,
    })
}
