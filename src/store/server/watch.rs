//! One board under watch: its troubled claims from poll to poll.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::backlog::{BacklogPlan, CountedBacklog};
use super::candidate_queries;
use super::gather::{ClaimsAsked, GatheredClaims, MOST, StateRead, UnindexedQuery};
use super::sessions;
use super::sql::ServerSql;
use super::zone_signs::ZoneExamination;
use super::{POLLING, one_more};
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

/// Claims are counted up to this many slices of the effort; beyond there are "more than".
const COUNTED_SLICES: usize = 50;

/// So many claims are read in full where the table is read in any case.
const FEW: usize = 5_000;

/// What takes longer than this is a burden, and asked at most for this share of the time.
pub(super) const BURDEN: Duration = Duration::from_millis(200);
pub(super) const SHARE: u32 = 20;

/// A board and what is known of it.
#[derive(Debug)]
pub(in crate::store) struct Watch {
    pub board: BoundBoard,
    pub reader: RowReader,
    pub table: Table,
    pub registry: Option<Table>,
    pub plan: WatchPlan,
    pub(super) sql: &'static dyn ServerSql,
    /// What each query found, where that is taken from an earlier poll.
    pub(super) burdens: BTreeMap<String, UnindexedQuery>,
    pub(super) examined: ZoneExamination,
    /// How many claims there were at the last poll, and how those in trouble are read at the next.
    last_total: Option<u64>,
    pub(super) state_read: StateRead,
    /// How many claims there are, where that took long to count.
    counted: Option<CountedClaims>,
    pub(super) prober: Option<Prober>,
    found: PollFindings,
    sessions: Option<Sessions>,
    backlog: CountedBacklog,
}

/// What the indexes of a board's tables can answer.
#[derive(Debug, Default)]
pub(in crate::store) struct WatchPlan {
    pub holder_is_indexed: bool,
    /// No index leads to the claims: every look at them reads the table from end to end.
    pub reads_all: bool,
    /// Statements that would add the indexes it lacks.
    pub missing_indexes: Vec<String>,
    pub backlog: BacklogPlan,
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
pub(super) struct PollFindings {
    counts: Counts,
    reasons: BTreeMap<Reason, u64>,
    worst: Vec<Judged>,
    /// There are more claims, or more in trouble, than were counted.
    pub(super) more: bool,
    /// The oldest of the looks that it rests on, if that is not this poll's.
    pub(super) since: Option<Moment>,
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
                indexes: self.plan.missing_indexes.clone(),
                backlog: self.backlog.more.clone(),
            },
        }
    }
}

impl Watch {
    pub(in crate::store) fn new(
        board: BoundBoard,
        sql: &'static dyn ServerSql,
        schema: &Schema,
        prober: Option<Prober>,
    ) -> Option<Watch> {
        let table = schema.table(&board.table)?.clone();
        let registry = board.registry.as_ref().and_then(|registry| schema.table(&registry.table)).cloned();
        let layout = sql.row_layout(&board, &table, registry.as_ref());
        let reader = RowReader::new(&board, sql, layout, prober.clone());
        Some(Watch {
            reader,
            table,
            registry,
            plan: WatchPlan::default(),
            sql,
            burdens: BTreeMap::new(),
            examined: ZoneExamination::default(),
            last_total: None,
            state_read: StateRead::default(),
            counted: None,
            prober,
            found: PollFindings::default(),
            sessions: None,
            backlog: CountedBacklog::default(),
            board,
        })
    }

    pub(in crate::store) fn with_plan(self, plan: WatchPlan) -> Watch {
        Watch { plan, ..self }
    }

    /// The params that a profile's own expressions may name in reading.
    pub(in crate::store) fn clock(&self, now: Moment) -> NamedParams {
        self.reader.clock(&self.board, now)
    }

    /// The condition for a claim to be possibly in trouble, to be added to others.
    pub(super) fn trouble(&self, now: Moment) -> (String, NamedParams) {
        let Some(queries) = candidate_queries::queries(&self.board, self.sql, now) else {
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
    pub(in crate::store) fn refresh(
        &mut self,
        connection: &mut dyn Connection,
        now: Moment,
        effort: Effort,
    ) -> Result<(), Failed> {
        self.remember_holders(connection)?;
        let mut found = PollFindings::default();
        let mut claims = GatheredClaims::default();
        let total = match self.gather_all(connection, now, &mut claims)? {
            Some(total) => total,
            None => self.gather_troubled(connection, now, effort, &mut found, &mut claims)?,
        };
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
        let few = worst.len() <= effort.rows;
        found.worst = self.with_tokens(connection, now, keep_worst(worst, effort.rows))?;
        self.state_read = if few { StateRead::Along } else { StateRead::Apart };
        self.last_total = Some(total);
        self.found = found;
        let mut backlog = std::mem::take(&mut self.backlog);
        backlog.refresh(connection, self, now)?;
        self.backlog = backlog;
        self.sessions = match &self.board.registry {
            Some(registry) => Some(sessions::count(connection, self, registry, now)?),
            None => None,
        };
        Ok(())
    }

    /// Reads every claim of a table that no index spares us to read in full, and how many they are; nothing, if they
    /// are many, or nobody knows yet. That is one pass over the table instead of two.
    fn gather_all(
        &self,
        connection: &mut dyn Connection,
        now: Moment,
        claims: &mut GatheredClaims,
    ) -> Result<Option<u64>, Failed> {
        if !self.plan.reads_all || self.last_total.is_none_or(|total| total > FEW as u64) {
            return Ok(None);
        }
        let (params, state) = (NamedParams::default(), StateRead::Apart);
        let asked = ClaimsAsked { condition: "", params, most: 2 * FEW, state };
        if self.gather(connection, now, asked, claims)? {
            *claims = GatheredClaims::default();
            return Ok(None);
        }
        Ok(Some(claims.all.len() as u64))
    }

    /// Reads the claims that may be in trouble; how many there are in all.
    fn gather_troubled(
        &mut self,
        connection: &mut dyn Connection,
        now: Moment,
        effort: Effort,
        found: &mut PollFindings,
        claims: &mut GatheredClaims,
    ) -> Result<u64, Failed> {
        let counted = self.count(connection, now, effort.slice.saturating_mul(COUNTED_SLICES))?;
        found.more = counted.more;
        found.since = (counted.at < now).then_some(counted.at);
        match candidate_queries::queries(&self.board, self.sql, now) {
            Some(queries) if counted.total > effort.slice as u64 => {
                self.gather_by_query(connection, now, &queries, found, claims)?;
            }
            _ => {
                let (condition, params) = self.trouble(now);
                // Who asks for everything gets it.
                let most = effort.slice.max(MOST);
                let asked = ClaimsAsked { condition: &condition, params, most, state: self.state_read };
                found.more |= self.gather(connection, now, asked, claims)?;
            }
        }
        Ok(counted.total)
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
            "SELECT {} FROM (SELECT 1 FROM {} WHERE {} LIMIT {}) AS counted",
            self.sql.selected("COUNT(*)"),
            self.board.from,
            self.board.is_held(),
            one_more(most)
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
        let without = worst.iter().filter(|(_, judged)| judged.seen.is_none());
        let places: Vec<RowRef> = without.filter_map(|(place, _)| place.clone()).collect();
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
