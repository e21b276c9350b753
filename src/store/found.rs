//! Claims that were found, without their rows: a few bytes each, so that a million of them can be worked
//! through in parts.

use std::ops::Range;
use std::sync::Arc;

use super::Filter;
use super::seen::Spot;
use crate::domain::board_id::BoardId;

/// What a filter found, board by board.
#[derive(Debug)]
pub struct Found {
    pub(super) filter: Filter,
    pub(super) boards: Vec<FoundBoard>,
}

/// The claims of one board among them, in the order in which they are to be looked at.
#[derive(Debug)]
pub struct FoundBoard {
    pub(super) board: BoardId,
    pub(super) rows: Vec<RowRef>,
}

/// Where a row was found, in the terms of its engine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowRef {
    /// SQLite: the rowid, or the number that a reader gave to the row's key.
    Number(i64),
    /// PostgreSQL: the table (of a partitioned one the part) and the place of that version of the row.
    Version { table: u32, spot: Spot },
    /// MySQL: the parts of a primary key that is no single number, as the driver writes them.
    Key(Arc<str>),
}

/// What the place of a row begins with that has only a key.
pub(super) const KEY: char = 'k';

impl RowRef {
    /// Reads the place that a row was selected with; nothing for a row of SQLite that has only a key.
    pub(super) fn parse(place: &str) -> Option<RowRef> {
        match place.find('(') {
            Some(at) => {
                Some(RowRef::Version { table: place[..at].parse().ok()?, spot: Spot::of_row(place)? })
            }
            None if place.starts_with(KEY) => Some(RowRef::Key(place.into())),
            None => place.parse().ok().map(RowRef::Number),
        }
    }
}

/// The claims of one board among all that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfBoard {
    pub board: BoardId,
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
        self.boards.iter().map(|found| found.rows.len()).sum()
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
        let all = self.boards.iter().zip(self.spans());
        let all = all.map(|(found, rows)| OfBoard { board: found.board.clone(), rows });
        all.filter(|of| !of.rows.is_empty()).collect()
    }

    /// A part of it, board by board.
    pub(super) fn part(&self, part: &Range<usize>) -> Vec<(&BoardId, &[RowRef])> {
        let boards = self.boards.iter().zip(self.spans());
        let within = boards.filter_map(|(found, span)| {
            let (from, to) = (part.start.max(span.start), part.end.min(span.end));
            (from < to).then(|| (&found.board, &found.rows[from - span.start..to - span.start]))
        });
        within.collect()
    }

    /// Which of all the claims each board has.
    fn spans(&self) -> impl Iterator<Item = Range<usize>> {
        self.boards.iter().scan(0, |from, found| {
            let span = *from..*from + found.rows.len();
            *from = span.end;
            Some(span)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_may_span_boards() {
        let found = |name: &str, rows: Range<i64>| FoundBoard {
            board: BoardId::new("queue", name),
            rows: rows.map(RowRef::Number).collect(),
        };
        let boards = vec![found("jobs", 0..3), found("empty", 0..0), found("locks", 10..12)];
        let found = Found { filter: Filter::default(), boards };
        let part = |range: Range<usize>| -> Vec<(String, usize)> {
            let parts = found.part(&range).into_iter();
            parts.map(|(board, rows)| (board.board().to_owned(), rows.len())).collect()
        };
        assert_eq!(part(0..5), [("jobs".to_owned(), 3), ("locks".to_owned(), 2)]);
        assert_eq!(part(2..4), [("jobs".to_owned(), 1), ("locks".to_owned(), 1)]);
        assert_eq!(part(3..4), [("locks".to_owned(), 1)]);
        assert_eq!(found.parts(2).collect::<Vec<_>>(), [0..2, 2..4, 4..5]);
        assert_eq!(found.boards().iter().map(|of| of.rows.clone()).collect::<Vec<_>>(), [0..3, 3..5]);
    }
}
