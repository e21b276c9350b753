//! Claims found and kept by where they are, to be read in parts: a few bytes each, however many there are.

use super::actor::Actor;
use super::audit_table;
use super::candidate_queries;
use super::cell::number;
use super::error::PgError;
use super::link::{Link, Row};
use super::look::{self, rows_of, seen};
use super::named_params::array;
use super::reader::Watched;
use super::watch::{Watch, query};
use crate::domain::snapshot::Judged;
use crate::domain::time::Moment;
use crate::domain::verdict::{Reasons, Set};
use crate::store::found::Overdue;
use crate::store::seen::{Place, Seen, Spot};
use crate::store::{Filter, StoreError};

/// Rows that come with one answer of the cursor.
const FETCHED: usize = 5_000;
/// Places that one statement goes to: with more of them reading the whole table would seem cheaper.
const AT_ONCE: usize = 250;

/// Where a claim was: its board, its table (of a partitioned one the part) and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Spotted {
    profile: u32,
    board: u32,
    table: u32,
    spot: Spot,
}

impl Spotted {
    /// The place `16403(0,1)` of a row of this board.
    fn parse((profile, board): (usize, usize), place: &str) -> Option<Spotted> {
        let at = place.find('(')?;
        let (table, spot) = (place[..at].parse().ok()?, Spot::parse(&place[at..])?);
        Some(Spotted {
            profile: u32::try_from(profile).ok()?,
            board: u32::try_from(board).ok()?,
            table,
            spot,
        })
    }

    pub fn board(&self) -> (usize, usize) {
        (self.profile as usize, self.board as usize)
    }
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
        let (narrowed, mut params) = self.narrowed(filter.holder.as_deref(), filter.kind.as_deref());
        let (trouble, more) = self.trouble(now);
        params.extend(more);
        params.extend(self.clock(now));
        let priority = self.board.priority.as_deref().filter(|_| order == Order::UrgentFirst);
        let select = self.reader.select_ranked(priority);
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
        place: (usize, usize),
        filter: &Filter,
        order: Order,
    ) -> Result<Vec<Spotted>, PgError> {
        let wanted = filter.wanted();
        let mut found: Vec<(Rank, Spotted)> = Vec::new();
        self.each_troubled(link, now, filter, order, &mut |row, judged| {
            let reasons: Reasons = judged.verdict.reasons;
            let first = wanted.iter().position(|wanted| wanted.meet(reasons));
            let spotted = self.reader.place(row).and_then(|text| Spotted::parse(place, text));
            if let (Some(first), Some(spotted)) = (first, spotted) {
                let (first, urgency) = match order {
                    Order::UrgentFirst => (first, self.reader.rank(row)),
                    Order::WorstFirst => (0, 0),
                };
                let deadline = judged.verdict.deadline.map_or(i64::MAX, Moment::micros);
                found.push(((first, urgency, judged.verdict.headline(), deadline), spotted));
            }
        })?;
        found.sort_by_key(|(rank, _)| *rank);
        Ok(found.into_iter().map(|(_, spotted)| spotted).collect())
    }

    /// The claims at these places that are still there, in their order.
    pub fn at_spots<T>(
        &self,
        link: &mut Link,
        now: Moment,
        found: &[Spotted],
        select: &str,
        read: impl Fn(&Row) -> T,
    ) -> Result<Vec<T>, PgError> {
        let sql = format!("{select} AND c.ctid = ANY (:tids)");
        let mut all = Vec::with_capacity(found.len());
        for some in found.chunks(AT_ONCE) {
            let mut params = self.clock(now);
            params.add("tids", "tid[]", Some(array(some.iter().map(|one| Some(one.spot.to_string())))));
            let rows = query(link, &params, &sql)?;
            let place = |row: &Row| Spotted::parse(some[0].board(), self.reader.place(row)?);
            let mut here: Vec<(Spotted, &Row)> =
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
    pub fn places_of(&mut self, filter: &Filter) -> Result<Vec<Spotted>, StoreError> {
        let places = self.reader.places(filter.board.as_deref());
        self.reader.reading("looking for claims", |link, watched, now| {
            let mut found = Vec::new();
            for &(profile, board) in &places {
                let Some(watch) = at(watched, (profile, board)).filter(|watch| watch.board.has_rowid) else {
                    continue;
                };
                found.extend(watch.spotted(link, now, (profile, board), filter, Order::UrgentFirst)?);
            }
            Ok(found)
        })
    }

    /// Those of the claims that are still there, as they are now.
    pub fn look_at(&mut self, found: &[Spotted]) -> Result<Vec<Seen>, StoreError> {
        self.reader.reading("looking at claims", |link, watched, now| {
            let mut all = Vec::with_capacity(found.len());
            for some in found.chunk_by(|one, other| one.board() == other.board()) {
                let (profile, board) = some[0].board();
                let Some(watch) = at(watched, (profile, board)) else { continue };
                let place = Place { profile, board, rowid: 0 };
                let select = watch.reader.select_with(&rows_of(watch));
                all.extend(watch.at_spots(link, now, some, &select, |row| seen(watch, place, row, now))?);
            }
            Ok(all)
        })
    }

    /// How many claims a board has, and how many are past their deadline, counted by the server.
    pub fn count_overdue(&mut self, profile: usize, board: usize) -> Result<Option<Overdue>, StoreError> {
        self.reader.reading("counting", |link, watched, now| {
            let Some(watch) = at(watched, (profile, board)) else { return Ok(None) };
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

    /// Every act of a sweep in `claimtop_audit` since an instant.
    pub fn each_swept_since(
        &mut self,
        since: Moment,
        each: &mut dyn FnMut(&str, &str),
    ) -> Result<(), StoreError> {
        let Some(table) = self.reader.audit_table.clone() else { return Ok(()) };
        self.reader
            .aside("reading claimtop_audit", |link| audit_table::each_swept_since(link, &table, since, each))
    }
}

fn at(watched: &[Watched], (profile, board): (usize, usize)) -> Option<&Watch> {
    look::at(watched, Place { profile, board, rowid: 0 })
}
