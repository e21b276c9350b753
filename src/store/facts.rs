//! Facts for causes and groups: the claims in trouble, the holders, and enough other claims to compare with.
//!
//! A board of ordinary size is read whole. Of a large one the claims in trouble are found by index, and so are some
//! others from both ends of the table: each of them stands for many.

use super::driver::Failed;
use super::holders::sessions;
use super::look::Look;
use super::watched::WatchedBoard;
use super::{Reader, StoreError};
use crate::domain::board_id::BoardId;
use crate::domain::cause::{ClaimsOf, Facts, Gathering};
use crate::domain::detail::Cursor;
use crate::domain::snapshot::Judged;
use crate::domain::time::Moment;
use crate::domain::verdict::Set;

/// Boards of at most this many claims are read whole.
const WHOLE: u64 = 20_000;
/// Of more claims in trouble on a larger board, evenly spaced ones are read.
const TROUBLED: usize = 5_000;
/// So many other claims of a larger board are read.
const OTHERS: usize = 2_000;
/// Rows read in one transaction.
const PAGE: usize = 500;

impl Reader {
    /// What is known of the claims and the holders of a source, which goes by this name.
    pub fn facts(&mut self, source: &str) -> Result<Facts, StoreError> {
        let (mut gathering, large) = self.look("gathering facts", |look| {
            let mut gathering = Gathering::of(source);
            sessions(look)?.iter().for_each(|session| gathering.add_session(session));
            let mut large = Vec::new();
            for watch in look.watches() {
                if watch.total() <= WHOLE {
                    add_all(look, watch, "", &mut gathering)?;
                } else {
                    large.push(watch.bound().board_id.clone());
                }
            }
            Ok((gathering, large))
        })?;
        for board in large {
            self.add_large(&board, &mut gathering)?;
        }
        Ok(gathering.facts())
    }

    fn add_large(&mut self, board: &BoardId, gathering: &mut Gathering) -> Result<(), StoreError> {
        let Some(found) = self.engine.find_in_sets(board, &[Set::Orphaned, Set::Stale])? else {
            // The rows of a view are nowhere to come back to: the first ones stand for all.
            return self.look("gathering facts", |look| match look.board(board) {
                Some(watch) => add_all(look, watch, &format!(" LIMIT {WHOLE}"), gathering),
                None => Ok(()),
            });
        };
        let step = found.len().div_ceil(TROUBLED).max(1);
        let spaced: Vec<_> = found.into_iter().step_by(step).collect();
        for some in spaced.chunks(PAGE) {
            self.look("gathering facts", |look| {
                let Some(watch) = look.board(board) else { return Ok(()) };
                let of = claims_of(watch, look.now);
                for judged in look.claims_among(watch, some)? {
                    gathering.add_claim(&of, &judged, step as u64);
                }
                Ok(())
            })?;
        }
        self.add_others(board, gathering)
    }

    /// Some of the claims that are not in trouble: the first and the last by the order of their rows, which is
    /// found by index. Every one stands for many.
    fn add_others(&mut self, board: &BoardId, gathering: &mut Gathering) -> Result<(), StoreError> {
        self.look("gathering facts", |look| {
            let Some(watch) = look.board(board) else { return Ok(()) };
            let (rows, of) = (watch.rows(), claims_of(watch, look.now));
            let stands_for = (watch.total() / OTHERS as u64).max(1);
            let is_troubled =
                |judged: &Judged| [Set::Orphaned, Set::Stale].iter().any(|set| judged.verdict.is_in(*set));
            for from in [Cursor::First, Cursor::Last] {
                let mut params = rows.clock(watch.bound(), look.now);
                let page = rows.page(&from, OTHERS / 2, &mut params);
                let page = page.unwrap_or_else(|| format!(" LIMIT {}", OTHERS / 2));
                let sql = format!("{}{page}", rows.select());
                look.connection.stream("gathering facts", &sql, &params, &mut |row| {
                    let judged = rows.read(row, watch.bound(), of.now);
                    if !is_troubled(&judged) {
                        gathering.add_claim(&of, &judged, stands_for);
                    }
                })?;
            }
            Ok(())
        })
    }
}

fn claims_of(watch: &dyn WatchedBoard, now: Moment) -> ClaimsOf<'_> {
    let board = watch.bound();
    ClaimsOf {
        profile: board.board_id.profile(),
        board: board.board_id.board(),
        role: board.nature.role,
        rules: &board.rules,
        now,
    }
}

/// Every claim of a board that meets a condition.
fn add_all(
    look: &mut Look<'_>,
    watch: &dyn WatchedBoard,
    condition: &str,
    gathering: &mut Gathering,
) -> Result<(), Failed> {
    let of = claims_of(watch, look.now);
    look.each_claim("gathering facts", watch, condition, &mut |judged| gathering.add_claim(&of, &judged, 1))
}
