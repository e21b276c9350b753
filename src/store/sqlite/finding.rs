//! Where the claims are that a filter looks for, by the sets of each board.

use rusqlite::Connection;

use super::dialect::prepared;
use super::functions::unpack;
use super::reader::Reader;
use super::rowset::RowSet;
use super::sets::Sets;
use super::watch::{Since, Watch};
use crate::domain::board_id::BoardId;
use crate::domain::filter::{Condition, Sense, Test};
use crate::domain::time::Moment;
use crate::domain::verdict::{Reason, Reasons, Set};
use crate::store::conditions::Narrowed;
use crate::store::found::{FoundBoard, RowRef};
use crate::store::look::ReadEngine;
use crate::store::options::Effort;
use crate::store::{Filter, StoreError};

impl Reader {
    /// The claims of a filter on every board that can be acted on: the most urgent first, then the worst.
    pub fn members(&mut self, filter: &Filter) -> Result<Vec<FoundBoard>, StoreError> {
        self.follow_the_path()?;
        let ids = self.boards().into_iter().map(|at| at.board().board_id.clone());
        let ids: Vec<BoardId> = ids.filter(|id| filter.takes_board(id)).collect();
        self.in_one_transaction("looking for claims", |reader, now, since| {
            let mut found = Vec::new();
            for id in &ids {
                reader.refresh_board(id, now, since)?;
                let Some(watch) = reader.board(id).filter(|watch| watch.board.is_addressable()) else {
                    continue;
                };
                let sets = watch.sets();
                let matching = watch.matching(&reader.connection, filter, &sets, now)?;
                let (mut shown, mut rows) = (RowSet::default(), Vec::new());
                for reasons in filter.wanted() {
                    let mut some = watch.worst_of(&reader.connection, reasons, &sets, now, usize::MAX)?;
                    matching.narrow(&mut some);
                    watch.urgent_first(&reader.connection, &mut some, now)?;
                    take_new(some, &mut shown, &mut rows);
                }
                found.push(FoundBoard { board: id.clone(), rows });
            }
            Ok(found)
        })
    }

    /// The claims of a board in the sets of a filter, worst first; nothing for a view.
    pub(super) fn worst(&mut self, id: &BoardId, filter: &Filter) -> Result<Option<Vec<RowRef>>, StoreError> {
        self.follow_the_path()?;
        // How many of the worst meet the conditions is not known yet.
        let is_narrowed = !filter.conditions.is_empty() || !filter.reasons.is_empty();
        let most = filter.limit.filter(|_| !is_narrowed).unwrap_or(usize::MAX);
        self.in_one_transaction("listing", |reader, now, since| {
            match reader.board(id) {
                Some(watch) if !watch.board.is_addressable() => return Ok(None),
                Some(_) if !filter.sets.is_empty() => {}
                _ => return Ok(Some(Vec::new())),
            }
            reader.refresh_board(id, now, since)?;
            let Some(watch) = reader.board(id) else { return Ok(Some(Vec::new())) };
            let sets = watch.sets();
            let matching = watch.matching(&reader.connection, filter, &sets, now)?;
            let (mut shown, mut rows) = (RowSet::default(), Vec::new());
            for set in &filter.sets {
                let mut some = watch.worst_of(&reader.connection, Reasons::of(*set), &sets, now, most)?;
                matching.narrow(&mut some);
                take_new(some, &mut shown, &mut rows);
            }
            Ok(Some(rows))
        })
    }

    /// All claims of a board that are in one of the sets, in the order of their rows; nothing for a view.
    pub(super) fn in_sets(
        &mut self,
        id: &BoardId,
        wanted: &[Set],
    ) -> Result<Option<Vec<RowRef>>, StoreError> {
        self.follow_the_path()?;
        self.in_one_transaction("looking for claims", |reader, now, since| {
            match reader.board(id) {
                Some(watch) if !watch.board.is_addressable() => return Ok(None),
                Some(_) => {}
                None => return Ok(Some(Vec::new())),
            }
            reader.refresh_board(id, now, since)?;
            let reasons = wanted.iter().flat_map(|set| Reasons::of(*set).iter()).collect();
            let rows = reader.board(id).map(|watch| watch.sets().with(reasons));
            Ok(rows.map(|rows| rows.iter().map(RowRef::Number).collect()))
        })
    }

