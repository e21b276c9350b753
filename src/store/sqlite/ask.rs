//! One probe under watch: asked anew after a write, moved on with the clock otherwise.

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::mem;

use super::ahead::{LookAhead, TimeAhead};
use super::dialect::bind;
use super::functions::unpack;
use super::hop::hop;
use super::plan::{Planned, ProbePath};
use super::probe::{Edge, Probe, Tag};
use super::rowset::RowSet;
use super::run::all_bindings;
use super::watch::Since;
use crate::domain::time::Moment;
use crate::store::bound::BoundBoard;
use crate::store::named_params::NamedParams;

/// A probe and its answer.
#[derive(Debug)]
pub(super) struct AskedProbe {
    pub planned: Planned,
    pub answer: ProbeAnswer,
    /// Whether the answer can change although nothing is written.
    moves: bool,
    ahead: RowsAhead,
}

/// What the edges of a probe's window reach next.
#[derive(Debug)]
enum RowsAhead {
    /// Nobody has looked since the last write.
    Unseen,
    /// No index has them in order.
    Unordered,
    Seen {
        look: LookAhead,
        from: TimeAhead,
        to: TimeAhead,
    },
}

/// Rows, or, for the runaways, only how many.
#[derive(Debug, PartialEq)]
pub(super) enum ProbeAnswer {
    Rows(RowSet),
    Count(u64),
}

impl ProbeAnswer {
    /// Takes the values that a statement selected.
    fn new(tag: Tag, selected: Vec<i64>) -> ProbeAnswer {
        match tag {
            Tag::Runaway => ProbeAnswer::Count(sum(&selected)),
            Tag::Reason(_) | Tag::OldBeat | Tag::BadDeadline => ProbeAnswer::Rows(RowSet::from(selected)),
        }
    }

    fn add(&mut self, selected: &[i64]) {
        match self {
            ProbeAnswer::Rows(rows) => selected.iter().for_each(|rowid| rows.insert(*rowid)),
            ProbeAnswer::Count(count) => *count += sum(selected),
        }
    }

    fn remove(&mut self, selected: &[i64]) {
        match self {
            ProbeAnswer::Rows(rows) => selected.iter().for_each(|rowid| rows.remove(*rowid)),
            ProbeAnswer::Count(count) => *count = count.saturating_sub(sum(selected)),
        }
    }
}

fn sum(counts: &[i64]) -> u64 {
    counts.iter().map(|count| count.max(&0).unsigned_abs()).sum()
}

impl AskedProbe {
    pub(super) fn new(planned: Planned) -> AskedProbe {
        let answer = ProbeAnswer::new(planned.probe.tag, Vec::new());
        let moves = planned.probe.depends_on_clock();
        AskedProbe { planned, answer, moves, ahead: RowsAhead::Unseen }
    }

    /// Whether the answer is the same at `now` if nothing was written, without asking.
    pub(super) fn is_still(&self, board: &BoundBoard, now: Moment) -> bool {
        match (&self.ahead, &self.planned.probe.window) {
            _ if !self.moves => true,
            (RowsAhead::Seen { from, to, .. }, Some(window)) => {
                let edges = window.edges(board, now);
                from.is_ahead_of(edges.0) && to.is_ahead_of(edges.1)
            }
            (RowsAhead::Unseen | RowsAhead::Unordered | RowsAhead::Seen { .. }, _) => false,
        }
    }

    /// Brings the answer up to date; tells whether it changed.
    pub(super) fn refresh(
        &mut self,
        connection: &Connection,
        board: &BoundBoard,
        now: Moment,
        since: Since,
    ) -> rusqlite::Result<bool> {
        let probe = &self.planned.probe;
        match since {
            Since::Quiet(_) if self.is_still(board, now) => return Ok(false),
            Since::Quiet(last) if probe.strips => {
                let changed = self.move_on(connection, board, last, now)?;
                self.look_ahead(connection, board, now)?;
                return Ok(changed);
            }
            Since::Quiet(_) => {}
            Since::Written => self.forget_what_is_ahead(),
        }
        let probe = &self.planned.probe;
        let mut selected = Vec::new();
        match self.planned.driver {
            ProbePath::Holders => hop(connection, board, &mut selected)?,
            ProbePath::Claims | ProbePath::Sessions | ProbePath::Census => {
                let bindings = all_bindings(probe, "", board, now, None);
                selected = answer(connection, &self.planned, &bindings)?;
            }
        }
        let fresh = ProbeAnswer::new(probe.tag, selected);
        let changed = self.answer != fresh;
        self.answer = fresh;
        Ok(changed)
    }

