//! One board under watch: its troubled claims from poll to poll.

mod gather;
mod signs;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::backlog::CountedBacklog;
use super::candidate_queries;
use super::dialect::MysqlDialect;
use super::rows;
use super::sessions;
use crate::domain::snapshot::{self, BoardSnapshot, Counts, Gaps, Judged, Sessions};
use crate::domain::time::Moment;
use crate::domain::verdict::{Reason, Set};
use crate::store::Prober;
use crate::store::bound::BoundBoard;
use crate::store::driver::{Connection, Failed, QueryRows};
use crate::store::found::RowRef;
use crate::store::listed::worse_first;
use crate::store::named_params::NamedParams;
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

/// A count that takes longer than this is a burden, and taken at most for this share of the time.
const BURDEN: Duration = Duration::from_millis(200);
const SHARE: u32 = 20;

const POLLING: &str = "polling";

/// A board and what is known of it.
#[derive(Debug)]
pub(super) struct Watch {
    pub board: BoundBoard,
    pub reader: RowReader,
    /// What each query found, where that is taken from an earlier poll.
    burdens: BTreeMap<usize, UnindexedQuery>,
    examined: ZoneExamination,
    /// How many claims there are, where that took long to count.
    counted: Option<CountedClaims>,
    prober: Option<Prober>,
    found: PollFindings,
    sessions: Option<Sessions>,
    backlog: CountedBacklog,
}

/// How many claims there were at an instant.
#[derive(Debug, Clone, Copy)]
struct CountedClaims {
    total: u64,
    /// There are more than were counted.
    more: bool,
    at: Moment,
    /// When they are counted again.
    next: Instant,
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
            sessions: self.sessions.clone(),
            backlog: self.backlog.states.clone(),
            oldest_queued: self.backlog.oldest_queued,
            worst: worst.clone().into(),
            gaps: Gaps {
                more: *more,
                total_since: None,
                reasons: if census.is_some() { reasons.keys().copied().collect() } else { Vec::new() },
                census,
                indexes: Vec::new(),
                backlog: self.backlog.more.clone(),
            },
        }
    }
}

impl Watch {
    pub(super) fn new(
        board: BoundBoard,
        dialect: &'static MysqlDialect,
        schema: &Schema,
        prober: Option<Prober>,
    ) -> Option<Watch> {
        let table: &Table = schema.table(&board.table)?;
        let registry = board.registry.as_ref().and_then(|registry| schema.table(&registry.table));
        let reader = rows::reader(&board, dialect, table, registry, prober.clone());
        Some(Watch {
            reader,
            burdens: BTreeMap::new(),
            examined: ZoneExamination::default(),
            counted: None,
            prober,
            found: PollFindings::default(),
            sessions: None,
            backlog: CountedBacklog::default(),
            board,
        })
    }

    /// The params that a profile's own expressions may name in reading.
    pub(super) fn clock(&self, now: Moment) -> NamedParams {
        self.reader.clock(&self.board, now)
    }

    /// The condition for a claim to be possibly in trouble, to be added to others.
    pub(super) fn trouble(&self, now: Moment) -> (String, NamedParams) {
        let Some(queries) = candidate_queries::queries(&self.board, now) else {
            return (String::new(), NamedParams::default());
        };
        let mut params = NamedParams::default();
        let mut all: Vec<String> = Vec::new();
        for query in queries {
            params.extend(query.params);
            all.push(query.sql);
        }
        // The kernel may know more than the tables.
        if let (Some(_), Some(pid)) = (&self.prober, &self.board.pid) {
            all.push(format!("({pid}) IS NOT NULL"));
        }
        let any = if all.is_empty() { "FALSE".into() } else { all.join(" OR ") };
        (format!(" AND ({any})"), params)
    }

