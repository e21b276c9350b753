//! Who watches a source from look to look, for those who only listen.

use std::collections::BTreeSet;

use super::setup::Setup;
use crate::events::{ChangeDetector, Event, Look};
use crate::poller::{SMALL, read_again};
use crate::store::StoreError;
use crate::store::{Effort, Reader, clock};

/// Looks as the dashboard does, and reveals what it would show.
#[derive(Debug)]
pub(super) struct SourceEvents {
    word: String,
    reader: Option<Reader>,
    detector: ChangeDetector,
}

impl SourceEvents {
    pub(super) fn new(setup: &Setup, word: &str) -> SourceEvents {
        SourceEvents { word: word.into(), reader: None, detector: ChangeDetector::new(&setup.label(word)) }
    }

    /// What happened since the last look.
    pub(super) fn look(&mut self, setup: &Setup) -> Vec<Event> {
        self.try_look(setup).unwrap_or_else(|error| {
            // Whatever it was, the next look begins anew.
            self.reader = None;
            self.detector.fail(&error.brief(&BTreeSet::new()), clock()).into_iter().collect()
        })
    }

    fn try_look(&mut self, setup: &Setup) -> Result<Vec<Event>, StoreError> {
        let SourceEvents { word, reader, detector } = self;
        let reader = match reader {
            Some(reader) => reader,
            none => {
                let (rows, slice) = (setup.config.row_limit, setup.config.census_slice);
                none.insert(Reader::open(setup.options(word, Effort { rows, slice, whole: slice })?)?)
            }
        };
        let (snapshots, small) = (reader.poll()?, reader.whole(SMALL)?);
        let look = Look::of(&reader.fingerprint(), &snapshots, &small);
        let at = setup.now.unwrap_or_else(clock);
        detector.see(look, at, &mut |sight| read_again(reader, sight))
    }

    /// Claims that this program itself has taken: that they are gone is no news.
    pub(super) fn took(&mut self, addresses: &[String]) {
        self.detector.took(addresses);
    }

    /// The next look goes by the config as it is then.
    pub(super) fn reopen(&mut self) {
        self.reader = None;
    }
}
