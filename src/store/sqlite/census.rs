//! What no index can answer, counted by reading the table in slices, one a poll.
//!
//! A table that fits into one slice is always read whole, and its counts are exact. A larger one
//! is counted over several polls; its counts are dated and said not to be exact.

use rusqlite::Connection;

use super::dialect::bind;
use super::keys::RowSql;
use super::plan::Planned;
use super::probe::{Probe, Tag};
use super::rowset::RowSet;
use super::run::{all_bindings, count, select};
use super::watch::Since;
use crate::domain::snapshot;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::domain::verdict::Reason;
use crate::store::bound::BoundBoard;
use crate::store::named_params::NamedParams;
use crate::store::schema::quoted;

/// Where only the search for unreadable values waits, and while nothing is written, the census
/// goes on in smaller steps: its answer is dated anyway, and watching should cost next to nothing.
const SMALL_STEP: usize = 16;

/// What the census asks of every row.
#[derive(Debug)]
pub(super) struct CensusPlan {
    probes: Vec<Probe>,
    /// Which of them time alone can change.
    moving: Vec<bool>,
    /// Whether it counts the claims as well.
    counts_total: bool,
    /// Selects the rows that matter and their answers; conditions on `c` may follow.
    select: String,
    table: String,
    rows: RowSql,
}

impl CensusPlan {
    pub(super) fn new(
        connection: &Connection,
        board: &BoundBoard,
        planned: Vec<Planned>,
        counts_total: bool,
    ) -> rusqlite::Result<CensusPlan> {
        let probes: Vec<Probe> = planned.into_iter().map(|planned| planned.probe).collect();
        let needs_session = probes.iter().any(|probe| probe.needs_session);
        let from = board.joined_if(needs_session);
        let predicates: Vec<String> =
            probes.iter().enumerate().map(|(at, probe)| probe.predicate(&at.to_string())).collect();
        let any = if counts_total || predicates.is_empty() { "1".into() } else { predicates.join(" OR ") };
        let columns: String = predicates.iter().map(|predicate| format!(", {predicate}")).collect();
        let held = board.is_held();
        let rows = RowSql::claims(board);
        let plan = CensusPlan {
            select: format!("SELECT {}{columns} FROM {from} WHERE {held} AND ({any})", rows.number()),
            table: format!("{} AS c", quoted(&board.table)),
            rows,
            moving: probes.iter().map(Probe::depends_on_clock).collect(),
            probes,
            counts_total,
        };
        if plan.is_needed() {
            connection.prepare_cached(&plan.select)?;
        }
        Ok(plan)
    }

    /// That a row lies in a slice.
    fn within(&self, slice: Slice) -> String {
        let after = slice.after.map(|_| self.rows.lies(">", ":after"));
        let until = slice.until.map(|_| self.rows.lies("<=", ":until"));
        after.into_iter().chain(until).map(|condition| format!(" AND {condition}")).collect()
    }

    fn is_needed(&self) -> bool {
        self.counts_total || !self.probes.is_empty()
    }
}

/// The rows after one and up to another; without the two, all there are.
#[derive(Debug, Clone, Copy, Default)]
struct Slice {
    after: Option<i64>,
    until: Option<i64>,
}

impl Slice {
    fn params(self) -> NamedParams {
        let mut params = NamedParams::default();
        for (name, row) in [("after", self.after), ("until", self.until)] {
            params.add_value(name, "", row.map_or(Value::Null, Value::Int));
        }
        params
    }
}

/// The answers of a census, as far as it has come.
#[derive(Debug, Clone)]
struct Count {
    sets: Vec<RowSet>,
    total: u64,
    looked_at: u64,
    since: Moment,
}

impl Count {
    fn new(probes: usize, since: Moment) -> Count {
        Count { sets: vec![RowSet::default(); probes], total: 0, looked_at: 0, since }
    }

    /// How many members of its sets it has come upon so far.
    fn found(&self) -> u64 {
        self.sets.iter().map(RowSet::len).sum()
    }
}

#[derive(Debug)]
pub(super) struct TableCensus {
    plan: CensusPlan,
    /// The last complete count.
    done: Option<Count>,
    /// The count under way, and the last row it has looked at.
    running: Option<(Count, Option<i64>)>,
    whole: bool,
}

impl TableCensus {
    pub(super) fn new(plan: CensusPlan) -> TableCensus {
        TableCensus { plan, done: None, running: None, whole: true }
    }

    pub(super) fn is_needed(&self) -> bool {
        self.plan.is_needed()
    }

    /// Whether a set waits for it, and not only the search for unreadable values.
    pub(super) fn is_urgent(&self) -> bool {
        let sanity = |probe: &Probe| {
            matches!(probe.tag, Tag::BadDeadline | Tag::Reason(Reason::Unreadable | Reason::ClockSkew))
        };
        self.plan.counts_total || !self.plan.probes.iter().all(sanity)
    }

