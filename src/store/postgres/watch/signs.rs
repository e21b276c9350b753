//! What a board's times without a zone say of the zone in which they are read.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{MOST, Watch, query};
use crate::domain::rules::DeadlineRule;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::domain::zone_doubt::{Signs, ZoneDoubt};
use crate::postgres::error::PgError;
use crate::postgres::link::{Link, Row};
use crate::store::bound::TimeSql;
use crate::store::driver::Row as _;
use crate::store::postgres::candidate_queries;
use crate::store::postgres::named_params::NamedParams;
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
    pub(crate) fn examine_zone(&mut self, link: &mut Link, now: Moment) -> Result<(), PgError> {
        let undetermined = matches!(self.board.rules.doubt.as_deref(), Some(ZoneDoubt::Undetermined(_)));
        if undetermined || !self.board.has_naive_times() {
            return Ok(());
        }
        if self.examined.next.is_none_or(|next| next <= Instant::now()) {
            let started = Instant::now();
            self.examined.signs = self.signs(link, now)?;
            let took = started.elapsed();
            self.examined.next = (took > BURDEN).then(|| Instant::now() + took * SHARE);
        }
        let (rules, read_as) = (&self.board.rules, self.board.read_as());
        let doubt = self.examined.signs.doubt(rules, read_as, now).map(Arc::new);
        if doubt != self.board.rules.doubt {
            self.board.set_doubt(doubt);
            self.queries = candidate_queries::queries(&self.board);
            self.burdens.clear();
        }
        Ok(())
    }

    /// Remembers who is registered, where a missing registration proves nothing by itself.
    pub(crate) fn remember_holders(&self, link: &mut Link) -> Result<(), PgError> {
        let Some(registry) = self.board.registry.as_ref().filter(|registry| !registry.required) else {
            return Ok(());
        };
        let most = registrations::MOST + 1;
        let sql = format!("SELECT ({})::text FROM {} LIMIT {most}", registry.id.text, registry.from);
        let rows = query(link, &NamedParams::default(), &sql)?;
        let present: HashSet<String> = rows.iter().filter_map(|row| row.text(0)).collect();
        registry.remembered.note(&registry.table, present);
        Ok(())
    }

    fn signs(&self, link: &mut Link, now: Moment) -> Result<Signs, PgError> {
        let board = &self.board;
        let times = [&board.claimed_at, &board.beat_at, &board.deadline].into_iter().flatten();
        let of_registry = board.registry.iter().flat_map(|registry| registry.times());
        if times.chain(of_registry).any(|time| time.is_naive && time.bound_type.is_none()) {
            return self.signs_of_texts(link, now);
        }
        let mut signs = Signs::default();
        let deadline = match (board.rules.deadline, &board.claimed_at, &board.timeout) {
            (DeadlineRule::Lease, _, _) => newest(board.deadline.as_ref()),
            (DeadlineRule::Timeout, Some(since), Some(timeout)) if since.is_naive => {
                let seconds = match board.timeout_type.as_str() {
                    "interval" => format!("extract(epoch FROM {timeout})"),
                    _ => format!("({timeout})"),
                };
                let t = &since.selected;
                format!(
                    "(to_timestamp(max(extract(epoch FROM {t})::float8 + {seconds}::float8) \
                     FILTER (WHERE isfinite({t}) AND abs({seconds}::float8) < 1e9)))::text"
                )
            }
            _ => "NULL".into(),
        };
        let sql = format!(
            "SELECT ({})::text, {}, {}, {deadline}, count(*)::text FROM {} WHERE ({}) GROUP BY 1",
            board.kind.as_deref().unwrap_or("NULL"),
            newest(board.claimed_at.as_ref()),
            newest(board.beat_at.as_ref()),
            board.joined_if(false),
            board.is_held(),
        );
        for row in query(link, &self.clock(now), &sql)? {
            let newest = moment(&row, 1).max(moment(&row, 2));
            signs.add(row.text(0), newest);
            signs.deadline = signs.deadline.max(moment(&row, 3));
            signs.count += row.count(4);
        }
        if let Some(registry) = &board.registry {
            let (beat, end) = (newest(registry.beat_at.as_ref()), newest(registry.stale_at.as_ref()));
            let sql = format!("SELECT {beat}, {end}, count(*)::text FROM {}", registry.from);
            for row in query(link, &self.clock(now), &sql)? {
                (signs.session, signs.session_end) = (moment(&row, 0), moment(&row, 1));
                signs.count += row.count(2);
            }
        }
        Ok(signs)
    }

    /// Texts are read one by one: the database must not try to.
    fn signs_of_texts(&self, link: &mut Link, now: Moment) -> Result<Signs, PgError> {
        let board = &self.board;
        let column = |time: &Option<TimeSql>| match time {
            Some(time) => format!("({})::text", time.selected),
            None => "NULL".into(),
        };
        let mut signs = Signs::default();
        let sql = format!(
            "SELECT ({})::text, {}, {}, {} FROM {} WHERE ({}) LIMIT {MOST}",
            board.kind.as_deref().unwrap_or("NULL"),
            column(&board.claimed_at),
            column(&board.beat_at),
            column(&board.deadline),
            board.joined_if(false),
            board.is_held(),
        );
        for row in query(link, &self.clock(now), &sql)? {
            let own = [&board.claimed_at, &board.beat_at].into_iter().zip(1..);
            let own = own.filter_map(|(time, at)| naive(&row, at, time.as_ref()?)).max();
            signs.add(row.text(0), own);
            let deadline = board.deadline.as_ref().and_then(|time| naive(&row, 3, time));
            signs.deadline = signs.deadline.max(deadline);
            signs.count += 1;
        }
        if let Some(registry) = &board.registry {
            let beat = column(&registry.beat_at);
            let sql =
                format!("SELECT {beat}, {} FROM {} LIMIT {MOST}", column(&registry.stale_at), registry.from);
            for row in query(link, &self.clock(now), &sql)? {
                let beat = registry.beat_at.as_ref().and_then(|time| naive(&row, 0, time));
                signs.session = signs.session.max(beat);
                let end = registry.stale_at.as_ref().and_then(|time| naive(&row, 1, time));
                signs.session_end = signs.session_end.max(end);
                signs.count += 1;
            }
        }
        Ok(signs)
    }
}

/// The time in a cell whose meaning depends on the zone.
fn naive(row: &Row, at: usize, time: &TimeSql) -> Option<Moment> {
    let written = row.get(at).filter(|_| time.is_naive)?;
    match time.bound_type {
        Some(_) => Moment::parse(written),
        None => time.unit.read_naive(&Value::Text(written.into()), time.zone.own.unwrap_or_default()),
    }
}

/// The newest of a column's times that name no zone.
fn newest(time: Option<&TimeSql>) -> String {
    match time.filter(|time| time.is_naive) {
        Some(time) => format!("(max({t}) FILTER (WHERE isfinite({t})))::text", t = time.selected),
        None => "NULL".into(),
    }
}

fn moment(row: &Row, at: usize) -> Option<Moment> {
    Moment::parse(row.get(at)?)
}
