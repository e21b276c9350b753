//! One board under watch: its sets from poll to poll.
//!
//! After a write the sets are asked for anew; when nothing was written, only what the clock has
//! moved is. What no index answers comes from the [`super::census`].

use rusqlite::Connection;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::ask::{AskedProbe, ProbeAnswer};
use super::cell::bound;
use super::census::{CensusPlan, TableCensus};
use super::dialect::bind;
use super::keys::RowSql;
use super::plan::{ProbePath, advice, plan, searches};
use super::probe::{Probe, Tag, compile};
use super::process_claims::claims_in_question;
use super::rows;
use super::rowset::RowSet;
use super::run::{all_bindings, is_larger, select};
use super::sets::Sets;
use super::signs::ZoneExamination;
use super::surroundings::Surroundings;
use super::tally::tally;
use super::total::Total;
use super::worst::WorstRows;
use crate::domain::snapshot::{BoardSnapshot, Counts, Gaps, Judged};
use crate::domain::time::{Moment, Span};
use crate::domain::value::Value;
use crate::domain::verdict::{Reason, Reasons};
use crate::store::Prober;
use crate::store::bound::{BoundBoard, TimeSql};
use crate::store::driver::{self, Failed, QueryRows};
use crate::store::listed::Tally;
use crate::store::named_params::NamedParams;
use crate::store::options::Effort;
use crate::store::rows::RowReader;
use crate::store::schema::{Schema, quoted};
use crate::store::watched::WatchedBoard;

/// What a poll knows about the time since the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    /// Something was written, or there was no poll yet.
    Written,
    /// Nothing was written since the poll at this instant.
    Quiet(Moment),
}

/// How many slices of a view one poll may read.
const STREAMED_SLICES: u64 = 20;

/// A board and what is known of it.
#[derive(Debug)]
pub(super) struct Watch {
    pub board: BoundBoard,
    pub reader: RowReader,
    /// How SQL speaks of its rows.
    pub rows: RowSql,
    /// What makes a claim stale or orphaned, for the guard of an act.
    pub staleness: Vec<Probe>,
    asked: Vec<AskedProbe>,
    census: TableCensus,
    total: Total,
    surroundings: Surroundings,
    indexes: Vec<String>,
    prober: Option<Prober>,
    /// The claims about which the kernel knows more than the tables.
    overruled: Vec<(i64, Reasons)>,
    counted: (Counts, BTreeMap<Reason, u64>),
    pub(super) worst: WorstRows,
    /// When it was last brought up to date.
    refreshed_at: Option<Moment>,
    /// The answer for a view, which has to be read whole.
    tally: Option<Tally>,
    pub(super) examined: ZoneExamination,
    /// The deadlines between two instants, where an index finds them.
    deadlines_by_index: Option<(TimeSql, String)>,
}

impl WatchedBoard for Watch {
    fn bound(&self) -> &BoundBoard {
        &self.board
    }

    fn rows(&self) -> &RowReader {
        &self.reader
    }

    fn total(&self) -> u64 {
        self.tally.as_ref().map_or(self.total.count, |tally| tally.counts.total)
    }

    fn snapshot(&self, now: Moment) -> BoardSnapshot {
        let (counts, reasons) = self.counted.clone();
        let snapshot = BoardSnapshot {
            board: self.board.name.clone(),
            nature: Arc::clone(&self.board.nature),
            counts,
            reasons,
            sessions: self.surroundings.sessions.clone(),
            backlog: self.surroundings.backlog.clone(),
            oldest_queued: self.surroundings.oldest_queued,
            worst: self.worst_at(now),
            gaps: Gaps {
                more: false,
                total_since: self.total.dated(),
                census: self.census.gap(),
                reasons: self.census.reasons(),
                indexes: if self.census.is_partial() { self.indexes.clone() } else { Vec::new() },
                backlog: Vec::new(),
            },
        };
        match &self.tally {
            Some(tally) => tally.told_by(snapshot),
            None => snapshot,
        }
    }

    fn still_stale(&self, now: Moment, params: &mut NamedParams) -> Option<String> {
        let mut stale = Vec::new();
        for (at, probe) in self.staleness.iter().enumerate() {
            let suffix = format!("_{at}");
            params.extend(probe.bindings(&suffix, &self.board, now, None));
            stale.push(probe.predicate(&suffix));
        }
        (!stale.is_empty()).then(|| stale.join(" OR "))
    }

    fn deadlines(
        &self,
        connection: &mut dyn driver::Connection,
        now: Moment,
        within: Span,
        most: usize,
    ) -> Result<Option<Vec<Moment>>, Failed> {
        let Some((deadline, sql)) = self.deadlines_by_index.as_ref() else { return Ok(None) };
        let unit = deadline.compared_in();
        let mut params = self.reader.clock(&self.board, now);
        for (name, at) in [("from", now), ("to", now.plus(within))] {
            params.add_value(name, "", bound(at.micros(), unit));
        }
        let sql = format!("{sql} LIMIT {most}");
        let read = |row: &dyn driver::Row| unit.read(&row.number(0)).at();
        let found = connection.all("looking ahead", &sql, &params, read)?;
        Ok(Some(found.into_iter().flatten().collect()))
    }

