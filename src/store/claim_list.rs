//! Parts of the one list of a source, for a screen: never more of it than is asked for.

use std::time::Instant;

use super::conditions::SqlCoverage;
use super::driver::{Failed, QueryRows};
use super::listed::worse_first;
use super::look::Look;
use super::watched::WatchedBoard;
use super::{Filter, Reader, StoreError};
use crate::domain::board_id::BoardId;
use crate::domain::claim_list::{
    ListPart, ListPlace, ListRequest, Matching, OnBoard, Others, Start, Stretch, Tested, Troubled, Worst,
};
use crate::domain::detail::Cursor;
use crate::domain::snapshot::Judged;
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::Set;

/// Rows that are read for one part at most, where many do not pass the filter.
const MOST: usize = 20_000;
/// Rows that are read at once, after the first look.
const PAGE: usize = 2_000;

impl Reader {
    /// A part of the list of all claims.
    pub fn list_part(&mut self, request: &ListRequest) -> Result<ListPart, StoreError> {
        let started = Instant::now();
        let (filter, mut matching) = (&request.filter, None);
        let worst = match request.worst {
            Some(most) => {
                let (worst, troubled) = self.worst(filter, most)?;
                if !filter.is_open() {
                    matching = Some(self.matching(filter, troubled)?);
                }
                Some(worst)
            }
            None => None,
        };
        let others = match &request.others {
            // Where more claims are in trouble than were asked for, those come next.
            Some(Stretch { troubled: Troubled::Elsewhere, .. })
                if worst.as_ref().is_some_and(|worst| !worst.is_all) =>
            {
                None
            }
            Some(stretch) => Some(self.others(filter, stretch)?),
            None => None,
        };
        let now = self.look("listing", |look| Ok(look.now))?;
        let micros = i64::try_from(started.elapsed().as_micros()).unwrap_or(i64::MAX);
        Ok(ListPart { now, worst, others, matching, cost: Span::micros(micros) })
    }

    fn boards_of(&self, filter: &Filter) -> Vec<BoardId> {
        self.engine.board_ids().into_iter().filter(|id| filter.takes_board(id)).collect()
    }

    /// The worst claims of all boards, and how many are in trouble.
    fn worst(&mut self, filter: &Filter, most: usize) -> Result<(Worst, u64), StoreError> {
        let (mut claims, mut troubled, mut is_all) = (Vec::new(), 0, true);
        for board in self.boards_of(filter) {
            let wanted =
                Filter { sets: filter.troubled(), limit: Some(most.saturating_add(1)), ..filter.clone() };
            let of_board = match self.engine.find_worst(&board, &wanted)? {
                Some(found) => {
                    troubled += found.len() as u64;
                    is_all &= found.len() <= most;
                    let shown = &found[..found.len().min(most)];
                    self.look("listing", |look| match look.board(&board) {
                        Some(watch) => look.claims_at(watch, shown),
                        None => Ok(Vec::new()),
                    })?
                }
                None => {
                    let all = self.view(&board, filter, most)?;
                    troubled += all.len() as u64;
                    is_all &= all.len() < most;
                    all
                }
            };
            let now = self.look("listing", |look| Ok(look.now))?;
            let taken = of_board.into_iter().filter(|judged| filter.takes(&board, judged, now));
            claims.extend(taken.map(|judged| OnBoard { board: board.clone(), judged }));
        }
        claims.sort_by(|one, other| {
            let place = |claim: &OnBoard| (claim.board.clone(), claim.judged.claim.key.address());
            worse_first(&one.judged, &other.judged).then_with(|| place(one).cmp(&place(other)))
        });
        is_all &= claims.len() <= most;
        claims.truncate(most);
        Ok((Worst { claims, is_all }, troubled))
    }

