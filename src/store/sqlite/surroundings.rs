//! What surrounds the claims of a board: the sessions that hold them, and the jobs nobody holds.

use rusqlite::Connection;
use std::collections::BTreeMap;

use super::ahead::{LookAhead, TimeAhead};
use super::cell::{bound, cell};
use super::dialect::{SqliteDialect, bind};
use super::plan::searches;
use super::run::{count, is_larger};
use super::watch::Since;
use crate::domain::snapshot::Sessions;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::store::bound::{BoundBacklog, BoundBoard, BoundRegistry, TimeSql};
use crate::store::named_params::NamedParams;

#[derive(Debug, Default)]
pub(super) struct Surroundings {
    pub sessions: Option<Sessions>,
    pub backlog: BTreeMap<String, u64>,
    pub oldest_queued: Option<Moment>,
    /// The next time at which a session is given up, if somebody has looked since the last write.
    ahead: Option<TimeAhead>,
}

impl Surroundings {
    /// Counts anew what writes, or the clock, may have changed. Where no index helps, a backlog
    /// is counted only in a table of at most `whole` rows.
    pub(super) fn refresh(
        &mut self,
        connection: &Connection,
        board: &BoundBoard,
        now: Moment,
        since: Since,
        whole: usize,
    ) -> rusqlite::Result<()> {
        if let Some(backlog) = &board.backlog
            && (since == Since::Written || backlog.moves())
        {
            self.count_backlog(connection, board, backlog, now, whole)?;
        }
        self.count_sessions(connection, board, now, since)
    }

    /// Whether everything is the same at `now` if nothing was written, without asking.
    pub(super) fn is_still(&self, board: &BoundBoard, now: Moment) -> bool {
        let backlog = board.backlog.as_ref().is_none_or(|backlog| !backlog.moves());
        let given_up = board.registry.as_ref().and_then(|registry| given_up(board, registry, now));
        let sessions = match (given_up, self.ahead) {
            (None, _) => true,
            (Some((_, cut)), Some(ahead)) => ahead.is_ahead_of(cut),
            (Some(_), None) => false,
        };
        backlog && sessions
    }

    fn count_backlog(
        &mut self,
        connection: &Connection,
        board: &BoundBoard,
        backlog: &BoundBacklog,
        now: Moment,
        whole: usize,
    ) -> rusqlite::Result<()> {
        let clock = board.clock(&SqliteDialect, now);
        self.backlog.clear();
        self.oldest_queued = None;
        let large = is_larger(connection, &backlog.from, whole)?;
        for (state, predicate) in &backlog.states {
            let sql = format!("SELECT count(*) FROM {} WHERE {predicate}", backlog.from);
            if large && !searches(connection, &sql, None)? {
                continue;
            }
            self.backlog.insert(state.clone(), count(connection, &sql, &clock)?);
            if let ("queued", Some(oldest)) = (state.as_str(), &backlog.oldest) {
                let sql =
                    format!("SELECT min({}) FROM {} WHERE {predicate}", oldest.comparable, backlog.from);
                let mut statement = connection.prepare_cached(&sql)?;
                bind(&mut statement, &clock)?;
                let mut rows = statement.raw_query();
                let value = rows.next()?.map_or(Value::Null, |row| cell(row, 0));
                self.oldest_queued = oldest.compared_in().read(&value).at();
            }
        }
        Ok(())
    }

    fn count_sessions(
        &mut self,
        connection: &Connection,
        board: &BoundBoard,
        now: Moment,
        since: Since,
    ) -> rusqlite::Result<()> {
        let Some(registry) = &board.registry else { return Ok(()) };
        if matches!(since, Since::Quiet(_)) && self.is_still(board, now) {
            return Ok(());
        }
        let Some((time, cut)) = given_up(board, registry, now) else {
            // Nobody is ever given up.
            let total = count(
                connection,
                &format!("SELECT count(*) FROM {}", registry.from),
                &NamedParams::default(),
            )?;
            self.sessions =
                Some(Sessions { registry: registry.table.clone(), total, alive: total, stale: 0 });
            return Ok(());
        };
        let unit = time.compared_in();
        let within = |from: &str, to: &str| {
            let t = &time.comparable;
            format!("SELECT count(*) FROM {} WHERE {t} >= {from} AND {t} < {to}", registry.from)
        };
        let mut edges = NamedParams::default();
        edges.add_value("first", "", bound(Moment::EARLIEST.micros(), unit));
        edges.add_value("cut", "", bound(cut, unit));
        edges.add_value("last", "", bound(Moment::LATEST.micros(), unit));
        let stale = count(connection, &within(":first", ":cut"), &edges)?;
        self.ahead = None;
        let (total, readable) = match (&self.sessions, since) {
            (Some(known), Since::Quiet(_)) => {
                let look = LookAhead::new(&registry.from, &time.comparable, unit);
                self.ahead = Some(look.find(connection, cut)?);
                (known.total, known.alive + known.stale)
            }
            _ => {
                let all = format!("SELECT count(*) FROM {}", registry.from);
                (count(connection, &all, &edges)?, count(connection, &within(":first", ":last"), &edges)?)
            }
        };
        // Where no time can be trusted, nobody knows who lives.
        let (stale, readable) = if board.rules.doubt.is_some() { (0, 0) } else { (stale, readable) };
        let alive = readable.saturating_sub(stale);
        self.sessions = Some(Sessions { registry: registry.table.clone(), total, alive, stale });
        Ok(())
    }
}

/// The time by which a session is given up, and the instant before which it has to lie.
fn given_up<'a>(board: &BoundBoard, registry: &'a BoundRegistry, now: Moment) -> Option<(&'a TimeSql, i64)> {
    let (time, after) = registry.given_up(board.rules.thresholds.orphan_after)?;
    let now = board.rules.session_now(now).micros();
    Some((time, now.saturating_sub(after.as_micros())))
}
