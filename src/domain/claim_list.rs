//! One list of all claims of a source: those in trouble, worst first, then the others in the order of their rows.
//!
//! A screen reads a part of it at a time and goes on from where the last part ended.

use super::board_id::BoardId;
use super::detail::Cursor;
use super::filter::Filter;
use super::snapshot::Judged;
use super::time::{Moment, Span};

/// Which part of the list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListRequest {
    pub filter: Filter,
    /// So many of those in trouble; nothing, if they are not asked for.
    pub worst: Option<usize>,
    pub others: Option<Stretch>,
}

/// Some of the claims that are not among the worst.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    pub from: Start,
    pub rows: usize,
    pub troubled: Troubled,
}

/// Whether claims in trouble are among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Troubled {
    /// All of them are among the worst.
    Elsewhere,
    /// There are more than the worst that were asked for.
    Here,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    First,
    At(ListPlace),
    Last,
}

/// A place among the rows of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct ListPlace {
    pub board: BoardId,
    pub cursor: Cursor,
}

/// A claim and its board.
#[derive(Debug, Clone)]
pub struct OnBoard {
    pub board: BoardId,
    pub judged: Judged,
}

/// A part of the list.
#[derive(Debug, Clone)]
pub struct ListPart {
    pub now: Moment,
    pub worst: Option<Worst>,
    pub others: Option<Others>,
    /// How many claims pass the filter, if it has conditions.
    pub matching: Option<Matching>,
    /// How long the database was busy with it.
    pub cost: Span,
}

#[derive(Debug, Clone)]
pub struct Worst {
    pub claims: Vec<OnBoard>,
    /// There are no others in trouble.
    pub is_all: bool,
}

#[derive(Debug, Clone)]
pub struct Others {
    pub claims: Vec<OnBoard>,
    /// Where to go on in either direction; nothing at the ends.
    pub before: Option<ListPlace>,
    pub after: Option<ListPlace>,
    /// How many rows were read for it.
    pub looked_at: usize,
}

/// How many claims pass a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matching {
    pub troubled: u64,
    /// All of them; nothing, if the database cannot count them.
    pub total: Option<u64>,
    /// Whether the database answers every condition, or rows are read and tested one by one.
    pub tested: Tested,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tested {
    InDatabase,
    OneByOne,
}