    /// SQLite would read the whole table for the jobs of a state that no index finds.
    fn may_count_backlog(
        &self,
        connection: &mut dyn driver::Connection,
        most: usize,
    ) -> Result<bool, Failed> {
        let Some(backlog) = &self.board.backlog else { return Ok(false) };
        let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT {})", backlog.from, most + 1);
        Ok(connection.count("counting kinds", &sql, &NamedParams::default())? <= most as u64)
    }
}

impl Watch {
    pub(super) fn new(
        connection: &Connection,
        board: BoundBoard,
        schema: &Schema,
        prober: Option<Prober>,
    ) -> rusqlite::Result<Watch> {
        let reader = rows::reader(&board, schema, prober.clone());
        // Without a predicate SQLite counts the smallest index page by page.
        let held = board.held.as_ref().map_or_else(String::new, |held| format!(" WHERE {held}"));
        let sql = format!("SELECT count(*) FROM {}{held}", board.from);
        let indexed = !board.is_addressable() || board.held.is_none() || searches(connection, &sql, None)?;
        let total = Total::new(sql, indexed);
        let census = TableCensus::new(CensusPlan::new(connection, &board, Vec::new(), false)?);
        let deadlines_by_index = deadlines_by_index(connection, &board)?;
        let mut watch = Watch {
            rows: RowSql::claims(&board),
            board,
            reader,
            staleness: Vec::new(),
            asked: Vec::new(),
            census,
            total,
            surroundings: Surroundings::default(),
            indexes: Vec::new(),
            prober,
            overruled: Vec::new(),
            counted: (Counts::default(), BTreeMap::new()),
            worst: WorstRows::default(),
            refreshed_at: None,
            tally: None,
            examined: ZoneExamination::default(),
            deadlines_by_index,
        };
        watch.compile(connection)?;
        Ok(watch)
    }

    /// Turns the board's rules into questions, none of which was asked yet.
    pub(super) fn compile(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let board = &self.board;
        let probes = if board.is_addressable() { compile(board) } else { Vec::new() };
        self.staleness = probes.iter().filter(|probe| probe.tag.is_staleness()).cloned().collect();
        let planned = plan(connection, board, probes)?;
        self.indexes = advice(connection, board, &planned)?;
        let (by_census, planned): (Vec<_>, Vec<_>) =
            planned.into_iter().partition(|planned| planned.driver == ProbePath::Census);
        self.census = TableCensus::new(CensusPlan::new(connection, board, by_census, !self.total.indexed)?);
        self.asked = planned.into_iter().map(AskedProbe::new).collect();
        Ok(())
    }

    /// Brings everything up to `now`.
    pub(super) fn refresh(
        &mut self,
        connection: &Connection,
        now: Moment,
        since: Since,
        effort: Effort,
    ) -> rusqlite::Result<()> {
        let changed = self.refresh_sets(connection, now, since, effort)?;
        match changed.or_else(|| self.worst.is_old.then(|| self.sets())) {
            Some(sets) => self.fetch_worst(connection, &sets, now, since, effort.rows),
            None => Ok(()),
        }
    }

    /// Brings everything but the worst claims up to `now`. Returns the sets if they have changed.
    pub(super) fn refresh_sets(
        &mut self,
        connection: &Connection,
        now: Moment,
        since: Since,
        effort: Effort,
    ) -> rusqlite::Result<Option<Sets>> {
        // A look may have gone further than the last poll. Bound anew, it knows nothing yet.
        let since = match (since, self.refreshed_at) {
            (Since::Quiet(_), Some(at)) if at <= now => Since::Quiet(at),
            _ => Since::Written,
        };
        let zone_changed = self.examine_zone(connection, now, since)?;
        let since = if zone_changed { Since::Written } else { since };
        if since == Since::Written {
            self.remember_holders(connection)?;
        }
        self.refreshed_at = Some(now);
        if !self.board.is_addressable() {
            let most = (effort.slice as u64).saturating_mul(STREAMED_SLICES);
            self.tally = Some(tally(connection, &self.board, &self.reader, now, most, effort.rows)?);
            self.surroundings.refresh(connection, &self.board, now, Since::Written, effort.whole)?;
            return Ok(None);
        }
        self.surroundings.refresh(connection, &self.board, now, since, effort.whole)?;
        // Where the clock itself says what is claimed, nothing can be taken from the last poll.
        let since = if self.board.moves() { Since::Written } else { since };
        let is_written = since == Since::Written;
        let clock = self.reader.clock(&self.board, now);
        let mut changed = self.total.refresh(connection, &clock, now, is_written)? | is_written;
        for asked in &mut self.asked {
            changed |= asked.refresh(connection, &self.board, now, since)?;
        }
        let whole = if self.census.is_urgent() { effort.whole.max(effort.slice) } else { effort.slice };
        let small = self.is_small(connection, whole)?;
        changed |= self.census.step(connection, &self.board, now, since, small, effort.slice)?;
        if let (false, Some(total)) = (self.total.indexed, self.census.total()) {
            self.total.count = total;
        }
        changed |= self.ask_the_kernel(connection, now)?;
        if !changed {
            return Ok(None);
        }
        let sets = self.sets();
        self.counted = sets.count(self.total.count);
        self.worst.is_old = true;
        Ok(Some(sets))
    }