    /// Looks at the next slice, or at everything if that is `small`; tells whether answers changed.
    pub(super) fn step(
        &mut self,
        connection: &Connection,
        board: &BoundBoard,
        now: Moment,
        since: Since,
        small: bool,
        slice: usize,
    ) -> rusqlite::Result<bool> {
        if !self.is_needed() {
            return Ok(false);
        }
        let quiet = matches!(since, Since::Quiet(_));
        if quiet && self.whole == small && self.is_still() {
            return Ok(false);
        }
        self.whole = small;
        if small {
            let mut count = Count::new(self.plan.probes.len(), now);
            self.look(connection, board, now, Slice::default(), &mut count)?;
            let changed = self.done.as_ref().is_none_or(|done| done.sets != count.sets);
            (self.done, self.running) = (Some(count), None);
            return Ok(changed);
        }
        // What a complete count found in a quiet database only time can change, and it is dated.
        if quiet && self.running.is_none() && self.done.is_some() {
            return Ok(false);
        }
        let step = if quiet || !self.is_urgent() { slice / SMALL_STEP } else { slice };
        let (mut count, after) =
            self.running.take().unwrap_or_else(|| (Count::new(self.plan.probes.len(), now), None));
        let before = count.found();
        let (looked_at, slice) = self.slice_after(connection, after, step)?;
        self.look(connection, board, now, slice, &mut count)?;
        count.looked_at += looked_at;
        if slice.until.is_none() {
            self.done = Some(count);
            return Ok(true);
        }
        // A slice in which there was nothing to find is no reason to fetch rows anew.
        let changed = self.plan.counts_total || count.found() != before;
        self.running = Some((count, slice.until));
        Ok(changed)
    }

    /// Whether time alone can change the last count: a window that only shrinks cannot change an
    /// empty set.
    fn can_change_by_itself(&self) -> bool {
        let Some(done) = &self.done else { return true };
        let moves = |((probe, moving), set): ((&Probe, &bool), &RowSet)| {
            *moving && !(probe.only_shrinks() && set.len() == 0)
        };
        self.plan.probes.iter().zip(&self.plan.moving).zip(&done.sets).any(moves)
    }

    /// Whether a step would change nothing if nothing was written.
    pub(super) fn is_still(&self) -> bool {
        let is_done = || self.running.is_none() && self.done.is_some();
        !self.is_needed() || if self.whole { !self.can_change_by_itself() } else { is_done() }
    }

    /// The next slice, and how many rows it has. The last one has no end.
    fn slice_after(
        &self,
        connection: &Connection,
        after: Option<i64>,
        rows: usize,
    ) -> rusqlite::Result<(u64, Slice)> {
        let CensusPlan { table, rows: row, .. } = &self.plan;
        let rest = Slice { after, until: None };
        let from = format!("FROM {table} WHERE 1{}", self.plan.within(rest));
        let last = format!(
            "SELECT {} {from} ORDER BY {} LIMIT 1 OFFSET {}",
            row.number(),
            row.order("ASC"),
            rows.max(1) - 1
        );
        let mut until = None;
        select(connection, &last, &rest.params(), |row| until = Some(row))?;
        let rows = match until {
            Some(_) => rows.max(1) as u64,
            None => count(connection, &format!("SELECT count(*) {from}"), &rest.params())?,
        };
        Ok((rows, Slice { after, until }))
    }

    fn look(
        &self,
        connection: &Connection,
        board: &BoundBoard,
        now: Moment,
        slice: Slice,
        count: &mut Count,
    ) -> rusqlite::Result<()> {
        let sql = format!("{}{}", self.plan.select, self.plan.within(slice));
        let mut statement = connection.prepare_cached(&sql)?;
        let mut params = slice.params();
        for (at, probe) in self.plan.probes.iter().enumerate() {
            params.extend(all_bindings(probe, &at.to_string(), board, now, None));
        }
        bind(&mut statement, &params)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            let rowid: i64 = row.get(0)?;
            count.total += 1;
            for (at, set) in count.sets.iter_mut().enumerate() {
                if row.get::<_, Option<bool>>(at + 1)?.unwrap_or(false) {
                    set.insert(rowid);
                }
            }
        }
        Ok(())
    }

    /// The complete count, or the first one as far as it has come.
    fn best(&self) -> Option<&Count> {
        self.done.as_ref().or(self.running.as_ref().map(|(count, _)| count))
    }

    /// The rows of each probe.
    pub(super) fn answers(&self) -> impl Iterator<Item = (Tag, &RowSet)> {
        let sets = self.best().map_or(&[][..], |count| &count.sets);
        self.plan.probes.iter().map(|probe| probe.tag).zip(sets)
    }

    /// The number of claims, where the census counts them.
    pub(super) fn total(&self) -> Option<u64> {
        self.best().filter(|_| self.plan.counts_total).map(|count| count.total)
    }

    /// How many numbers its sets are made of.
    pub(super) fn numbers(&self) -> u64 {
        let counts = self.done.iter().chain(self.running.iter().map(|(count, _)| count));
        counts.map(Count::found).sum()
    }

    pub(super) fn is_partial(&self) -> bool {
        self.is_needed() && !self.whole
    }

    /// What keeps the counts from being exact.
    pub(super) fn gap(&self) -> Option<snapshot::Census> {
        self.best().filter(|_| self.is_partial()).map(|count| snapshot::Census {
            looked_at: count.looked_at,
            since: count.since,
            complete: self.done.is_some(),
        })
    }

    /// The reasons that wait for the census.
    pub(super) fn reasons(&self) -> Vec<Reason> {
        if !self.is_partial() {
            return Vec::new();
        }
        let mut reasons: Vec<Reason> = self
            .plan
            .probes
            .iter()
            .filter_map(|probe| match probe.tag {
                Tag::Reason(reason) => Some(reason),
                Tag::OldBeat => Some(Reason::HeartbeatSilent),
                Tag::BadDeadline => Some(Reason::Unreadable),
                Tag::Runaway => None,
            })
            .collect();
        reasons.sort();
        reasons.dedup();
        reasons
    }
}
