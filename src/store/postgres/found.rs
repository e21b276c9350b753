//! The claims of a filter: where they are, a few bytes each, or each with its rows.

use super::candidate_queries;
use super::reader::Reader;
use super::rows::{self, rank, read_rank};
use super::watch::{Watch, query};
use crate::domain::board_id::BoardId;
use crate::domain::time::Moment;
use crate::domain::verdict::Set;
use crate::postgres::error::PgError;
use crate::postgres::link::{Link, Row};
use crate::store::conditions::Narrowed;
use crate::store::driver::Row as _;
use crate::store::found::{FoundBoard, Overdue, RowRef};
use crate::store::schema::Schema;
use crate::store::seen::Seen;
use crate::store::seen_reader::SeenReader;
use crate::store::selection::Selection;
use crate::store::watched;
use crate::store::{Filter, StoreError};

/// Rows that come with one answer of the cursor.
const FETCHED: usize = 5_000;

/// In which order claims are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundOrder {
    /// As they are acted on: what was looked for first, the most urgent, the worst.
    UrgentFirst,
    /// As they are shown.
    WorstFirst,
}

/// What decides which of two claims comes first.
type FoundRank = (usize, u32, Set, i64);

impl Watch {
    /// Hands on the claims of a filter that may be in trouble, as `select` selects them and page by page: all of
    /// them may be more than memory.
    fn each_troubled(
        &self,
        link: &mut Link,
        now: Moment,
        filter: &Filter,
        select: &str,
        each: &mut dyn FnMut(&Row),
    ) -> Result<(), PgError> {
        let Narrowed { sql: narrowed, mut params, .. } =
            self.reader.narrowed(&self.board, &filter.conditions, now);
        let (trouble, more) = self.trouble(now);
        params.extend(more);
        params.extend(self.clock(now));
        let declare = format!("DECLARE claimtop_found NO SCROLL CURSOR FOR {select}{narrowed}{trouble}");
        query(link, &params, &declare)?;
        let fetch = format!("FETCH FORWARD {FETCHED} FROM claimtop_found");
        loop {
            let rows = link.query(&fetch, &[])?;
            rows.iter().for_each(&mut *each);
            if rows.len() < FETCHED {
                return link.batch("CLOSE claimtop_found");
            }
        }
    }

    /// Adds the claims of a filter to a selection, each with its rows.
    fn select(
        &self,
        link: &mut Link,
        now: Moment,
        filter: &Filter,
        schema: &Schema,
        selection: &mut Selection,
    ) -> Result<(), PgError> {
        let Some(reader) = SeenReader::new(self, schema) else { return Ok(()) };
        let mut columns = reader.columns();
        columns.push(rank(self.board.priority.as_deref()));
        let (select, wanted) = (self.reader.select_with_state(&columns), filter.wanted());
        self.each_troubled(link, now, filter, &select, &mut |row| {
            let urgency = read_rank(row, row.len().saturating_sub(1));
            let seen = Seen { urgency, ..reader.read(row, now) };
            let is_meant = wanted.iter().any(|wanted| wanted.meet(seen.judged.verdict.reasons));
            if is_meant && filter.takes(&self.board.board_id, &seen.judged, now) {
                selection.push(seen, &filter.sets);
            }
        })
    }

    /// Where the claims of a filter are.
    pub(super) fn spotted(
        &self,
        link: &mut Link,
        now: Moment,
        filter: &Filter,
        order: FoundOrder,
    ) -> Result<Vec<RowRef>, PgError> {
        let wanted = filter.wanted();
        let mut found: Vec<(FoundRank, RowRef)> = Vec::new();
        let priority = self.board.priority.as_deref().filter(|_| order == FoundOrder::UrgentFirst);
        let select = self.reader.select_and(&[rank(priority)]);
        self.each_troubled(link, now, filter, &select, &mut |row| {
            let judged = self.reader.read(row, &self.board, now);
            let first = wanted.iter().position(|wanted| wanted.meet(judged.verdict.reasons));
            let first = first.filter(|_| {
                let mut conditions = filter.conditions.iter();
                conditions.all(|condition| condition.holds(&self.board.board_id, &judged, now))
            });
            let spotted = rows::place(row).and_then(RowRef::parse);
            if let (Some(first), Some(spotted)) = (first, spotted) {
                let (first, urgency) = match order {
                    FoundOrder::UrgentFirst => (first, read_rank(row, self.reader.state_at())),
                    FoundOrder::WorstFirst => (0, 0),
                };
                let deadline = judged.verdict.deadline.map_or(i64::MAX, Moment::micros);
                found.push(((first, urgency, judged.verdict.headline(), deadline), spotted));
            }
        })?;
        found.sort_by_key(|(rank, _)| *rank);
        Ok(found.into_iter().map(|(_, spotted)| spotted).collect())
    }
}

impl Reader {
    /// Where the claims are that a filter looks for.
    pub(super) fn places_of(&mut self, filter: &Filter) -> Result<Vec<FoundBoard>, StoreError> {
        self.reading("looking for claims", |reader, link, now| {
            let mut found = Vec::new();
            for watch in reader.actable(filter) {
                let rows = watch.spotted(link, now, filter, FoundOrder::UrgentFirst)?;
                found.push(FoundBoard { board: watch.board.board_id.clone(), rows });
            }
            Ok(found)
        })
    }

    /// The claims in the sets of a filter, worst first.
    pub(super) fn selection(&mut self, filter: &Filter) -> Result<Selection, StoreError> {
        let mut selection = self.reading("looking for claims", |reader, link, now| {
            let mut selection = Selection::default();
            for watch in reader.actable(filter) {
                watch.select(link, now, filter, &reader.schema, &mut selection)?;
            }
            Ok(selection)
        })?;
        selection.sort(filter);
        selection.truncate(filter.limit.unwrap_or(usize::MAX));
        Ok(selection)
    }

    /// The boards that a filter takes and whose rows can be acted on.
    fn actable<'a>(&'a self, filter: &'a Filter) -> impl Iterator<Item = &'a Watch> + 'a {
        let boards = self.watched.iter().flat_map(|watched| &watched.boards);
        boards.filter(|watch| watch.board.has_rowid && filter.takes_board(&watch.board.board_id))
    }

    /// How many claims a board has, and how many are past their deadline, counted by the server.
    pub(super) fn overdue(&mut self, board: &BoardId) -> Result<Option<Overdue>, StoreError> {
        self.reading("counting", |reader, link, now| {
            let Some((_, watch)) = watched::find(&reader.watched, board) else { return Ok(None) };
            let Some(overdue) = candidate_queries::overdue(&watch.board) else { return Ok(None) };
            let mut params = candidate_queries::params(std::slice::from_ref(&overdue), now);
            params.extend(watch.clock(now));
            let sql = format!(
                "SELECT count(*)::text, count(*) FILTER (WHERE {})::text FROM {} WHERE ({})",
                overdue.sql,
                watch.board.joined_if(false),
                watch.board.is_held()
            );
            let rows = query(link, &params, &sql)?;
            let count = |at| rows.first().map_or(0, |row| row.count(at));
            Ok(Some(Overdue { claims: count(1), of: count(0) }))
        })
    }
}
