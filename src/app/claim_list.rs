//! The rows of the Claims pane: one list of all boards and sources, of which only a part is loaded.
//!
//! The list begins with the claims in trouble of all sources, worst first. The others follow source by source, in
//! the order of their rows. Only the part around the selection is loaded. A poll rereads it; moving the
//! selection towards an end loads more.

mod answers;
mod requests;

use std::collections::BTreeMap;

use super::row::Row;
use crate::domain::claim_list::{ListPlace, ListRequest, Matching, Tested, Troubled};
use crate::domain::filter::Filter;
use crate::domain::time::{Moment, Span};
pub use answers::Loading;

/// At most so many claims are sorted worst first; further ones in trouble follow in the order of their rows.
const MOST_WORST: usize = 5_000;

/// What is loaded of the list.
#[derive(Debug, Clone, Default)]
pub struct ClaimList {
    /// Of all sources, worst first.
    worst: Vec<Row>,
    sources: BTreeMap<usize, OfSource>,
    filter: Filter,
    head: Head,
    /// Where the selection goes when the requested rows arrive.
    pub land: Landing,
}

/// Whether the list is loaded from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Head {
    #[default]
    Loaded,
    Above,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Landing {
    #[default]
    Stay,
    Top,
    Bottom,
    /// So many lines further than there were rows.
    Onward(isize),
}

/// What is loaded of one source.
#[derive(Debug, Clone, Default)]
struct OfSource {
    /// How many of the worst are asked for, and whether these are all.
    wanted: usize,
    has_all_worst: bool,
    matching: Option<Matching>,
    others: Option<Loaded>,
    looked_at: usize,
    /// The pending request; other answers are outdated.
    pending: Option<(ListRequest, RequestPurpose)>,
    /// When the last answer came, and how long the database was busy with it.
    answered: Option<(Moment, Span)>,
    problem: Option<String>,
}

/// Rows of a source that follow each other.
#[derive(Debug, Clone, Default)]
struct Loaded {
    rows: Vec<Row>,
    before: Option<ListPlace>,
    after: Option<ListPlace>,
}

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestPurpose {
    /// Reread.
    Again,
    /// The rows after the last, or before the first.
    Below,
    Above,
    /// Another part of the list.
    Elsewhere,
}

/// In which direction more is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Towards {
    Top,
    Bottom,
}

/// Something to ask of a source.
pub type Wanted = (usize, ListRequest);

impl ClaimList {
    /// The loaded rows, in the order of the list.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        let worst = &self.worst[..if self.head == Head::Loaded { self.certain() } else { 0 }];
        let follow = self.head == Head::Above || (worst.len() == self.worst.len() && self.are_worst_read());
        let others = self.sources.values().filter_map(|of| of.others.as_ref());
        // Rows of the next sources come only after the end of this one.
        let others = others.scan(follow, |follows, loaded| {
            let here = follows.then_some(loaded);
            *follows &= loaded.after.is_none();
            here
        });
        worst.iter().chain(others.flat_map(|loaded| &loaded.rows))
    }

    pub fn rows_mut(&mut self, source: usize) -> impl Iterator<Item = &mut Row> {
        let others = self.sources.get_mut(&source).and_then(|of| of.others.as_mut());
        let worst = self.worst.iter_mut().filter(move |row| row.id.source == source);
        worst.chain(others.into_iter().flat_map(|loaded| &mut loaded.rows))
    }

    /// How many of the worst are in their final place: rows of a source that are not loaded yet come after its
    /// last one.
    fn certain(&self) -> usize {
        let open = self.sources.iter().filter(|(_, of)| of.has_more_worst()).map(|(source, _)| *source);
        let last = |source| self.worst.iter().rposition(|row| row.id.source == source).map_or(0, |at| at + 1);
        open.map(last).min().unwrap_or(self.worst.len())
    }

    fn are_worst_read(&self) -> bool {
        self.sources.values().all(|of| !of.has_more_worst())
    }

    pub fn is_waiting(&self) -> bool {
        self.sources.values().any(|of| of.pending.is_some())
    }

    pub fn problem(&self) -> Option<&str> {
        self.sources.values().find_map(|of| of.problem.as_deref())
    }

    /// How many claims pass the filter, of those sources that have answered; nothing without a filter.
    pub fn matching(&self) -> Option<Matching> {
        let all = self.sources.values().filter_map(|of| of.matching);
        all.reduce(|one, other| Matching {
            troubled: one.troubled + other.troubled,
            total: one.total.zip(other.total).map(|(one, other)| one + other),
            tested: if one.tested == Tested::OneByOne { one.tested } else { other.tested },
        })
    }

    /// How many rows were read for what is loaded, where they have to be tested one by one.
    pub fn looked_at(&self) -> usize {
        self.sources.values().map(|of| of.looked_at).sum()
    }

    pub fn is_at_top(&self) -> bool {
        self.head == Head::Loaded
    }

    /// Whether everything to the end of the list is loaded.
    pub fn is_at_bottom(&self) -> bool {
        let is_whole = |of: &OfSource| {
            of.problem.is_some() || of.others.as_ref().is_some_and(|loaded| loaded.after.is_none())
        };
        let mut loaded = self.sources.values().skip_while(|of| of.others.is_none());
        self.are_worst_read() && loaded.all(is_whole)
    }

    /// Whether this is the list of these sources and this filter.
    pub fn is_of(&self, sources: &[usize], filter: &Filter) -> bool {
        self.sources.keys().eq(sources) && self.filter == *filter
    }
}

impl OfSource {
    /// Whether there are more in trouble that can be sorted among the worst.
    fn has_more_worst(&self) -> bool {
        !self.has_all_worst && self.answered.is_some() && self.wanted < MOST_WORST
    }

    fn troubled(&self) -> Troubled {
        if self.has_all_worst { Troubled::Elsewhere } else { Troubled::Here }
    }
}
