//! Claims found and kept by where they are, to be read in parts: a few bytes each, however many there are.

use std::collections::HashMap;

use super::actor::Actor;
use super::candidate_queries;
use super::cell::number;
use super::error::PgError;
use super::link::{Link, Row};
use super::look::{rows_of, seen};
use super::named_params::array;
use super::rows::{self, rank, read_rank};
use super::watch::{Watch, query};
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::Judged;
use crate::domain::time::Moment;
use crate::domain::verdict::{Reasons, Set};
use crate::store::driver::Query;
use crate::store::driver::{self, Connection, Failed};
use crate::store::found::{FoundBoard, Overdue, RowRef};
use crate::store::seen::{Seen, Spot};
use crate::store::watched;
use crate::store::{Filter, StoreError};

/// Rows that come with one answer of the cursor.
const FETCHED: usize = 5_000;
/// Places that one statement goes to: with more of them reading the whole table would seem cheaper.
const AT_ONCE: usize = 250;

/// The row at a place such as `16403(0,1)`.
fn row_at(place: &str) -> Option<RowRef> {
    let at = place.find('(')?;
    Some(RowRef::Version { table: place[..at].parse().ok()?, spot: Spot::parse(&place[at..])? })
}

/// In which order claims are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As they are acted on: what was looked for first, the most urgent, the worst.
    UrgentFirst,
    /// As they are shown.
    WorstFirst,
}

/// What decides which of two claims comes first.
type Rank = (usize, u32, Set, i64);

impl Watch {
    /// The claims of a filter that may be in trouble, each as it comes: what was read is not kept.
    fn each_troubled(
        &self,
        link: &mut Link,
        now: Moment,
        filter: &Filter,
        order: Order,
        each: &mut dyn FnMut(&Row, &Judged),
    ) -> Result<(), PgError> {
        let (narrowed, mut params) =
            self.reader.narrowed(&self.board, filter.holder.as_deref(), filter.kind.as_deref());
        let (trouble, more) = self.trouble(now);
        params.extend(more);
        params.extend(self.clock(now));
        let priority = self.board.priority.as_deref().filter(|_| order == Order::UrgentFirst);
        let select = self.reader.select_and(&[rank(priority)]);
        let declare = format!("DECLARE claimtop_found NO SCROLL CURSOR FOR {select}{narrowed}{trouble}");
        query(link, &params, &declare)?;
        let fetch = format!("FETCH FORWARD {FETCHED} FROM claimtop_found");
        loop {
            let rows = link.query(&fetch, &[])?;
            for row in &rows {
                each(row, &self.reader.read(row, &self.board, now));
            }
            if rows.len() < FETCHED {
                break;
            }
        }
        link.batch("CLOSE claimtop_found")
    }

    /// Where the claims of a filter are.
    pub fn spotted(
        &self,
        link: &mut Link,
        now: Moment,
        filter: &Filter,
        order: Order,
    ) -> Result<Vec<RowRef>, PgError> {
        let wanted = filter.wanted();
        let mut found: Vec<(Rank, RowRef)> = Vec::new();
        self.each_troubled(link, now, filter, order, &mut |row, judged| {
            let reasons: Reasons = judged.verdict.reasons;
            let first = wanted.iter().position(|wanted| wanted.meet(reasons));
            let spotted = rows::place(row).and_then(row_at);
            if let (Some(first), Some(spotted)) = (first, spotted) {
                let (first, urgency) = match order {
                    Order::UrgentFirst => (first, read_rank(row, self.reader.state_at())),
                    Order::WorstFirst => (0, 0),
                };
                let deadline = judged.verdict.deadline.map_or(i64::MAX, Moment::micros);
                found.push(((first, urgency, judged.verdict.headline(), deadline), spotted));
            }
        })?;
        found.sort_by_key(|(rank, _)| *rank);
        Ok(found.into_iter().map(|(_, spotted)| spotted).collect())
    }