    /// Moves the window from its place at `last` to its place at `now`: rows it has reached come
    /// in, rows it has left go. Nothing was written in between.
    fn move_on(
        &mut self,
        connection: &Connection,
        board: &BoundBoard,
        last: Moment,
        now: Moment,
    ) -> rusqlite::Result<bool> {
        let Some(window) = &self.planned.probe.window else { return Ok(false) };
        let (old_from, old_to) = window.edges(board, last);
        let (from, to) = window.edges(board, now);
        let left = self.between(connection, board, now, (old_from, from.min(old_to)))?;
        let reached = self.between(connection, board, now, (old_to.max(from), to))?;
        let changed = !left.is_empty() || !reached.is_empty();
        self.answer.remove(&left);
        self.answer.add(&reached);
        Ok(changed)
    }

    /// Finds what the edges of the window will reach next.
    fn look_ahead(
        &mut self,
        connection: &Connection,
        board: &BoundBoard,
        now: Moment,
    ) -> rusqlite::Result<()> {
        let Some(window) = &self.planned.probe.window else { return Ok(()) };
        let look = match mem::replace(&mut self.ahead, RowsAhead::Unordered) {
            RowsAhead::Seen { look, .. } => Some(look),
            RowsAhead::Unseen => looks_ahead(connection, board, &self.planned.probe)?,
            RowsAhead::Unordered => None,
        };
        let Some(look) = look else { return Ok(()) };
        let find = |edge: Edge| match edge.moves() {
            true => look.find(connection, edge.micros(board, now)),
            false => Ok(TimeAhead::None),
        };
        let (from, to) = (find(window.from)?, find(window.to)?);
        self.ahead = RowsAhead::Seen { look, from, to };
        Ok(())
    }

    fn forget_what_is_ahead(&mut self) {
        if let RowsAhead::Seen { from, to, .. } = &mut self.ahead {
            (*from, *to) = (TimeAhead::Unknown, TimeAhead::Unknown);
        }
    }

    /// What the probe selects when its window is the strip between two edges.
    fn between(
        &self,
        connection: &Connection,
        board: &BoundBoard,
        now: Moment,
        edges: (i64, i64),
    ) -> rusqlite::Result<Vec<i64>> {
        let mut selected = Vec::new();
        if edges.0 < edges.1 {
            let bindings = all_bindings(&self.planned.probe, "", board, now, Some(edges));
            selected = answer(connection, &self.planned, &bindings)?;
        }
        // A count of none is no news.
        selected.retain(|value| self.planned.probe.tag != Tag::Runaway || *value != 0);
        Ok(selected)
    }
}

/// How the rows ahead of a probe's window are found, if an index has them in order. A registry is small enough to be
/// read for it.
fn looks_ahead(
    connection: &Connection,
    board: &BoundBoard,
    probe: &Probe,
) -> rusqlite::Result<Option<LookAhead>> {
    let Some(window) = &probe.window else { return Ok(None) };
    let is_of = |is_side: fn(&Edge) -> bool| is_side(&window.from) || is_side(&window.to);
    let of_sessions = is_of(|edge| matches!(edge, Edge::Sessions(_)));
    let from = match &board.registry {
        Some(registry) if of_sessions => &registry.from,
        _ => &board.from,
    };
    let look = LookAhead::new(from, &window.time, window.unit);
    let is_quick = of_sessions || look.is_quick(connection)?;
    Ok(is_quick.then_some(look))
}

/// What a probe's statement answers: packed rows, or a count.
fn answer(connection: &Connection, planned: &Planned, params: &NamedParams) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(&planned.whole())?;
    bind(&mut statement, params)?;
    let mut rows = statement.raw_query();
    let mut selected = Vec::new();
    while let Some(row) = rows.next()? {
        match row.get_ref(0)? {
            ValueRef::Integer(count) => selected.push(count),
            ValueRef::Blob(packed) => selected.extend(unpack(packed)),
            ValueRef::Null | ValueRef::Real(_) | ValueRef::Text(_) => {}
        }
    }
    Ok(selected)
}
