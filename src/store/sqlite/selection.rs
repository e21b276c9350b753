//! The claims of a bulk act: found, and looked at again before anything is written.

use super::actor::Actor;
use crate::domain::recovery::Moved;
use crate::store::driver::Driver;
use crate::store::selection::{Again, Noted, Selection};
use crate::store::{Filter, StoreError};

/// Rows that are looked at together.
const PAGE: usize = 2_000;

impl Actor {
    /// The claims in the sets of a filter, worst first.
    pub fn selection(&mut self, filter: &Filter) -> Result<Selection, StoreError> {
        let mut selection = Selection::default();
        let most = filter.limit.unwrap_or(usize::MAX);
        for found in self.reader.members(filter)? {
            for rows in found.rows.chunks(PAGE) {
                if selection.len() >= most {
                    return Ok(selection);
                }
                let seen = self.look_at(&[(&found.board, rows)])?;
                let seen = seen.into_iter().filter(|seen| filter.takes(&seen.judged));
                seen.take(most - selection.len()).for_each(|seen| selection.push(seen, &filter.sets));
            }
        }
        Ok(selection)
    }

    /// Claims that were noted, as they are now.
    pub fn look_again(&mut self, all: &[Noted]) -> Result<Vec<Again>, StoreError> {
        self.reader.stop_the_stopwatch()?;
        let now = self.now();
        let again = |noted: &Noted| {
            let seen = self.look(&self.reader.connection, &noted.place, now)?;
            Ok(seen.filter(|seen| seen.stamp() == noted.stamp).ok_or(Moved::SincePreview))
        };
        all.iter().map(again).collect()
    }
}
