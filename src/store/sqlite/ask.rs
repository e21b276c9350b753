//! One probe under watch: asked anew after a write, moved on with the clock otherwise.

use rusqlite::Connection;
use rusqlite::types::{Value as SqlValue, ValueRef};

use super::functions::unpack;
use super::hop::hop;
use super::plan::{Driver, Planned};
use super::probe::Tag;
use super::rowset::RowSet;
use super::run::{all_bindings, bind_known};
use super::watch::Since;
use crate::domain::time::Moment;
use crate::store::bound::BoundBoard;

/// A probe and its answer.
#[derive(Debug)]
pub struct Asked {
    pub planned: Planned,
    pub answer: Answer,
}

/// Rows, or, for the runaways, only how many.
#[derive(Debug, PartialEq)]
pub enum Answer {
    Rows(RowSet),
    Count(u64),
}

impl Answer {
    /// Takes the values that a statement selected.
    fn new(tag: Tag, selected: Vec<i64>) -> Answer {
        match tag {
            Tag::Runaway => Answer::Count(sum(&selected)),
            Tag::Reason(_) | Tag::OldBeat | Tag::BadDeadline => Answer::Rows(RowSet::from(selected)),
        }
    }

    fn add(&mut self, selected: &[i64]) {
        match self {
            Answer::Rows(rows) => selected.iter().for_each(|rowid| rows.insert(*rowid)),
            Answer::Count(count) => *count += sum(selected),
        }
    }

    fn remove(&mut self, selected: &[i64]) {
        match self {
            Answer::Rows(rows) => selected.iter().for_each(|rowid| rows.remove(*rowid)),
            Answer::Count(count) => *count = count.saturating_sub(sum(selected)),
        }
    }
}

fn sum(counts: &[i64]) -> u64 {
    counts.iter().map(|count| count.max(&0).unsigned_abs()).sum()
}

impl Asked {
    pub fn new(planned: Planned) -> Asked {
        let answer = Answer::new(planned.probe.tag, Vec::new());
        Asked { planned, answer }
    }

    /// Brings the answer up to date; tells whether it changed.
    pub fn refresh(
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
            Driver::Holders => hop(connection, board, &mut selected, claims)?,
            Driver::Claims | Driver::Sessions | Driver::Census => {
                let bindings = all_bindings(probe, "", board, now, None);
                selected = answer(connection, &self.planned, &bindings)?;
            }
        }
        let fresh = Answer::new(probe.tag, selected);
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
fn answer(
    connection: &Connection,
    planned: &Planned,
    bindings: &[(String, SqlValue)],
) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(&planned.whole())?;
    bind_known(&mut statement, bindings)?;
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
