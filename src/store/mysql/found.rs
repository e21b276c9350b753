//! The claims of a filter: where they are, a few bytes each.

use super::candidate_queries;
use super::reader::Reader;
use super::watch::Watch;
use crate::domain::board_id::BoardId;
use crate::domain::time::Moment;
use crate::domain::verdict::Set;
use crate::store::conditions::Narrowed;
use crate::store::driver::{Connection, Failed, QueryRows};
use crate::store::found::{FoundBoard, Overdue, RowRef};
use crate::store::watched;
use crate::store::{Filter, StoreError};

/// In which order claims are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundOrder {
    /// As they are acted on: what was looked for first, the most urgent, the worst.
    UrgentFirst,
    /// As they are shown.
    WorstFirst,
}

/// What decides which of two claims comes first.
type FoundRank = (usize, i64, Set, i64);

const FINDING: &str = "looking for claims";

impl Watch {
    /// Where the claims of a filter are.
    pub(super) fn spotted(
        &self,
        connection: &mut dyn Connection,
        now: Moment,
        filter: &Filter,
        order: FoundOrder,
    ) -> Result<Vec<RowRef>, Failed> {
        let wanted = filter.wanted();
        let priority = self.board.priority.as_deref().filter(|_| order == FoundOrder::UrgentFirst);
        let rank = match priority {
            Some(sql) => format!("DENSE_RANK() OVER (ORDER BY ({sql}) IS NULL, ({sql}))"),
            None => "0".into(),
        };
        let Narrowed { sql: narrowed, mut params, .. } =
            self.reader.narrowed(&self.board, &filter.conditions, now);
        let (trouble, more) = self.trouble(now);
        params.extend(more);
        params.extend(self.clock(now));
        let sql = format!("{}{narrowed}{trouble}", self.reader.select_and(&[rank]));
        let mut found: Vec<(FoundRank, RowRef)> = Vec::new();
        connection.each(FINDING, &sql, &params, &mut |row| {
            let judged = self.reader.read(row, &self.board, now);
            let first = wanted.iter().position(|wanted| wanted.meet(judged.verdict.reasons));
            let holds =
                filter.conditions.iter().all(|condition| condition.holds(&self.board.board_id, &judged, now));
            let place = row.text(0).and_then(|place| RowRef::parse(&place));
            if let (Some(first), true, Some(place)) = (first, holds, place) {
                let (first, urgency) = match order {
                    FoundOrder::UrgentFirst => (first, row.number(self.reader.state_at()).int().unwrap_or(0)),
                    FoundOrder::WorstFirst => (0, 0),
                };
                let deadline = judged.verdict.deadline.map_or(i64::MAX, Moment::micros);
                found.push(((first, urgency, judged.verdict.headline(), deadline), place));
            }
        })?;
        found.sort_by_key(|(rank, _)| *rank);
        Ok(found.into_iter().map(|(_, place)| place).collect())
    }
}

impl Reader {
    /// Where the claims are that a filter looks for, on every board whose rows can be told apart.
    pub(super) fn places_of(&mut self, filter: &Filter) -> Result<Vec<FoundBoard>, StoreError> {
        self.reading(FINDING, |reader, connection, now| {
            let mut found = Vec::new();
            let boards = reader.watched.iter().flat_map(|watched| &watched.boards);
            for watch in boards.filter(|watch| filter.takes_board(&watch.board.board_id)) {
                if watch.board.is_addressable() {
                    let rows = watch.spotted(connection, now, filter, FoundOrder::UrgentFirst)?;
                    found.push(FoundBoard { board: watch.board.board_id.clone(), rows });
                }
            }
            Ok(found)
        })
    }

    /// How many claims a board has, and how many are past their deadline, counted by the server.
    pub(super) fn overdue(&mut self, board: &BoardId) -> Result<Option<Overdue>, StoreError> {
        self.reading("counting", |reader, connection, now| {
            let Some((_, watch)) = watched::find(&reader.watched, board) else { return Ok(None) };
            let Some(overdue) = candidate_queries::overdue(&watch.board, now) else { return Ok(None) };
            let mut params = overdue.params;
            params.extend(watch.clock(now));
            let (from, held) = (watch.board.joined_if(false), watch.board.is_held());
            let sql = format!("SELECT COUNT(*), SUM({}) FROM {from} WHERE ({held})", overdue.sql);
            connection
                .first("counting", &sql, &params, |row| Overdue { claims: row.count(1), of: row.count(0) })
        })
    }
}