    /// Brings everything up to `now`.
    pub(super) fn refresh(
        &mut self,
        connection: &mut dyn Connection,
        now: Moment,
        effort: Effort,
    ) -> Result<(), Failed> {
        self.remember_holders(connection)?;
        let counted = self.count(connection, now, effort.slice.saturating_mul(COUNTED_SLICES))?;
        let total = counted.total;
        let since = (counted.at < now).then_some(counted.at);
        let mut found = PollFindings { more: counted.more, since, ..PollFindings::default() };
        let mut claims = GatheredClaims::default();
        match candidate_queries::queries(&self.board, now) {
            Some(queries) if total > effort.slice as u64 => {
                self.gather_by_query(connection, now, &queries, &mut found, &mut claims)?;
            }
            _ => {
                let (condition, params) = self.trouble(now);
                // Who asks for everything gets it.
                let most = effort.slice.max(MOST);
                found.more |= self.gather_up_to(most, connection, now, &condition, params, &mut claims)?;
            }
        }
        self.ask_the_kernel(connection, now, &mut claims)?;
        found.counts.total = total;
        let mut worst = Vec::new();
        for (judged, place) in claims.all.into_iter().zip(claims.places) {
            if judged.verdict.headline() == Set::Healthy {
                continue;
            }
            found.counts.add(&judged.verdict);
            found.counts.total = total;
            for reason in judged.verdict.reasons.iter() {
                *found.reasons.entry(reason).or_default() += 1;
            }
            worst.push((place, judged));
        }
        found.counts.healthy = total.saturating_sub(worst.len() as u64);
        found.worst = self.with_tokens(connection, now, keep_worst(worst, effort.rows))?;
        self.found = found;
        let mut backlog = std::mem::take(&mut self.backlog);
        backlog.refresh(connection, self, now, effort)?;
        self.backlog = backlog;
        self.sessions = match &self.board.registry {
            Some(registry) => Some(sessions::count(connection, self, registry, now)?),
            None => None,
        };
        Ok(())
    }

    /// How many claims there are. What takes long to count is counted at most for a twentieth of the time.
    fn count(
        &mut self,
        connection: &mut dyn Connection,
        now: Moment,
        most: usize,
    ) -> Result<CountedClaims, Failed> {
        if let Some(known) = self.counted.filter(|known| Instant::now() < known.next) {
            return Ok(known);
        }
        let started = Instant::now();
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT 1 FROM {} WHERE {} LIMIT {}) AS counted",
            self.board.from,
            self.board.is_held(),
            most.saturating_add(1)
        );
        let count = connection.count(POLLING, &sql, &self.clock(now))?;
        let took = started.elapsed();
        let next = Instant::now() + took * SHARE;
        let counted =
            CountedClaims { total: count.min(most as u64), more: count > most as u64, at: now, next };
        self.counted = (took > BURDEN).then_some(counted);
        Ok(counted)
    }

    /// The same claims with what stands for their state.
    fn with_tokens(
        &self,
        connection: &mut dyn Connection,
        now: Moment,
        worst: Vec<(Option<RowRef>, Judged)>,
    ) -> Result<Vec<Judged>, Failed> {
        let places: Vec<RowRef> = worst.iter().filter_map(|(place, _)| place.clone()).collect();
        let mut fresh: Vec<(RowRef, Judged)> = Vec::new();
        for some in places.chunks(self.reader.dialect().places_at_once(&self.board)) {
            let mut params = self.clock(now);
            let is_among = self.reader.dialect().is_among(&self.board, some, &mut params);
            let sql = format!("{} AND {is_among}", self.reader.select_with_state(&[]));
            let read = connection.all(POLLING, &sql, &params, |row| {
                let place = row.text(0).and_then(|place| RowRef::parse(&place));
                place.map(|place| (place, self.reader.read_with_state(row, &self.board, now)))
            })?;
            fresh.extend(read.into_iter().flatten());
        }
        let mut fresh: std::collections::HashMap<RowRef, Judged> = fresh.into_iter().collect();
        let with_token = |(place, judged): (Option<RowRef>, Judged)| {
            place.and_then(|place| fresh.remove(&place)).unwrap_or(judged)
        };
        let mut all: Vec<Judged> = worst.into_iter().map(with_token).collect();
        all.sort_by(worse_first_then_by_key);
        Ok(all)
    }
}

/// A server returns equal rows in any order: without the key they would change places from poll to poll.
fn worse_first_then_by_key(one: &Judged, other: &Judged) -> std::cmp::Ordering {
    worse_first(one, other).then_with(|| one.claim.key.address().cmp(&other.claim.key.address()))
}

/// The worst `rows` of each set.
fn keep_worst(mut claims: Vec<(Option<RowRef>, Judged)>, rows: usize) -> Vec<(Option<RowRef>, Judged)> {
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
