//! Lists of claims: the troubled ones, worst first, then the healthy ones page by page.
//!
//! Where the troubled ones are is found in one short transaction; the rows are then read page by page, each
//! page in a transaction of its own, so that a slow reader of the list never holds back the database. A row
//! that has left its set in between is judged as it is then.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::driver::Failed;
use super::listed::{Listed, worse_first};
use super::look::Look;
use super::watched::WatchedBoard;
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
        let boards = self.engine.board_ids().into_iter().filter(|id| filter.takes_board(id.board()));
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
        let mut shown = Shown::default();
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
        shown: &mut Shown,
        take: &mut Take<'_>,
    ) -> Result<Option<bool>, StoreError> {
        let sets = if filter.sets.is_empty() { &Set::ALL[..] } else { &filter.sets };
        let troubled: Vec<Set> =
            Set::ALL.into_iter().filter(|set| *set != Set::Healthy && sets.contains(set)).collect();
        let found = self.engine.find_worst(board, &Filter { sets: troubled, ..filter.clone() })?;
        let Some(found) = found else { return self.list_view(board, filter, shown, take) };
        let mut is_complete = true;
        for some in found.chunks(PAGE) {
            let page = self.look("listing", |look| {
                let Some(watch) = look.board(board) else { return Ok(Vec::new()) };
                let claims = watch.at(look.connection, some, look.now)?;
                is_complete &= claims.len() == some.len();
                Ok(listed(look, watch, claims, filter))
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
        shown: &mut Shown,
        take: &mut Take<'_>,
    ) -> Result<Option<bool>, StoreError> {
        let page = self.look("listing", |look| {
            let Some(watch) = look.board(board) else { return Ok(Vec::new()) };
            let (rows, board, now) = (watch.rows(), watch.bound(), look.now);
            let mut claims = Vec::new();
            let (sql, clock) = (rows.select_with_state(&[]), rows.clock(board, now));
            look.connection.stream("listing", &sql, &clock, &mut |row| {
                let judged = rows.read_with_state(row, board, now);
                if !rows.has_order() || judged.verdict.headline() != Set::Healthy {
                    claims.extend(Some(judged).filter(|judged| filter.takes(judged)));
                }
            })?;
            claims.sort_by(worse_first);
            claims.truncate(filter.limit.unwrap_or(usize::MAX));
            Ok(listed(look, watch, claims, filter))
        })?;
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
        shown: &Shown,
        take: &mut Take<'_>,
    ) -> Result<bool, StoreError> {
        let mut from = Cursor::First;
        loop {
            let page = self.look("listing", |look| match look.board(board) {
                Some(watch) => page(look, watch, filter, &from),
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

/// A page of the claims of a filter, and where the next one begins, if there is one.
fn page(
    look: &mut Look<'_>,
    watch: &dyn WatchedBoard,
    filter: &Filter,
    from: &Cursor,
) -> Result<(Vec<Listed>, Option<Cursor>), Failed> {
    let (holder, kind) = (filter.holder.as_deref(), filter.kind.as_deref());
    let (mut condition, mut params) = watch.rows().narrowed(watch.bound(), holder, kind);
    let Some(tail) = watch.rows().page(from, PAGE, &mut params) else {
        return Ok((Vec::new(), None));
    };
    condition += &tail;
    let mut claims = look.claims("listing", watch, &condition, params)?;
    let more = claims.len() > PAGE;
    claims.truncate(PAGE);
    let next = claims.last().filter(|_| more).and_then(|last| Some(Cursor::After(last.mark.clone()?)));
    Ok((listed(look, watch, claims, filter), next))
}

/// Those of the claims that a filter takes, as they are shown.
fn listed(look: &Look<'_>, watch: &dyn WatchedBoard, claims: Vec<Judged>, filter: &Filter) -> Vec<Listed> {
    let (id, rules, now) = (&watch.bound().board_id, &watch.bound().rules, look.now);
    let taken = claims.into_iter().filter(|judged| filter.takes(judged));
    taken.map(|judged| Listed::new(id.profile(), id.board(), judged, rules, now)).collect()
}

/// Which claims were shown, by a hash of their marks: a few bytes for each.
#[derive(Debug, Default)]
struct Shown {
    state: RandomState,
    marks: HashSet<u64>,
}

impl Shown {
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