    /// The claims of a view, which are nowhere to come back to: those in trouble, and all of them where they have
    /// no order either.
    pub(super) fn view(
        &mut self,
        board: &BoardId,
        filter: &Filter,
        most: usize,
    ) -> Result<Vec<Judged>, StoreError> {
        self.look("listing", |look| {
            let Some(watch) = look.board(board) else { return Ok(Vec::new()) };
            let (rows, bound, now) = (watch.rows(), watch.bound(), look.now);
            let narrowed = rows.narrowed(bound, &filter.conditions, now);
            let mut params = rows.clock(bound, now);
            params.extend(narrowed.params);
            let mut claims = Vec::new();
            let sql = rows.select_with_state(&[]) + &narrowed.sql;
            look.connection.stream("listing", &sql, &params, &mut |row| {
                let judged = rows.read_with_state(row, bound, now);
                let is_meant = !rows.has_order() || judged.verdict.headline() != Set::Healthy;
                claims.extend(Some(judged).filter(|judged| is_meant && filter.takes(board, judged, now)));
                if claims.len() >= most.saturating_mul(4) {
                    claims.sort_by(worse_first);
                    claims.truncate(most);
                }
            })?;
            claims.sort_by(worse_first);
            claims.truncate(most);
            Ok(claims)
        })
    }

    /// How many claims pass a filter, `troubled` of them in trouble.
    fn matching(&mut self, filter: &Filter, troubled: u64) -> Result<Matching, StoreError> {
        let (mut total, mut tested) = (Some(0), Tested::InDatabase);
        for board in self.boards_of(filter) {
            let (count, answers) = self.look("counting", |look| match look.board(&board) {
                Some(watch) => count(look, watch, filter),
                None => Ok((0, SqlCoverage::All)),
            })?;
            if answers == SqlCoverage::Some {
                tested = Tested::OneByOne;
            }
            total = total.filter(|_| answers == SqlCoverage::All).map(|total| total + count);
        }
        let total = match (filter.wants_healthy(), filter.is_about_verdicts()) {
            (false, _) => Some(troubled),
            (true, true) => None,
            (true, false) => total,
        };
        Ok(Matching { troubled, total, tested })
    }

    fn others(&mut self, filter: &Filter, stretch: &Stretch) -> Result<Others, StoreError> {
        let nothing = Others { claims: Vec::new(), before: None, after: None, looked_at: 0 };
        if stretch.troubled == Troubled::Elsewhere && !filter.wants_healthy() {
            return Ok(nothing);
        }
        let boards = self.boards_of(filter);
        let start = match &stretch.from {
            Start::First => boards.first().map(|board| (board.clone(), Cursor::First)),
            Start::Last => boards.last().map(|board| (board.clone(), Cursor::Last)),
            Start::At(place) => Some((place.board.clone(), place.cursor.clone())),
        };
        let Some((board, cursor)) = start else { return Ok(nothing) };
        let at = boards.iter().position(|other| *other == board).unwrap_or(0);
        StretchReading { filter, stretch, boards, found: nothing }.run(self, at, &cursor)
    }
}

/// The rows of some boards, read until there are enough.
struct StretchReading<'a> {
    filter: &'a Filter,
    stretch: &'a Stretch,
    boards: Vec<BoardId>,
    found: Others,
}

