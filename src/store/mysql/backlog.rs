//! The jobs that nobody holds, state by state, each counted up to a bound; beyond there are "more than".

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::watch::Watch;
use crate::domain::time::Moment;
use crate::store::bound::BoundBacklog;
use crate::store::driver::{Connection, Failed, QueryRows};
use crate::store::options::Effort;

/// A backlog, counted.
#[derive(Debug, Default, Clone)]
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

/// A backlog that takes longer than this to count is counted at most for a fiftieth of the time.
const BURDEN: Duration = Duration::from_millis(20);
const SHARE: u32 = 50;

impl CountedBacklog {
    /// Counts it anew, unless that took long the last time.
    pub(super) fn refresh(
        &mut self,
        connection: &mut dyn Connection,
        watch: &Watch,
        now: Moment,
        effort: Effort,
    ) -> Result<(), Failed> {
        let Some(backlog) = &watch.board.backlog else { return Ok(()) };
        if self.next.is_some_and(|next| Instant::now() < next) {
            return Ok(());
        }
        let started = Instant::now();
        *self = CountedBacklog::count(connection, watch, backlog, now, effort.whole.min(MOST))?;
        let took = started.elapsed();
        self.next = (took > BURDEN).then(|| Instant::now() + took * SHARE);
        Ok(())
    }

    fn count(
        connection: &mut dyn Connection,
        watch: &Watch,
        backlog: &BoundBacklog,
        now: Moment,
        most: usize,
    ) -> Result<CountedBacklog, Failed> {
        let mut counted = CountedBacklog::default();
        let params = watch.clock(now);
        for (state, predicate) in &backlog.states {
            let sql = format!(
                "SELECT COUNT(*) FROM (SELECT 1 FROM {} WHERE ({predicate}) LIMIT {}) AS counted",
                backlog.from,
                most.saturating_add(1)
            );
            let count = connection.count(DOING, &sql, &params)?;
            if count > most as u64 {
                counted.more.push(state.clone());
            }
            counted.states.insert(state.clone(), count.min(most as u64));
        }
        let oldest = backlog.oldest.as_ref().filter(|oldest| oldest.bound_type.is_some());
        if let (Some(oldest), Some(queued)) = (oldest, backlog.states.get("queued")) {
            let sql = format!("SELECT MIN({}) FROM {} WHERE ({queued})", oldest.selected, backlog.from);
            let read = connection
                .first(DOING, &sql, &params, |row| oldest.read(&row.time(0, &oldest.cell.declared)))?;
            counted.oldest_queued = read.and_then(|reading| reading.at());
        }
        Ok(counted)
    }
}
