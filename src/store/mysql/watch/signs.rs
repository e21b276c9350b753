//! What a board's times without a zone say of the zone in which they are read.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{MOST, POLLING, Watch};
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
    pub(crate) fn examine_zone(
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
        let sql = format!("SELECT {} FROM {} LIMIT {most}", registry.id.text, registry.from);
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
        let columns = columns(&own, one_by_one);
        let kind = board.kind.as_deref().unwrap_or("NULL");
        let (count, end) =
            if one_by_one { ("1", format!("LIMIT {MOST}")) } else { ("COUNT(*)", "GROUP BY 1".into()) };
        let sql = format!(
            "SELECT {kind}, {columns}, {count} FROM {} WHERE ({}) {end}",
            board.joined_if(false),
            board.is_held()
        );
        connection.each(POLLING, &sql, &self.clock(now), &mut |row| {
            signs.add(row.text(0), naive(row, 1, own[0]).max(naive(row, 2, own[1])));
            signs.deadline = signs.deadline.max(naive(row, 3, own[2]));
            signs.count += row.count(4);
        })?;
        if let Some(registry) = &board.registry {
            let columns = self::columns(&session, one_by_one);
            let end = if one_by_one { format!(" LIMIT {MOST}") } else { String::new() };
            let sql = format!("SELECT {columns}, {count} FROM {}{end}", registry.from);
            connection.each(POLLING, &sql, &self.clock(now), &mut |row| {
                signs.session = signs.session.max(naive(row, 0, session[0]));
                signs.session_end = signs.session_end.max(naive(row, 1, session[1]));
                signs.count += row.count(2);
            })?;
        }
        Ok(signs)
    }
}

/// Times that name no zone: each, or the newest of them.
fn columns(times: &[Option<&TimeSql>], one_by_one: bool) -> String {
    let column = |time: &Option<&TimeSql>| match time.filter(|time| time.is_naive) {
        Some(time) if one_by_one => time.selected.clone(),
        Some(time) => format!("MAX({})", time.selected),
        None => "NULL".into(),
    };
    times.iter().map(column).collect::<Vec<_>>().join(", ")
}

/// The time in a cell whose meaning depends on the zone.
fn naive(row: &dyn Row, at: usize, time: Option<&TimeSql>) -> Option<Moment> {
    let time = time.filter(|time| time.is_naive)?;
    time.unit.read_naive(&row.time(at, &time.cell.declared), time.zone.own.unwrap_or_default())
}
