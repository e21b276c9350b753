//! The questions a poll asks of a board: for every reason, which rows it applies to.
//!
//! A [`Probe`] is a predicate over the claim `c` and its session `s` that says the same as one
//! branch of [`crate::domain::verdict::judge`]. Most are windows: a time between two edges that
//! move with the clock. When nothing was written since the last poll, only the strip that the
//! window has moved over is read.

mod by_reason;

pub(super) use self::by_reason::compile;
use super::cell::bound;
use crate::domain::time::{Moment, Span, TimeUnit};
use crate::domain::verdict::{Reason, Set};
use crate::store::bound::BoundBoard;
use crate::store::named_params::NamedParams;

/// What the rows of a probe have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    Reason(Reason),
    Runaway,
    /// The claim's heartbeat is old: silent, if its lease still runs.
    OldBeat,
    /// The deadline cannot be read.
    BadDeadline,
}

impl Tag {
    /// Whether it makes a claim stale or orphaned.
    pub(super) fn is_staleness(self) -> bool {
        match self {
            Tag::Reason(reason) => matches!(reason.set(), Set::Stale | Set::Orphaned),
            Tag::OldBeat => true,
            Tag::Runaway | Tag::BadDeadline => false,
        }
    }
}

/// A predicate with its window.
#[derive(Debug, Clone)]
pub(super) struct Probe {
    pub tag: Tag,
    /// All but the window.
    pub only: Vec<String>,
    /// Times in `only`: parameter, unit, edge.
    pub params: Vec<(String, TimeUnit, Edge)>,
    pub window: Option<Window>,
    pub needs_session: bool,
    /// It is about claims whose holder has no row in the registry.
    pub without_session: bool,
    /// Nothing but `window` depends on the clock, so a strip of it is enough.
    pub strips: bool,
    /// The columns of `c` that an index would have to start with; none: not worth an index.
    pub index: Option<String>,
}

/// A time from one edge (included) to another (excluded).
#[derive(Debug, Clone)]
pub(super) struct Window {
    pub time: String,
    pub unit: TimeUnit,
    pub from: Edge,
    pub to: Edge,
}

/// An instant that stands still or moves with a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Fixed(Moment),
    /// This much after `now`, as the clock of the claims shows it.
    Claims(Span),
    /// The same for the clock of the registry.
    Sessions(Span),
}

impl Edge {
    pub(super) fn micros(self, board: &BoundBoard, now: Moment) -> i64 {
        match self {
            Edge::Fixed(moment) => moment.micros(),
            Edge::Claims(offset) => board.rules.claim_now(now).micros().saturating_add(offset.as_micros()),
            Edge::Sessions(offset) => {
                board.rules.session_now(now).micros().saturating_add(offset.as_micros())
            }
        }
    }

    pub(super) fn moves(self) -> bool {
        !matches!(self, Edge::Fixed(_))
    }
}

impl Window {
    pub(super) fn sql(&self, from: &str, to: &str) -> String {
        format!("{0} >= {from} AND {0} < {to}", self.time)
    }

    pub(super) fn edges(&self, board: &BoundBoard, now: Moment) -> (i64, i64) {
        (self.from.micros(board, now), self.to.micros(board, now))
    }
}

impl Probe {
    /// The whole predicate, with parameters that end in `suffix`.
    pub(super) fn predicate(&self, suffix: &str) -> String {
        let mut all: Vec<String> = self.only.iter().map(|sql| sql.replace(MARK, suffix)).collect();
        if let Some(window) = &self.window {
            all.push(window.sql(&format!(":from{suffix}"), &format!(":to{suffix}")));
        }
        if all.is_empty() { "1".into() } else { format!("({})", all.join(" AND ")) }
    }

    /// The parameters of [`Probe::predicate`], with the window between `edges` if given.
    pub(super) fn bindings(
        &self,
        suffix: &str,
        board: &BoundBoard,
        now: Moment,
        edges: Option<(i64, i64)>,
    ) -> NamedParams {
        let mut all = NamedParams::default();
        for (name, unit, edge) in &self.params {
            all.add_value(&name.replace(MARK, suffix), "", bound(edge.micros(board, now), *unit));
        }
        if let Some(window) = &self.window {
            let (from, to) = edges.unwrap_or_else(|| window.edges(board, now));
            all.add_value(&format!("from{suffix}"), "", bound(from, window.unit));
            all.add_value(&format!("to{suffix}"), "", bound(to, window.unit));
        }
        all
    }

    /// Whether time can only take rows away.
    pub(super) fn only_shrinks(&self) -> bool {
        self.strips && self.window.as_ref().is_some_and(|window| !window.to.moves())
    }

    /// Whether the answer can change although nothing is written.
    pub(super) fn depends_on_clock(&self) -> bool {
        let moving = |window: &Window| window.from.moves() || window.to.moves();
        self.window.as_ref().is_some_and(moving)
            || self.params.iter().any(|(_, _, edge)| edge.moves())
            || self.predicate("").contains(":now")
    }
}

/// Stands in predicates for the suffix of their parameters; no SQL that a profile brings has it.
const MARK: &str = "\u{1}";
