//! One board under watch: its troubled claims from poll to poll.

mod gather;
mod signs;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::backlog;
use super::candidate_queries::{self, CandidateQuery};
use super::indexes;
use super::named_params::{NamedParams, array};
use super::rows;
use super::surroundings::Surroundings;
use crate::domain::snapshot::{self, BoardSnapshot, Counts, Gaps, Judged};
use crate::domain::time::Moment;
use crate::domain::verdict::{Reason, Set};
use crate::postgres::error::PgError;
use crate::postgres::link::{Link, Row};
use crate::store::Prober;
use crate::store::bound::BoundBoard;
use crate::store::driver::Row as _;
use crate::store::listed::worse_first;
use crate::store::options::Effort;
use crate::store::rows::RowReader;
use crate::store::schema::{Schema, Table};
use crate::store::watched::WatchedBoard;
use gather::{GatheredClaims, UnindexedQuery};
use signs::ZoneExamination;

/// Claims that one query may bring in; more are only said to be there.
pub(super) const MOST: usize = 20_000;
/// Claims are counted up to this many slices of the effort; beyond there are "more than".
const COUNTED_SLICES: usize = 50;

/// A board and what is known of it.
#[derive(Debug)]
pub(super) struct Watch {
    pub board: BoundBoard,
    pub reader: RowReader,
    pub table: Table,
    pub registry: Option<Table>,
    /// The ways into trouble; nothing, if every claim has to be looked at.
    queries: Option<Vec<CandidateQuery>>,
    /// What each query found, where that is taken from an earlier poll.
    burdens: BTreeMap<usize, UnindexedQuery>,
    examined: ZoneExamination,
    holder_is_indexed: bool,
    /// Statements that would add the indexes it lacks.
    missing_indexes: Vec<String>,
    prober: Option<Prober>,
    found: PollFindings,
    backlog: backlog::Plan,
    surroundings: Surroundings,
}

/// What a poll found.
#[derive(Debug, Default)]
struct PollFindings {
    counts: Counts,
    reasons: BTreeMap<Reason, u64>,
    worst: Vec<Judged>,
    /// There are more claims, or more in trouble, than were counted.
    more: bool,
    /// The oldest of the looks that it rests on, if that is not this poll's.
    since: Option<Moment>,
}

impl WatchedBoard for Watch {
    fn bound(&self) -> &BoundBoard {
        &self.board
    }

    fn rows(&self) -> &RowReader {
        &self.reader
    }

    fn total(&self) -> u64 {
        self.found.counts.total
    }

    fn snapshot(&self, now: Moment) -> BoardSnapshot {
        let PollFindings { counts, reasons, worst, more, since } = &self.found;
        let census = (*more || since.is_some()).then(|| snapshot::Census {
            looked_at: counts.total,
            since: since.unwrap_or(now),
            complete: false,
        });
        BoardSnapshot {
            board: self.board.name.clone(),
            nature: Arc::clone(&self.board.nature),
            counts: *counts,
            reasons: reasons.clone(),
            sessions: self.surroundings.sessions.clone(),
            backlog: self.surroundings.backlog.states.clone(),
            oldest_queued: self.surroundings.backlog.oldest_queued,
            worst: worst.clone().into(),
            gaps: Gaps {
                more: *more,
                total_since: None,
                reasons: if census.is_some() { reasons.keys().copied().collect() } else { Vec::new() },
                census,
                indexes: self.missing_indexes.clone(),
                backlog: self.surroundings.backlog.more.clone(),
            },
        }
    }
}

impl Watch {
    pub(super) fn new(board: BoundBoard, schema: &Schema, prober: Option<Prober>) -> Option<Watch> {
        let table = schema.table(&board.table)?.clone();
        let registry = board.registry.as_ref().and_then(|registry| schema.table(&registry.table)).cloned();
        let reader = rows::reader(&board, &table, registry.as_ref(), prober.clone());
        let queries = candidate_queries::queries(&board);
        Some(Watch {
            reader,
            table,
            registry,
            queries,
            burdens: BTreeMap::new(),
            examined: ZoneExamination::default(),
            holder_is_indexed: false,
            missing_indexes: Vec::new(),
            prober,
            found: PollFindings::default(),
            backlog: backlog::Plan::default(),
            surroundings: Surroundings::default(),
            board,
        })
    }