    /// The same with their tokens and nothing else, on any connection.
    pub(super) fn fetch_at(
        &self,
        connection: &mut dyn Connection,
        found: &[RowRef],
        now: Moment,
    ) -> Result<Vec<Judged>, Failed> {
        let sql = format!("{} AND c.ctid = ANY (:tids)", self.reader.select_with_state(&[]));
        let mut all = Vec::with_capacity(found.len());
        for some in found.chunks(AT_ONCE) {
            let mut params = self.clock(now);
            params.add("tids", "tid[]", Some(array(some.iter().map(spot))));
            let read =
                |row: &dyn driver::Row| (row.text(0), self.reader.read_with_state(row, &self.board, now));
            let rows = connection.all("looking at claims", &sql, &params, read)?;
            let mut here: HashMap<RowRef, Judged> =
                rows.into_iter().filter_map(|(place, judged)| Some((row_at(&place?)?, judged))).collect();
            all.extend(some.iter().filter_map(|wanted| here.remove(wanted)));
        }
        Ok(all)
    }

    /// The claims at these places that are still there, in their order.
    pub fn at_spots<T>(
        &self,
        link: &mut Link,
        now: Moment,
        found: &[RowRef],
        select: &str,
        read: impl Fn(&Row) -> T,
    ) -> Result<Vec<T>, PgError> {
        let sql = format!("{select} AND c.ctid = ANY (:tids)");
        let mut all = Vec::with_capacity(found.len());
        for some in found.chunks(AT_ONCE) {
            let mut params = self.clock(now);
            params.add("tids", "tid[]", Some(array(some.iter().map(spot))));
            let rows = query(link, &params, &sql)?;
            let place = |row: &Row| row_at(rows::place(row)?);
            let mut here: Vec<(RowRef, &Row)> =
                rows.iter().filter_map(|row| Some((place(row)?, row))).collect();
            for wanted in some {
                // Of a partitioned table several rows are at one place, each in a part of its own.
                if let Some(at) = here.iter().position(|(spotted, _)| spotted == wanted) {
                    all.push(read(here.swap_remove(at).1));
                }
            }
        }
        Ok(all)
    }
}

impl Actor {
    /// Where the claims are that a filter looks for.
    pub fn places_of(&mut self, filter: &Filter) -> Result<Vec<FoundBoard>, StoreError> {
        self.reader.reading("looking for claims", |link, watched, now| {
            let mut found = Vec::new();
            for watch in watched.iter().flat_map(|watched| &watched.boards) {
                if watch.board.has_rowid && filter.takes_board(&watch.board.name) {
                    let rows = watch.spotted(link, now, filter, Order::UrgentFirst)?;
                    found.push(FoundBoard { board: watch.board.board_id.clone(), rows });
                }
            }
            Ok(found)
        })
    }

    /// Those of the claims that are still there, as they are now.
    pub fn look_at(&mut self, found: &[(&BoardId, &[RowRef])]) -> Result<Vec<Seen>, StoreError> {
        self.reader.reading("looking at claims", |link, watched, now| {
            let mut all = Vec::new();
            for (board, some) in found {
                let Some((_, watch)) = watched::find(watched, board) else { continue };
                let select = watch.reader.select_with_state(&rows_of(watch));
                all.extend(watch.at_spots(link, now, some, &select, |row| seen(watch, row, now))?);
            }
            Ok(all)
        })
    }

    /// How many claims a board has, and how many are past their deadline, counted by the server.
    pub fn count_overdue(&mut self, board: &BoardId) -> Result<Option<Overdue>, StoreError> {
        self.reader.reading("counting", |link, watched, now| {
            let Some((_, watch)) = watched::find(watched, board) else { return Ok(None) };
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
            let count = |at| rows.first().and_then(|row| number(row, at).int()).unwrap_or(0).max(0);
            Ok(Some(Overdue { claims: count(1).unsigned_abs(), of: count(0).unsigned_abs() }))
        })
    }
}

fn spot(row: &RowRef) -> Option<String> {
    match row {
        RowRef::Version { spot, .. } => Some(spot.to_string()),
        // What was found on another engine is not here.
        RowRef::Number(_) => None,
    }
}