    /// Brings the sets of a board up to now, if its rows can be told apart.
    fn refresh_board(&mut self, id: &BoardId, now: Moment, since: Since) -> rusqlite::Result<()> {
        let effort = Effort { rows: 0, ..self.options.effort };
        let Reader { watched, connection, .. } = self;
        let mut boards = watched.iter_mut().flat_map(|watched| &mut watched.boards);
        let watch = boards.find(|watch| watch.board.board_id == *id && watch.board.is_addressable());
        let Some(watch) = watch else { return Ok(()) };
        watch.refresh_sets(connection, now, since, effort).map(|_| ())
    }
}

/// The claims that a filter takes.
enum MatchingRows {
    All,
    Rows(RowSet),
}

impl MatchingRows {
    fn narrow(&self, some: &mut Vec<i64>) {
        if let MatchingRows::Rows(rows) = self {
            some.retain(|rowid| rows.contains(*rowid));
        }
    }
}

impl Watch {
    /// The troubled claims that a filter takes: the file answers what is asked of a row, the sets answer what is
    /// asked of a verdict.
    fn matching(
        &self,
        connection: &Connection,
        filter: &Filter,
        sets: &Sets,
        now: Moment,
    ) -> rusqlite::Result<MatchingRows> {
        let (of_verdict, of_row): (Vec<Condition>, Vec<Condition>) =
            filter.conditions.iter().cloned().partition(Condition::is_about_verdict);
        let mut verdicts: Vec<(RowSet, Sense)> = Vec::new();
        if !filter.reasons.is_empty() {
            verdicts.push((sets.with(filter.reasons), Sense::Is));
        }
        for condition in of_verdict {
            let reasons = match &condition.test {
                Test::In(wanted) => wanted.iter().flat_map(|set| Reasons::of(*set).iter()).collect(),
                Test::For(reasons) => *reasons,
                _ => continue,
            };
            verdicts.push((sets.with(reasons), condition.sense));
        }
        if of_row.is_empty() && verdicts.is_empty() {
            return Ok(MatchingRows::All);
        }
        let mut rows = match of_row.is_empty() {
            true => sets.with(Reason::ALL.into_iter().collect()),
            false => self.answering(connection, &of_row, now)?,
        };
        for (members, sense) in verdicts {
            match sense {
                Sense::Is => rows.keep_all(&members),
                Sense::IsNot => rows.remove_all(&members),
            }
        }
        Ok(MatchingRows::Rows(rows))
    }

    /// The claims whose rows meet conditions.
    fn answering(
        &self,
        connection: &Connection,
        conditions: &[Condition],
        now: Moment,
    ) -> rusqlite::Result<RowSet> {
        let Narrowed { sql, params, .. } = self.reader.narrowed(&self.board, conditions, now);
        let mut all = self.reader.clock(&self.board, now);
        all.extend(params);
        let (row, from, held) = (self.rows.number(), self.board.joined(), self.board.is_held());
        let select = format!("SELECT claimtop_rows({row}) FROM {from} WHERE ({held}){sql}");
        let mut statement = prepared(connection, &select, &all)?;
        let mut answer = statement.raw_query();
        let packed: Vec<u8> = answer.next()?.map_or_else(|| Ok(Vec::new()), |row| row.get(0))?;
        Ok(RowSet::from(unpack(&packed).collect::<Vec<i64>>()))
    }
}

fn take_new(some: Vec<i64>, shown: &mut RowSet, rows: &mut Vec<RowRef>) {
    for rowid in some {
        if !shown.contains(rowid) {
            shown.insert(rowid);
            rows.push(RowRef::Number(rowid));
        }
    }
}
