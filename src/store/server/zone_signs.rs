//! What a board's times without a zone say of the zone in which they are read.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::POLLING;
use super::gather::MOST;
use super::sql::ServerSql;
use super::watch::Watch;
use crate::domain::rules::DeadlineRule;
use crate::domain::time::Moment;
use crate::domain::zone_doubt::{Signs, ZoneDoubt};
use crate::store::bound::TimeSql;
use crate::store::driver::{Connection, Failed, QueryRows, Row};
use crate::store::named_params::NamedParams;
use crate::store::registrations;

/// A look that takes longer than this is taken at most for a twentieth of the time.
const BURDEN: Duration = Duration::from_millis(50);
const SHARE: u32 = 20;

/// The signs of the last look.
#[derive(Debug, Default)]
pub(super) struct ZoneExamination {
    signs: Signs,
    /// When a look that took long may be taken again.
    next: Option<Instant>,
}

impl Watch {
    /// Finds out whether the rows contradict the zone in which their times are read.
    pub(in crate::store) fn examine_zone(
        &mut self,
        connection: &mut dyn Connection,
        now: Moment,
    ) -> Result<(), Failed> {
        let undetermined = matches!(self.board.rules.doubt.as_deref(), Some(ZoneDoubt::Undetermined(_)));
        if undetermined || !self.board.has_naive_times() {
            return Ok(());
        }
        if self.examined.next.is_none_or(|next| next <= Instant::now()) {
            let started = Instant::now();
            self.examined.signs = self.signs(connection, now)?;
            let took = started.elapsed();
            self.examined.next = (took > BURDEN).then(|| Instant::now() + took * SHARE);
        }
        let (rules, read_as) = (&self.board.rules, self.board.read_as());
        let doubt = self.examined.signs.doubt(rules, read_as, now).map(Arc::new);
        if doubt != self.board.rules.doubt {
            self.board.set_doubt(doubt);
            self.burdens.clear();
        }
        Ok(())
    }

    /// Remembers who is registered, where a missing registration proves nothing by itself.
    pub(super) fn remember_holders(&self, connection: &mut dyn Connection) -> Result<(), Failed> {
        let Some(registry) = self.board.registry.as_ref().filter(|registry| !registry.required) else {
            return Ok(());
        };
        let most = registrations::MOST + 1;
        let sql =
            format!("SELECT {} FROM {} LIMIT {most}", self.sql.selected(&registry.id.text), registry.from);
        let present = connection.all(POLLING, &sql, &NamedParams::default(), |row| row.text(0))?;
        let present: HashSet<String> = present.into_iter().flatten().collect();
        registry.remembered.note(&registry.table, present);
        Ok(())
    }

    /// The newest of each kind where the server can compare, and else the cells themselves.
    fn signs(&self, connection: &mut dyn Connection, now: Moment) -> Result<Signs, Failed> {
        let board = &self.board;
        let own = [board.claimed_at.as_ref(), board.beat_at.as_ref(), board.deadline.as_ref()];
        let session = match &board.registry {
            Some(registry) => [registry.beat_at.as_ref(), registry.stale_at.as_ref()],
            None => [None, None],
        };
        let is_text = |time: &&TimeSql| time.is_naive && time.bound_type.is_none();
        let one_by_one = own.iter().chain(&session).flatten().any(is_text);
        let mut signs = Signs::default();
        let selected = |time: Option<&TimeSql>| self.sql.selected(&newest(self.sql, time, one_by_one));
        let timeout = self
            .sql
            .newest_timeout(board)
            .filter(|_| !one_by_one && board.rules.deadline == DeadlineRule::Timeout);
        let kind = self.sql.selected(board.kind.as_deref().unwrap_or("NULL"));
        let (count, end) = if one_by_one {
            (self.sql.selected("1"), format!(" LIMIT {MOST}"))
        } else {
            (self.sql.selected("COUNT(*)"), String::new())
        };
        let sql = format!(
            "SELECT {kind}, {}, {}, {}, {count} FROM {} WHERE ({}){}",
            selected(own[0]),
            selected(own[1]),
            timeout.as_ref().map_or_else(|| selected(own[2]), |timeout| self.sql.selected(timeout)),
            board.joined_if(false),
            board.is_held(),
            if one_by_one { &end } else { " GROUP BY 1" },
        );
        let naive = |row: &dyn Row, at: usize, time: Option<&TimeSql>| {
            self.sql.read_naive(row, at, time.filter(|time| time.is_naive)?)
        };
        connection.each(POLLING, &sql, &self.clock(now), &mut |row| {
            signs.add(row.text(0), naive(row, 1, own[0]).max(naive(row, 2, own[1])));
            let deadline = match timeout {
                Some(_) => row.text(3).and_then(|text| Moment::parse(&text)),
                None => naive(row, 3, own[2]),
            };
            signs.deadline = signs.deadline.max(deadline);
            signs.count += row.count(4);
        })?;
        if let Some(registry) = &board.registry {
            let [beat, stale] = session.map(selected);
            let sql = format!("SELECT {beat}, {stale}, {count} FROM {}{end}", registry.from);
            connection.each(POLLING, &sql, &self.clock(now), &mut |row| {
                signs.session = signs.session.max(naive(row, 0, session[0]));
                signs.session_end = signs.session_end.max(naive(row, 1, session[1]));
                signs.count += row.count(2);
            })?;
        }
        Ok(signs)
    }
}

/// A time that names no zone: each, or the newest of them.
fn newest(sql: &dyn ServerSql, time: Option<&TimeSql>, one_by_one: bool) -> String {
    match time.filter(|time| time.is_naive) {
        Some(time) if one_by_one => time.selected.clone(),
        Some(time) => sql.newest(time),
        None => "NULL".into(),
    }
}