    /// Whether a poll at `now` would find what the last one found, if nothing was written since.
    pub(super) fn is_still(&self, now: Moment) -> bool {
        let board = &self.board;
        let rests_on_rows = board.is_addressable() && self.prober.is_none();
        rests_on_rows
            && self.refreshed_at.is_some_and(|at| at <= now)
            && !self.worst.is_old
            && self.total.is_still()
            && !board.moves()
            && !board.has_naive_times()
            && self.census.is_still()
            && self.surroundings.is_still(board, now)
            && self.asked.iter().all(|asked| asked.is_still(board, now))
    }

    pub(super) fn has_prober(&self) -> bool {
        self.prober.is_some()
    }

    /// The sets of every reason.
    pub(super) fn sets(&self) -> Sets {
        let mut sets = Sets::gather(&self.asked, &self.census);
        for (rowid, reasons) in &self.overruled {
            sets.overrule(*rowid, *reasons);
        }
        sets
    }

    /// Judges the claims again whose processes are proven dead, or alive in spite of their silence.
    fn ask_the_kernel(&mut self, connection: &Connection, now: Moment) -> rusqlite::Result<bool> {
        let Some(prober) = &self.prober else { return Ok(false) };
        let mut overruled = Vec::new();
        for rowid in claims_in_question(connection, &self.board, prober, now)? {
            if let Some(judged) = self.fetch(connection, rowid, now)? {
                overruled.push((rowid, judged.verdict.reasons));
            }
        }
        let changed = self.overruled != overruled;
        self.overruled = overruled;
        Ok(changed)
    }

    /// Whether the census can look at the whole table in one slice.
    fn is_small(&self, connection: &Connection, slice: usize) -> rusqlite::Result<bool> {
        if !self.census.is_needed() {
            return Ok(true);
        }
        if self.board.held.is_none() {
            return Ok(self.total.count <= slice as u64);
        }
        Ok(!is_larger(connection, &quoted(&self.board.table), slice)?)
    }

    /// Up to `rows` claims with one of the reasons, those first whose window the clock left longest ago.
    pub(super) fn worst_of(
        &self,
        connection: &Connection,
        reasons: Reasons,
        sets: &Sets,
        now: Moment,
        rows: usize,
    ) -> rusqlite::Result<Vec<i64>> {
        let members = sets.with(reasons);
        let mut worst = RowSet::default();
        let mut ordered = Vec::new();
        let mut take = |rowid: i64| {
            if members.contains(rowid) && !worst.contains(rowid) {
                worst.insert(rowid);
                ordered.push(rowid);
            }
        };
        for asked in &self.asked {
            let probe = &asked.planned.probe;
            let of_set = matches!(probe.tag, Tag::Reason(reason) if reasons.contains(reason));
            if let (true, Some(sql)) = (of_set, asked.planned.worst_first(rows)) {
                select(connection, &sql, &all_bindings(probe, "", &self.board, now, None), &mut take)?;
            }
        }
        // What has no order of its own, and what a census found.
        for rowid in members.iter().take(rows.saturating_mul(2)) {
            take(rowid);
        }
        ordered.truncate(rows);
        Ok(ordered)
    }

    /// One claim, if it is still one.
    fn fetch(&self, connection: &Connection, rowid: i64, now: Moment) -> rusqlite::Result<Option<Judged>> {
        let sql = format!("{} AND {}", self.reader.select(), self.rows.is(":rowid"));
        let mut statement = connection.prepare_cached(&sql)?;
        let mut params = self.reader.clock(&self.board, now);
        params.add_value("rowid", "", Value::Int(rowid));
        bind(&mut statement, &params)?;
        let mut rows = statement.raw_query();
        Ok(rows.next()?.map(|row| self.reader.read(row, &self.board, now)))
    }

    /// How many numbers its sets are made of.
    pub(super) fn numbers(&self) -> u64 {
        let asked = self.asked.iter().map(|asked| match &asked.answer {
            ProbeAnswer::Rows(rows) => rows.len(),
            ProbeAnswer::Count(_) => 0,
        });
        asked.sum::<u64>() + self.census.numbers()
    }
}

/// The statement that selects the deadlines of claims between `:from` and `:to`, if an index answers it.
fn deadlines_by_index(
    connection: &Connection,
    board: &BoundBoard,
) -> rusqlite::Result<Option<(TimeSql, String)>> {
    let Some(deadline) = &board.deadline else { return Ok(None) };
    let (time, held) = (&deadline.comparable, board.is_held());
    let from = board.joined_if(false);
    let sql = format!("SELECT {time} FROM {from} WHERE {held} AND {time} >= :from AND {time} < :to");
    let is_answered = !board.is_addressable() || searches(connection, &sql, None)?;
    Ok(is_answered.then(|| (deadline.clone(), sql)))
}