    /// Learns what the indexes of its tables can answer.
    pub(super) fn plan(&mut self, link: &mut Link, now: Moment, effort: Effort) -> Result<(), PgError> {
        self.backlog = backlog::Plan::make(link, self, now, effort)?;
        self.missing_indexes = indexes::missing(link, self, now, effort)?;
        let column = self.board.holder.as_ref().and_then(|holder| holder.column.clone());
        if let Some(column) = column {
            let sql = "SELECT EXISTS (SELECT FROM pg_index AS i JOIN pg_attribute AS a
                 ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
                 WHERE i.indrelid = ($1::text)::regclass AND i.indisvalid AND a.attname = $2::text)::text";
            let rows = link.query(sql, &[Some(&self.table.sql), Some(&column)])?;
            self.holder_is_indexed = rows.first().is_some_and(|row| row.is_true(0));
        }
        Ok(())
    }

    /// Whether a claim whose row has not changed says what it said, but for the time that has passed.
    pub(super) fn rests_on_its_row(&self) -> bool {
        self.registry.is_none() && !self.board.moves() && rows::rests_on_its_row(&self.reader, &self.table)
    }

    /// The params that a profile's own expressions may name in reading.
    pub(super) fn clock(&self, now: Moment) -> NamedParams {
        self.reader.clock(&self.board, now)
    }

    /// The condition for a claim to be possibly in trouble, to be added to others.
    pub(super) fn trouble(&self, now: Moment) -> (String, NamedParams) {
        match &self.queries {
            None => (String::new(), NamedParams::default()),
            Some(queries) => {
                let all: Vec<&str> = queries.iter().map(|query| query.sql.as_str()).collect();
                let any = if all.is_empty() { "FALSE".into() } else { all.join(" OR ") };
                // The kernel may know more than the tables.
                let any = match (&self.prober, &self.board.pid) {
                    (Some(_), Some(pid)) => format!("{any} OR ({pid}) IS NOT NULL"),
                    _ => any,
                };
                (format!(" AND ({any})"), candidate_queries::params(queries, now))
            }
        }
    }

    /// Brings everything up to `now`.
    pub(super) fn refresh(&mut self, link: &mut Link, now: Moment, effort: Effort) -> Result<(), PgError> {
        self.remember_holders(link)?;
        let counted = self.count(link, now, effort.slice.saturating_mul(COUNTED_SLICES))?;
        let large = counted.0 > effort.slice as u64;
        let mut found = PollFindings { more: counted.1, ..PollFindings::default() };
        let mut claims = GatheredClaims::default();
        if large && self.queries.is_some() {
            self.gather_by_arms(link, now, &mut found, &mut claims)?;
        } else {
            let (condition, params) = self.trouble(now);
            // Who asks for everything gets it.
            let most = effort.slice.max(MOST);
            found.more |= self.gather_up_to(most, link, now, &condition, params, &mut claims)?;
        }
        self.ask_the_kernel(link, now, &mut claims)?;
        let mut worst = Vec::new();
        found.counts.total = counted.0;
        for (judged, place) in claims.all.into_iter().zip(claims.places) {
            if judged.verdict.headline() == Set::Healthy {
                continue;
            }
            let total = found.counts.total;
            found.counts.add(&judged.verdict);
            found.counts.total = total;
            for reason in judged.verdict.reasons.iter() {
                *found.reasons.entry(reason).or_default() += 1;
            }
            worst.push((place, judged));
        }
        found.counts.healthy = found.counts.total.saturating_sub(worst.len() as u64);
        found.worst = self.with_tokens(link, now, keep_worst(worst, effort.rows))?;
        self.found = found;
        self.surroundings = Surroundings::look(link, self, &self.backlog, now, &self.surroundings)?;
        Ok(())
    }

    /// How many claims there are, and whether there are more than were counted.
    fn count(&self, link: &mut Link, now: Moment, most: usize) -> Result<(u64, bool), PgError> {
        let sql = format!(
            "SELECT count(*)::text FROM (SELECT FROM {} WHERE {} LIMIT {}) AS counted",
            self.board.from,
            self.board.is_held(),
            limit(most)
        );
        let rows = query(link, &self.clock(now), &sql)?;
        let count = rows.first().map_or(0, |row| row.count(0));
        Ok((count.min(most as u64), count > most as u64))
    }

    /// The same claims with what stands for their state.
    fn with_tokens(
        &self,
        link: &mut Link,
        now: Moment,
        worst: Vec<(Option<String>, Judged)>,
    ) -> Result<Vec<Judged>, PgError> {
        let mut all: Vec<Judged> = Vec::with_capacity(worst.len());
        let places: Vec<&str> = worst.iter().filter_map(|(place, _)| place.as_deref()).collect();
        let mut tokens: BTreeMap<String, Judged> = BTreeMap::new();
        if !places.is_empty() {
            for (place, judged) in self.fetch_places(link, now, &places)? {
                tokens.insert(place, judged);
            }
        }
        for (place, judged) in worst {
            let fresh = place.and_then(|place| tokens.remove(&place));
            all.push(fresh.unwrap_or(judged));
        }
        all.sort_by(worse_first_then_by_key);
        Ok(all)
    }

    /// Claims with their tokens, by where they are in this transaction.
    fn fetch_places(
        &self,
        link: &mut Link,
        now: Moment,
        places: &[&str],
    ) -> Result<Vec<(String, Judged)>, PgError> {
        let tids = places.iter().map(|place| place.find('(').map(|at| &place[at..]));
        let mut params = self.clock(now);
        params.add("tids", "tid[]", Some(array(tids)));
        let sql = format!("{} AND c.ctid = ANY (:tids)", self.reader.select_with_state(&[]));
        let rows = query(link, &params, &sql)?;
        let read = |row: &Row| {
            Some((rows::place(row)?.to_owned(), self.reader.read_with_state(row, &self.board, now)))
        };
        Ok(rows.iter().filter_map(read).collect())
    }
}

/// Runs a statement that names its values.
pub(super) fn query(link: &mut Link, params: &NamedParams, sql: &str) -> Result<Vec<Row>, PgError> {
    let put = params.put_into(sql);
    link.query(&put.sql, &put.values())
}

/// One more than this, to see whether there are more.
fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX).saturating_add(1)
}

/// A server returns equal rows in any order: without the key they would change places from poll to poll.
fn worse_first_then_by_key(one: &Judged, other: &Judged) -> Ordering {
    worse_first(one, other).then_with(|| one.claim.key.address().cmp(&other.claim.key.address()))
}

/// The worst `rows` of each set.
fn keep_worst(mut claims: Vec<(Option<String>, Judged)>, rows: usize) -> Vec<(Option<String>, Judged)> {
    claims.sort_by(|(_, one), (_, other)| worse_first_then_by_key(one, other));
    let mut left = [rows; Set::ALL.len()];
    claims.retain(|(_, judged)| {
        let mut wanted = false;
        for (at, set) in Set::ALL.into_iter().enumerate() {
            if judged.verdict.is_in(set) && left[at] > 0 {
                left[at] -= 1;
                wanted = true;
            }
        }
        wanted
    });
    claims
}