impl StretchReading<'_> {
    fn run(mut self, reader: &mut Reader, at: usize, from: &Cursor) -> Result<Others, StoreError> {
        let is_backward = from.is_backward();
        let (mut at, mut cursor) = (at, from.clone());
        let next = loop {
            let wanted = if self.found.looked_at == 0 { self.stretch.rows } else { PAGE };
            let board = self.boards[at].clone();
            let (claims, more) = reader.look("listing", |look| match look.board(&board) {
                Some(watch) => page(look, watch, self.filter, &cursor, wanted),
                None => Ok((Vec::new(), None)),
            })?;
            self.found.looked_at += claims.len();
            let now = reader.look("listing", |look| Ok(look.now))?;
            self.take(&board, claims, now);
            let neighbour = if is_backward { at.checked_sub(1) } else { Some(at + 1) };
            let neighbour = neighbour.filter(|at| *at < self.boards.len());
            let (place, next_at) = match (more, neighbour) {
                (Some(more), _) if more != cursor => (more, at),
                (_, Some(neighbour)) => (if is_backward { Cursor::Last } else { Cursor::First }, neighbour),
                _ => break None,
            };
            (at, cursor) = (next_at, place);
            if self.found.claims.len() >= self.stretch.rows || self.found.looked_at >= MOST {
                break Some(ListPlace { board: self.boards[at].clone(), cursor });
            }
        };
        let came_from = self.came_from(from);
        let Others { claims, .. } = &mut self.found;
        if is_backward {
            claims.reverse();
            (self.found.before, self.found.after) = (next, came_from);
        } else {
            (self.found.before, self.found.after) = (came_from, next);
        }
        Ok(self.found)
    }

    fn take(&mut self, board: &BoardId, claims: Vec<Judged>, now: Moment) {
        let is_here = |judged: &Judged| {
            self.stretch.troubled == Troubled::Here || judged.verdict.headline() == Set::Healthy
        };
        let taken =
            claims.into_iter().filter(|judged| is_here(judged) && self.filter.takes(board, judged, now));
        self.found.claims.extend(taken.map(|judged| OnBoard { board: board.clone(), judged }));
    }

    /// Where the rows on the other side of the first one are.
    fn came_from(&self, from: &Cursor) -> Option<ListPlace> {
        let first = self.found.claims.first()?;
        let mark = first.judged.mark.clone()?;
        let cursor = match from {
            Cursor::First | Cursor::Last => return None,
            Cursor::From(_) | Cursor::After(_) => Cursor::Before(mark),
            Cursor::Before(_) => Cursor::After(mark),
        };
        Some(ListPlace { board: first.board.clone(), cursor })
    }
}

/// A page of a board in the order of its cursor, and where the next one begins.
pub(super) fn page(
    look: &mut Look<'_>,
    watch: &dyn WatchedBoard,
    filter: &Filter,
    from: &Cursor,
    rows: usize,
) -> Result<(Vec<Judged>, Option<Cursor>), Failed> {
    let mut narrowed = watch.rows().narrowed(watch.bound(), &filter.conditions, look.now);
    let Some(tail) = watch.rows().page(from, rows, &mut narrowed.params) else {
        return Ok((Vec::new(), None));
    };
    let mut claims = look.claims("listing", watch, &(narrowed.sql + &tail), narrowed.params)?;
    let more = claims.len() > rows;
    claims.truncate(rows);
    let last = claims.last().filter(|_| more).and_then(|last| last.mark.clone());
    let beyond = if from.is_backward() { Cursor::Before } else { Cursor::After };
    Ok((claims, last.map(beyond)))
}

/// How many claims of a board meet the conditions, and whether the database answers all of them.
fn count(
    look: &mut Look<'_>,
    watch: &dyn WatchedBoard,
    filter: &Filter,
) -> Result<(u64, SqlCoverage), Failed> {
    let (rows, board) = (watch.rows(), watch.bound());
    let asked: Vec<_> = filter.conditions.iter().filter(|one| !one.is_about_verdict()).cloned().collect();
    let narrowed = rows.narrowed(board, &asked, look.now);
    if narrowed.answers == SqlCoverage::Some {
        return Ok((0, SqlCoverage::Some));
    }
    let mut params = rows.clock(board, look.now);
    params.extend(narrowed.params);
    let counted = look.connection.dialect().selected("count(*)");
    let sql = format!("SELECT {counted} FROM {} WHERE ({}){}", board.joined(), board.is_held(), narrowed.sql);
    let count = look.connection.first("counting", &sql, &params, |row| row.count(0))?;
    Ok((count.unwrap_or(0), SqlCoverage::All))
}

impl Filter {
    /// The sets of trouble that it looks for.
    pub(super) fn troubled(&self) -> Vec<Set> {
        let is_meant = |set: &Set| *set != Set::Healthy && (self.sets.is_empty() || self.sets.contains(set));
        Set::ALL.into_iter().filter(is_meant).collect()
    }

    /// Whether healthy claims can pass.
    fn wants_healthy(&self) -> bool {
        let of_sets = self.sets.is_empty() || self.sets.contains(&Set::Healthy);
        of_sets
            && self.reasons.is_empty()
            && self.conditions.iter().all(|condition| condition.takes_healthy())
    }

    fn is_about_verdicts(&self) -> bool {
        !self.sets.is_empty()
            || !self.reasons.is_empty()
            || self.conditions.iter().any(|condition| condition.is_about_verdict())
    }
}
