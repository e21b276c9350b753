//! The claims of a bulk act: found, and looked at again before anything is written.

use std::collections::HashMap;

use super::actor::Actor;
use super::cell::number;
use super::error::PgError;
use super::link::Link;
use super::look::{rows_of, seen};
use super::named_params::NamedParams;
use super::named_params::array;
use super::rows::rank;
use super::watch::{Watch, query};
use crate::domain::recovery::Moved;
use crate::domain::time::Moment;
use crate::store::seen::Seen;
use crate::store::selection::{Again, Noted, Selection};
use crate::store::{Filter, StoreError};

/// Rows that are fetched at once.
const PAGE: usize = 2_000;

impl Actor {
    /// The claims in the sets of a filter, worst first.
    pub fn selection(&mut self, filter: &Filter) -> Result<Selection, StoreError> {
        let selection = self.reader.reading("looking for claims", |link, watched, now| {
            let mut selection = Selection::default();
            for watch in watched.iter().flat_map(|watched| &watched.boards) {
                if watch.board.has_rowid && filter.takes_board(&watch.board.name) {
                    select(link, watch, filter, now, &mut selection)?;
                }
            }
            Ok(selection)
        });
        let mut selection = selection?;
        selection.sort(filter);
        selection.truncate(filter.limit.unwrap_or(usize::MAX));
        Ok(selection)
    }

    /// Claims that were noted, as they are now.
    pub fn look_again(&mut self, all: &[Noted]) -> Result<Vec<Again>, StoreError> {
        self.reader.reading("looking at the claims again", |link, watched, now| {
            let mut again = Vec::with_capacity(all.len());
            for noted in all.chunk_by(|one, other| one.place == other.place) {
                let Some(watch) = super::look::at(watched, &noted[0].place) else {
                    again.extend(noted.iter().map(|_| Err(Moved::TablesChanged)));
                    continue;
                };
                let mut params = watch.clock(now);
                let spots = noted.iter().map(|one| one.spot.map(|spot| spot.to_string()));
                params.add("spots", "tid[]", Some(array(spots)));
                let select = watch.reader.select_with_state(&rows_of(watch));
                let rows = query(link, &params, &format!("{select} AND c.ctid = ANY (:spots)"))?;
                let found = rows.iter().map(|row| seen(watch, row, now));
                let mut found: HashMap<u64, Seen> = found.map(|seen| (seen.stamp(), seen)).collect();
                again.extend(noted.iter().map(|one| found.remove(&one.stamp).ok_or(Moved::SincePreview)));
            }
            Ok(again)
        })
    }
}

/// Adds the claims of one board, fetched page by page: all of them with their rows may be more than memory.
fn select(
    link: &mut Link,
    watch: &Watch,
    filter: &Filter,
    now: Moment,
    selection: &mut Selection,
) -> Result<(), PgError> {
    let (mut condition, mut params) =
        watch.reader.narrowed(&watch.board, filter.holder.as_deref(), filter.kind.as_deref());
    let (trouble, more) = watch.trouble(now);
    condition += &trouble;
    params.extend(more);
    params.extend(watch.clock(now));
    let mut columns = rows_of(watch);
    columns.push(rank(watch.board.priority.as_deref()));
    let select = watch.reader.select_with_state(&columns);
    let declare = format!("DECLARE claimtop_claims NO SCROLL CURSOR FOR {select}{condition}");
    query(link, &params, &declare)?;
    let fetch = format!("FETCH {PAGE} FROM claimtop_claims");
    loop {
        let rows = query(link, &NamedParams::default(), &fetch)?;
        for row in &rows {
            let urgency = number(row, row.len().saturating_sub(1)).int().unwrap_or(0);
            let urgency = u32::try_from(urgency).unwrap_or(0);
            let seen = Seen { urgency, ..seen(watch, row, now) };
            let is_meant = filter.sets.iter().any(|set| seen.judged.verdict.is_in(*set));
            if is_meant && filter.takes(&seen.judged) {
                selection.push(seen, &filter.sets);
            }
        }
        if rows.len() < PAGE {
            return link.batch("CLOSE claimtop_claims");
        }
    }
}
