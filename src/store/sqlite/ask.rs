//! One probe under watch: asked anew after a write, moved on with the clock otherwise.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::dialect::bind;
use super::functions::unpack;
use super::hop::hop;
use super::plan::{Planned, ProbePath};
use super::probe::Tag;
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
        AskedProbe { planned, answer }
    }

    /// Brings the answer up to date; tells whether it changed.
    pub(super) fn refresh(
        &mut self,
        connection: &Connection,
        board: &BoundBoard,
        claims: u64,
        now: Moment,
        since: Since,
    ) -> rusqlite::Result<bool> {
        let probe = &self.planned.probe;
        match since {
            Since::Quiet(_) if !probe.depends_on_clock() => return Ok(false),
            Since::Quiet(last) if probe.strips => return self.move_on(connection, board, last, now),
            Since::Quiet(_) | Since::Written => {}
        }
        let mut selected = Vec::new();
        match self.planned.driver {
            ProbePath::Holders => hop(connection, board, &mut selected, claims)?,
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
