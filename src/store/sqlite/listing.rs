//! Claims one by one, for lists: the sets first, worst first, then the healthy ones.
//!
//! The sets are computed in one short transaction; the rows are then read page by page, each page
//! in a transaction of its own, so that a slow reader of the list never holds back the database.
//! A row that has left its set in between is judged as it is then.

use std::collections::VecDeque;

use super::reader::Reader;
use super::rowset::RowSet;
use super::stream::stream;
use super::watch::Watch;
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::{Judged, Mark};
use crate::domain::time::Moment;
use crate::domain::verdict::{Reasons, Set};
use crate::store::filter::expect_board;
use crate::store::found::{FoundBoard, RowRef};
use crate::store::listed::{Listed, worse_first};
use crate::store::options::Effort;
use crate::store::watched;
use crate::store::{Filter, StoreError};

/// Rows read in one transaction.
const PAGE: usize = 2_000;

impl Reader {
    /// Hands the claims that `filter` takes to `each`, until that says `false`.
    pub fn list(&mut self, filter: &Filter, mut each: impl FnMut(Listed) -> bool) -> Result<(), StoreError> {
        self.follow_the_path()?;
        let effort = Effort { rows: 0, ..self.options.effort };
        self.in_one_transaction("listing", |reader, now, since| {
            for watch in reader.watched.iter_mut().flat_map(|watched| &mut watched.boards) {
                watch.refresh(&reader.connection, now, since, effort)?;
            }
            Ok(())
        })?;
        let mut left = filter.limit.unwrap_or(usize::MAX);
        // By identity: between two pages tables may be dropped, and other boards be in their place.
        for board in watched::ids(&self.watched, filter.board.as_deref()) {
            if left > 0 && !self.list_board(&board, filter, &mut left, &mut each)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Where the claims are that a filter looks for: the most urgent first, then the worst.
    pub fn members(&mut self, filter: &Filter) -> Result<Vec<FoundBoard>, StoreError> {
        self.follow_the_path()?;
        let effort = Effort { rows: 0, ..self.options.effort };
        self.in_one_transaction("looking for claims", |reader, now, since| {
            let mut found = Vec::new();
            for watch in reader.watched.iter_mut().flat_map(|watched| &mut watched.boards) {
                if !watch.board.is_addressable() || !filter.takes_board(&watch.board.name) {
                    continue;
                }
                watch.refresh(&reader.connection, now, since, effort)?;
                let sets = watch.sets();
                let (mut shown, mut rows) = (RowSet::default(), Vec::new());
                for reasons in filter.wanted() {
                    let mut some = watch.worst_of(&reader.connection, reasons, &sets, now, usize::MAX)?;
                    watch.urgent_first(&reader.connection, &mut some, now)?;
                    for rowid in some {
                        if !shown.contains(rowid) {
                            shown.insert(rowid);
                            rows.push(RowRef::Number(rowid));
                        }
                    }
                }
                found.push(FoundBoard { board: watch.board.board_id.clone(), rows });
            }
            Ok(found)
        })
    }

    /// An error that names the boards there are, unless `wanted` is one of them.
    pub fn expect_board(&self, wanted: Option<&str>) -> Result<(), StoreError> {
        let boards = self.watched.iter().flat_map(|watched| &watched.boards);
        let boards: Vec<&str> = boards.map(|watch| watch.board.name.as_str()).collect();
        expect_board(&self.options.path.display().to_string(), &boards, wanted)
    }

    fn list_board(
        &mut self,
        place: &BoardId,
        filter: &Filter,
        left: &mut usize,
        each: &mut impl FnMut(Listed) -> bool,
    ) -> Result<bool, StoreError> {
        match self.watch(place) {
            Some(watch) if !watch.board.is_addressable() => {
                return self.list_streamed(place, filter, left, each);
            }
            Some(_) => {}
            None => return Ok(true),
        }
        let sets: Vec<Set> = if filter.sets.is_empty() { Set::ALL.into() } else { filter.sets.clone() };
        let mut shown = RowSet::default();
        for set in Set::ALL.into_iter().filter(|set| sets.contains(set)) {
            let mut pages = self.pages(place, set, filter, *left, &shown)?;
            while let Some((rows, now)) = self.next_page(place, &mut pages)? {
                for (rowid, judged) in rows {
                    if *left == 0 {
                        return Ok(true);
                    }
                    if rowid.is_some_and(|rowid| shown.contains(rowid)) || !filter.takes(&judged) {
                        continue;
                    }
                    rowid.into_iter().for_each(|rowid| shown.insert(rowid));
                    *left -= 1;
                    let listed = self.listed(place, judged, now);
                    if !listed.is_none_or(&mut *each) {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// The way through a set, past what was shown with a worse one.
    fn pages(
        &mut self,
        place: &BoardId,
        set: Set,
        filter: &Filter,
        limit: usize,
        shown: &RowSet,
    ) -> Result<Pages, StoreError> {
        if set == Set::Healthy {
            return Ok(Pages::Through { after: None });
        }
        let narrowed = filter.holder.is_some() || filter.kind.is_some();
        let most = if narrowed { usize::MAX } else { limit };
        let effort = Effort { rows: 0, ..self.options.effort };
        let mut members = self.in_one_transaction("listing", |reader, now, since| {
            // Bound anew, it knows nothing yet.
            let Reader { watched, connection, .. } = reader;
            let boards = watched.iter_mut().filter(|watched| watched.name == place.profile());
            for watch in boards.flat_map(|watched| &mut watched.boards).filter(|watch| !watch.is_refreshed())
            {
                watch.refresh(connection, now, since, effort)?;
            }
            let Some(watch) = reader.watch(place) else { return Ok(Vec::new()) };
            watch.worst_of(&reader.connection, Reasons::of(set), &watch.sets(), now, most)
        })?;
        members.retain(|rowid| !shown.contains(*rowid));
        Ok(Pages::Members(members.into()))
    }

    /// The next page, or nothing after the last.
    fn next_page(&mut self, place: &BoardId, pages: &mut Pages) -> Result<Option<PageOfRows>, StoreError> {
        self.in_one_transaction("listing", |reader, now, _| {
            let Some(watch) = reader.watch(place) else { return Ok(None) };
            let rows = match pages {
                Pages::Members(waiting) if waiting.is_empty() => return Ok(None),
                Pages::Members(waiting) => {
                    let mut rows = Vec::new();
                    for rowid in waiting.drain(..waiting.len().min(PAGE)) {
                        let claim = watch.fetch(&reader.connection, rowid, now, true)?;
                        rows.extend(claim.map(|judged| (Some(rowid), judged)));
                    }
                    rows
                }
                Pages::Through { after } => {
                    let rows = watch.fetch_after(&reader.connection, after.as_ref(), PAGE, now)?;
                    let last = rows.last().and_then(|judged| judged.mark.clone());
                    // Only forward: a profile's SQL may have cut the condition off.
                    if last.is_none() || last == *after {
                        return Ok(None);
                    }
                    *after = last;
                    let number = |judged: &Judged| watch.number_in_sets(judged.mark.as_ref()?);
                    rows.into_iter().map(|judged| (number(&judged), judged)).collect()
                }
            };
            Ok(Some((rows, now)))
        })
    }

    fn list_streamed(
        &mut self,
        place: &BoardId,
        filter: &Filter,
        left: &mut usize,
        each: &mut impl FnMut(Listed) -> bool,
    ) -> Result<bool, StoreError> {
        let limit = *left;
        let (rows, now) = self.in_one_transaction("listing", |reader, now, _| {
            let Some(watch) = reader.watch(place) else { return Ok((Vec::new(), now)) };
            let mut rows = Vec::new();
            stream(&reader.connection, &watch.board, &watch.reader, now, true, |judged| {
                if filter.takes(&judged) {
                    rows.push(judged);
                }
                true
            })?;
            rows.sort_by(worse_first);
            rows.truncate(limit);
            Ok((rows, now))
        })?;
        *left -= rows.len();
        for judged in rows {
            if !self.listed(place, judged, now).is_none_or(&mut *each) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn watch(&self, place: &BoardId) -> Option<&Watch> {
        self.board(place)
    }

    fn listed(&self, place: &BoardId, judged: Judged, now: Moment) -> Option<Listed> {
        let rules = &self.watch(place)?.board.rules;
        Some(Listed::new(place.profile(), place.board(), judged, rules, now))
    }
}

/// What is still to be shown of a set.
#[derive(Debug)]
enum Pages {
    /// These rows, in this order.
    Members(VecDeque<i64>),
    /// All rows after this one: what is not healthy was shown before.
    Through { after: Option<Mark> },
}

/// Claims, with the numbers of those that a set may contain.
type PageOfRows = (Vec<(Option<i64>, Judged)>, Moment);
