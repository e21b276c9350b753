//! The jobs that nobody holds, state by state: counted as far as that is cheap.
//!
//! A queue may hold millions, and only somebody who waits for it wants to know how many exactly: a state is counted up to
//! a bound; beyond there are "more than".

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::one_more;
use super::watch::Watch;
use crate::domain::time::Moment;
use crate::store::bound::BoundBacklog;
use crate::store::driver::{Connection, Failed, Row};
use crate::store::options::Effort;

/// How a backlog is counted.
#[derive(Debug, Default, Clone)]
pub(in crate::store) struct BacklogPlan {
    /// States that are counted up to `most`, each by itself.
    pub bounded: Vec<String>,
    /// States that are counted together, by reading the table.
    pub scanned: Vec<String>,
    pub has_oldest: bool,
    pub most: usize,
}

/// A backlog, counted.
#[derive(Debug, Default)]
pub(super) struct CountedBacklog {
    pub states: BTreeMap<String, u64>,
    /// The states of which there are more.
    pub more: Vec<String>,
    pub oldest_queued: Option<Moment>,
    /// When one that took long to count is counted again.
    next: Option<Instant>,
}

const DOING: &str = "counting the backlog";

/// One look counts no state further than this: some milliseconds' work.
const MOST: usize = 100_000;

/// A backlog of more jobs than these, or one that takes longer than this to count, is counted at most for a fiftieth of
/// the time.
const LARGE: u64 = 10_000;
const BURDEN: Duration = Duration::from_millis(20);
const SHARE: u32 = 50;

impl BacklogPlan {
    /// Nothing is counted yet.
    pub(in crate::store) fn up_to(effort: Effort) -> BacklogPlan {
        BacklogPlan { most: effort.whole.min(MOST), ..BacklogPlan::default() }
    }

    /// Every state is counted up to the bound.
    pub(in crate::store) fn of_all(backlog: Option<&BoundBacklog>, effort: Effort) -> BacklogPlan {
        let bounded = backlog.into_iter().flat_map(|backlog| backlog.states.keys().cloned()).collect();
        BacklogPlan { bounded, has_oldest: true, ..BacklogPlan::up_to(effort) }
    }

    fn count(
        &self,
        connection: &mut dyn Connection,
        watch: &Watch,
        backlog: &BoundBacklog,
        now: Moment,
    ) -> Result<CountedBacklog, Failed> {
        let mut counted = CountedBacklog::default();
        let (params, sql) = (watch.clock(now), watch.sql);
        let predicate = |state: &String| backlog.states.get(state).map_or("FALSE", String::as_str);
        let bounded = self.bounded.iter().map(|state| backlog.bounded(predicate(state), self.most));
        let oldest = backlog.oldest_queued().filter(|_| self.has_oldest);
        let columns: Vec<String> =
            bounded.chain(oldest).map(|select| sql.selected(&format!("({select})"))).collect();
        if !columns.is_empty() {
            let sql = format!("SELECT {}", columns.join(", "));
            connection.each(DOING, &sql, &params, &mut |row| self.read(row, backlog, &mut counted))?;
        }
        if !self.scanned.is_empty() {
            let columns: Vec<String> = self
                .scanned
                .iter()
                .map(|state| sql.selected(&format!("COUNT(CASE WHEN ({}) THEN 1 END)", predicate(state))))
                .collect();
            let sql = format!("SELECT {} FROM {}", columns.join(", "), backlog.from);
            connection.each(DOING, &sql, &params, &mut |row| {
                let counts =
                    self.scanned.iter().enumerate().map(|(at, state)| (state.clone(), row.count(at)));
                counted.states.extend(counts);
            })?;
        }
        Ok(counted)
    }

    /// Reads the states that were counted one by one, and the oldest job.
    fn read(&self, row: &dyn Row, backlog: &BoundBacklog, counted: &mut CountedBacklog) {
        for (at, state) in self.bounded.iter().enumerate() {
            let count = row.count(at);
            if count > self.most as u64 {
                counted.more.push(state.clone());
            }
            counted.states.insert(state.clone(), count.min(self.most as u64));
        }
        if let (true, Some(oldest)) = (self.has_oldest, &backlog.oldest) {
            let cell = row.time(self.bounded.len(), &oldest.cell.declared);
            counted.oldest_queued = oldest.read(&cell).at();
        }
    }
}

impl CountedBacklog {
    /// Counts it anew, unless that took long the last time.
    pub(super) fn refresh(
        &mut self,
        connection: &mut dyn Connection,
        watch: &Watch,
        now: Moment,
    ) -> Result<(), Failed> {
        let Some(backlog) = &watch.board.backlog else { return Ok(()) };
        if self.next.is_some_and(|next| Instant::now() < next) {
            return Ok(());
        }
        let started = Instant::now();
        *self = watch.plan.backlog.count(connection, watch, backlog, now)?;
        let took = started.elapsed();
        let is_burden = took > BURDEN || self.states.values().sum::<u64>() > LARGE;
        self.next = is_burden.then(|| Instant::now() + took * SHARE);
        Ok(())
    }
}

impl BoundBacklog {
    /// Counts the jobs of a state, up to one more than `most`.
    pub(in crate::store) fn bounded(&self, predicate: &str, most: usize) -> String {
        let limit = one_more(most);
        format!(
            "SELECT COUNT(*) FROM (SELECT 1 FROM {} WHERE ({predicate}) LIMIT {limit}) AS counted",
            self.from
        )
    }

    /// Selects since when the first of the queue waits.
    pub(in crate::store) fn oldest_queued(&self) -> Option<String> {
        let oldest = self.oldest.as_ref().filter(|oldest| oldest.bound_type.is_some())?;
        let queued = self.states.get("queued")?;
        Some(format!("SELECT MIN({}) FROM {} WHERE ({queued})", oldest.selected, self.from))
    }
}
