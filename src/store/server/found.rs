//! The claims of a filter: where they are, a few bytes each, or each with its rows.

use super::WatchedProfile;
use super::candidate_queries;
use super::watch::Watch;
use crate::domain::board_id::BoardId;
use crate::domain::time::Moment;
use crate::domain::verdict::Set;
use crate::store::conditions::Narrowed;
use crate::store::driver::{Connection, Failed, OnRow, QueryRows, Row};
use crate::store::found::{FoundBoard, Overdue, RowRef};
use crate::store::schema::Schema;
use crate::store::seen::Seen;
use crate::store::seen_reader::SeenReader;
use crate::store::selection::Selection;
use crate::store::{Filter, watched};

/// In which order claims are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum FoundOrder {
    /// As they are acted on: what was looked for first, the most urgent, the worst.
    UrgentFirst,
    /// As they are shown.
    WorstFirst,
}

/// What decides which of two claims comes first.
type FoundRank = (usize, u32, Set, i64);

const FINDING: &str = "looking for claims";
const COUNTING: &str = "counting";

impl Watch {
    /// Hands on the claims of a filter that may be in trouble, as `select` selects them and page by page: all of
    /// them may be more than memory.
    fn each_troubled(
        &self,
        connection: &mut dyn Connection,
        now: Moment,
        filter: &Filter,
        select: &str,
        each: &mut OnRow<'_>,
    ) -> Result<(), Failed> {
        let Narrowed { sql: narrowed, mut params, .. } =
            self.reader.narrowed(&self.board, &filter.conditions, now);
        let (trouble, more) = self.trouble(now);
        params.extend(more);
        params.extend(self.clock(now));
        connection.page_through(FINDING, &format!("{select}{narrowed}{trouble}"), &params, each)
    }

    /// The rank of a claim by its priority, as a column.
    fn rank(&self, order: FoundOrder) -> String {
        match self.board.priority.as_deref().filter(|_| order == FoundOrder::UrgentFirst) {
            Some(sql) => self.sql.selected(&format!("DENSE_RANK() OVER (ORDER BY ({sql}) IS NULL, ({sql}))")),
            None => "NULL".into(),
        }
    }

    /// Adds the claims of a filter to a selection, each with its rows.
    fn select(
        &self,
        connection: &mut dyn Connection,
        now: Moment,
        filter: &Filter,
        schema: &Schema,
        selection: &mut Selection,
    ) -> Result<(), Failed> {
        let Some(reader) = SeenReader::new(self, schema) else { return Ok(()) };
        let mut columns = reader.columns();
        columns.push(self.rank(FoundOrder::UrgentFirst));
        let (select, wanted) = (self.reader.select_with_state(&columns), filter.wanted());
        self.each_troubled(connection, now, filter, &select, &mut |row| {
            let seen = Seen { urgency: read_rank(row, reader.width()), ..reader.read(row, now) };
            let is_meant = wanted.iter().any(|wanted| wanted.meet(seen.judged.verdict.reasons));
            if is_meant && filter.takes(&self.board.board_id, &seen.judged, now) {
                selection.push(seen, &filter.sets);
            }
        })
    }

    /// Where the claims of a filter are.
    pub(in crate::store) fn spotted(
        &self,
        connection: &mut dyn Connection,
        now: Moment,
        filter: &Filter,
        order: FoundOrder,
    ) -> Result<Vec<RowRef>, Failed> {
        let wanted = filter.wanted();
        let mut found: Vec<(FoundRank, RowRef)> = Vec::new();
        let select = self.reader.select_and(&[self.rank(order)]);
        self.each_troubled(connection, now, filter, &select, &mut |row| {
            let judged = self.reader.read(row, &self.board, now);
            let first = wanted.iter().position(|wanted| wanted.meet(judged.verdict.reasons));
            let first = first.filter(|_| {
                let mut conditions = filter.conditions.iter();
                conditions.all(|condition| condition.holds(&self.board.board_id, &judged, now))
            });
            let place = row.text(0).and_then(|place| RowRef::parse(&place));
            if let (Some(first), Some(place)) = (first, place) {
                let (first, urgency) = match order {
                    FoundOrder::UrgentFirst => (first, read_rank(row, self.reader.state_at())),
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

/// The rank in a column.
fn read_rank(row: &dyn Row, at: usize) -> u32 {
    row.number(at).int().and_then(|rank| u32::try_from(rank).ok()).unwrap_or(0)
}

/// The boards that a filter takes and whose rows can be acted on.
fn actable<'a>(watched: &'a [WatchedProfile], filter: &'a Filter) -> impl Iterator<Item = &'a Watch> {
    let boards = watched.iter().flat_map(|watched| &watched.boards);
    boards.filter(|watch| watch.board.is_addressable() && filter.takes_board(&watch.board.board_id))
}

/// Where the claims are that a filter looks for, on every board whose rows can be told apart.
pub(in crate::store) fn find_all(
    watched: &[WatchedProfile],
    connection: &mut dyn Connection,
    now: Moment,
    filter: &Filter,
) -> Result<Vec<FoundBoard>, Failed> {
    let mut found = Vec::new();
    for watch in actable(watched, filter) {
        let rows = watch.spotted(connection, now, filter, FoundOrder::UrgentFirst)?;
        found.push(FoundBoard { board: watch.board.board_id.clone(), rows });
    }
    Ok(found)
}

/// The claims in the sets of a filter, worst first.
pub(in crate::store) fn select_all(
    watched: &[WatchedProfile],
    connection: &mut dyn Connection,
    now: Moment,
    filter: &Filter,
    schema: &Schema,
) -> Result<Selection, Failed> {
    let mut selection = Selection::default();
    for watch in actable(watched, filter) {
        watch.select(connection, now, filter, schema, &mut selection)?;
    }
    selection.sort(filter);
    selection.truncate(filter.limit.unwrap_or(usize::MAX));
    Ok(selection)
}

/// How many claims a board has, and how many are past their deadline, counted by the server.
pub(in crate::store) fn overdue(
    watched: &[WatchedProfile],
    connection: &mut dyn Connection,
    now: Moment,
    board: &BoardId,
) -> Result<Option<Overdue>, Failed> {
    let Some((_, watch)) = watched::find(watched, board) else { return Ok(None) };
    let Some(overdue) = candidate_queries::overdue(&watch.board, watch.sql, now) else { return Ok(None) };
    let mut params = overdue.params;
    params.extend(watch.clock(now));
    let (from, held) = (watch.board.joined_if(false), watch.board.is_held());
    let late = watch.sql.selected(&format!("COUNT(CASE WHEN {} THEN 1 END)", overdue.sql));
    let sql = format!("SELECT {}, {late} FROM {from} WHERE ({held})", watch.sql.selected("COUNT(*)"));
    connection.first(COUNTING, &sql, &params, |row| Overdue { claims: row.count(1), of: row.count(0) })
}
