//! Claims that were found, without their rows: a few bytes each, so that a million of them can be worked
//! through in parts.

use std::ops::Range;

use super::postgres::Spotted;
use super::{Filter, Place};

/// What a filter found, board by board.
#[derive(Debug)]
pub struct Found {
    pub(super) filter: Filter,
    pub(super) places: Places,
}

/// Where the claims are, as their engine has it.
#[derive(Debug)]
pub(super) enum Places {
    Sqlite(Vec<Place>),
    Postgres(Vec<Spotted>),
}

/// The claims of one board among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfBoard {
    pub profile: usize,
    pub board: usize,
    pub rows: Range<usize>,
}

/// The claims of a board that are past their deadline, and all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overdue {
    pub claims: u64,
    pub of: u64,
}

impl Found {
    /// How many there are. Where the filter names a holder or a kind, some may turn out to be others' when they
    /// are looked at.
    pub fn len(&self) -> usize {
        match &self.places {
            Places::Sqlite(places) => places.len(),
            Places::Postgres(places) => places.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of it in parts of this size, the last one smaller.
    pub fn parts(&self, size: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let all = self.len();
        (0..all).step_by(size.max(1)).map(move |from| from..from.saturating_add(size.max(1)).min(all))
    }

    /// The claims of each board.
    pub fn boards(&self) -> Vec<OfBoard> {
        match &self.places {
            Places::Sqlite(places) => of_boards(places, |place| (place.profile, place.board)),
            Places::Postgres(places) => of_boards(places, Spotted::board),
        }
    }
}

fn of_boards<T>(found: &[T], board_of: impl Fn(&T) -> (usize, usize)) -> Vec<OfBoard> {
    let mut from = 0;
    let same = |one: &T, other: &T| board_of(one) == board_of(other);
    let mut boards = Vec::new();
    for rows in found.chunk_by(same) {
        let (profile, board) = board_of(&rows[0]);
        boards.push(OfBoard { profile, board, rows: from..from + rows.len() });
        from += rows.len();
    }
    boards
}
