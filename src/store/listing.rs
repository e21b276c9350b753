//! Lists of claims: the troubled ones, worst first, then the healthy ones page by page.
//!
//! Where the troubled ones are is found in one short transaction; the rows are then read page by page, each
//! page in a transaction of its own, so that a slow reader of the list never holds back the database. A row
//! that has left its set in between is judged as it is then.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::claim_list::page;
use super::listed::Listed;
use super::look::Look;
use super::{Filter, Reader, StoreError};
use crate::domain::board_id::BoardId;
use crate::domain::detail::Cursor;
use crate::domain::snapshot::{Judged, Mark};
use crate::domain::verdict::Set;

/// Rows read in one transaction.
const PAGE: usize = 2_000;

/// Takes one line of a list; `false`, if it wants no more.
type Take<'a> = dyn FnMut(Listed) -> bool + 'a;

impl Reader {
    /// Hands the claims that `filter` takes to `each`, until that says `false`.
    pub fn list(&mut self, filter: &Filter, mut each: impl FnMut(Listed) -> bool) -> Result<(), StoreError> {
        let mut left = filter.limit.unwrap_or(usize::MAX);
        let mut take = |listed: Listed| {
            left = left.saturating_sub(1);
            each(listed) && left > 0
        };
        if filter.limit == Some(0) {
            return Ok(());
        }
        // By identity: between two pages tables may be dropped, and other boards be in their place.
        let boards = self.engine.board_ids().into_iter().filter(|id| filter.takes_board(id));
        for board in boards {
            if !self.list_board(&board, filter, &mut take)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether `take` wants more.
    fn list_board(
        &mut self,
        board: &BoardId,
        filter: &Filter,
        take: &mut Take<'_>,
    ) -> Result<bool, StoreError> {
        let mut shown = ShownMarks::default();
        let Some(is_complete) = self.list_troubled(board, filter, &mut shown, take)? else {
            return Ok(false);
        };
        let wants_healthy = filter.sets.is_empty() || filter.sets.contains(&Set::Healthy);
        if wants_healthy || !is_complete {
            return self.list_pages(board, filter, &shown, take);
        }
        Ok(true)
    }

    /// The troubled ones, worst first: whether all that were found were still there, or nothing once `take`
    /// wants no more.
    fn list_troubled(
        &mut self,
        board: &BoardId,
        filter: &Filter,
        shown: &mut ShownMarks,
        take: &mut Take<'_>,
    ) -> Result<Option<bool>, StoreError> {
        let found = self.engine.find_worst(board, &Filter { sets: filter.troubled(), ..filter.clone() })?;
        let Some(found) = found else { return self.list_view(board, filter, shown, take) };
        let mut is_complete = true;
        for some in found.chunks(PAGE) {
            let page = self.look("listing", |look| {
                let Some(watch) = look.board(board) else { return Ok(Vec::new()) };
                let claims = look.claims_at(watch, some)?;
                is_complete &= claims.len() == some.len();
                Ok(listed(look, board, claims, filter))
            })?;
            for one in page {
                if shown.is_new(&one.judged) && !take(one) {
                    return Ok(None);
                }
            }
        }
        Ok(Some(is_complete))
    }

    /// The same for rows that are nowhere: those of a view are read one by one. Those that have no order either
    /// cannot be read in pages, so that the healthy ones are among them.
    fn list_view(
        &mut self,
        board: &BoardId,
        filter: &Filter,
        shown: &mut ShownMarks,
        take: &mut Take<'_>,
    ) -> Result<Option<bool>, StoreError> {
        let claims = self.view(board, filter, filter.limit.unwrap_or(usize::MAX))?;
        let page = self.look("listing", |look| Ok(listed(look, board, claims.clone(), filter)))?;
        for one in page {
            shown.is_new(&one.judged);
            if !take(one) {
                return Ok(None);
            }
        }
        Ok(Some(true))
    }

    /// All claims of the filter that were not shown yet, in the order of their rows; whether `take` wants more.
    fn list_pages(
        &mut self,
        board: &BoardId,
        filter: &Filter,
        shown: &ShownMarks,
        take: &mut Take<'_>,
    ) -> Result<bool, StoreError> {
        let mut from = Cursor::First;
        loop {
            let page = self.look("listing", |look| match look.board(board) {
                Some(watch) => {
                    let (claims, next) = page(look, watch, filter, &from, PAGE)?;
                    Ok((listed(look, board, claims, filter), next))
                }
                None => Ok((Vec::new(), None)),
            })?;
            let (claims, next) = page;
            for one in claims {
                if !shown.contains(&one.judged) && !take(one) {
                    return Ok(false);
                }
            }
            match next {
                // Only forward: a profile's SQL may have cut the condition off.
                Some(next) if next != from => from = next,
                _ => return Ok(true),
            }
        }
    }
}

/// Those of the claims that a filter takes, as they are shown.
fn listed(look: &Look<'_>, board: &BoardId, claims: Vec<Judged>, filter: &Filter) -> Vec<Listed> {
    let (Some(watch), now) = (look.board(board), look.now) else { return Vec::new() };
    let taken = claims.into_iter().filter(|judged| filter.takes(board, judged, now));
    taken.map(|judged| Listed::new(board, judged, &watch.bound().nature, now)).collect()
}

/// Which claims were shown, by a hash of their marks: a few bytes for each.
#[derive(Debug, Default)]
struct ShownMarks {
    state: RandomState,
    marks: HashSet<u64>,
}

impl ShownMarks {
    /// Remembers a claim; `false`, if it was shown before.
    fn is_new(&mut self, judged: &Judged) -> bool {
        let mark = self.hash(judged);
        self.marks.insert(mark)
    }

    fn contains(&self, judged: &Judged) -> bool {
        !self.marks.is_empty() && self.marks.contains(&self.hash(judged))
    }

    /// Marks tell claims apart even where their keys do not.
    fn hash(&self, judged: &Judged) -> u64 {
        match &judged.mark {
            Some(Mark::Rowid(rowid)) => self.state.hash_one(rowid),
            Some(Mark::Key(key)) => self.state.hash_one(key.address()),
            None => self.state.hash_one(judged.claim.key.address()),
        }
    }
}
