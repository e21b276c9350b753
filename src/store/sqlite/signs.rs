//! What a board's times without a zone say of the zone in which they are read.

use rusqlite::Connection;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cell::cell;
use super::dialect::{SqliteDialect, bind};
use super::functions::code;
use super::watch::{Since, Watch};
use crate::domain::rules::DeadlineRule;
use crate::domain::time::Moment;
use crate::domain::zone_doubt::{Signs, ZoneDoubt};
use crate::store::bound::{BoundBoard, TimeSql};
use crate::store::registrations;

/// The signs of the last look.
#[derive(Debug, Default)]
pub(super) struct ZoneExamination {
    signs: Option<Signs>,
    /// When a look that took long may be taken again.
    next: Option<Instant>,
}

/// A look that takes longer than this is taken at most for a twentieth of the time.
const BURDEN: Duration = Duration::from_millis(50);
const SHARE: u32 = 20;

impl Watch {
    /// Finds out whether the rows contradict the zone in which their times are read; `true` if that has
    /// changed, so that everything has to be asked anew.
    pub(super) fn examine_zone(
        &mut self,
        connection: &Connection,
        now: Moment,
        since: Since,
    ) -> rusqlite::Result<bool> {
        let undetermined = matches!(self.board.rules.doubt.as_deref(), Some(ZoneDoubt::Undetermined(_)));
        if undetermined || !self.board.has_naive_times() {
            return Ok(false);
        }
        let may_look = self.examined.next.is_none_or(|next| next <= Instant::now());
        if self.examined.signs.is_none() || since == Since::Written && may_look {
            let started = Instant::now();
            self.examined.signs = Some(signs(connection, &self.board, now)?);
            let took = started.elapsed();
            self.examined.next = (took > BURDEN).then(|| Instant::now() + took * SHARE);
        }
        let (rules, read_as) = (&self.board.rules, self.board.read_as());
        let doubt = self.examined.signs.as_ref().and_then(|signs| signs.doubt(rules, read_as, now));
        let doubt = doubt.map(Arc::new);
        if doubt == self.board.rules.doubt {
            return Ok(false);
        }
        self.board.set_doubt(doubt);
        self.compile(connection)?;
        Ok(true)
    }

    /// Remembers who is registered, where a missing registration proves nothing by itself.
    pub(super) fn remember_holders(&self, connection: &Connection) -> rusqlite::Result<()> {
        let Some(registry) = self.board.registry.as_ref().filter(|registry| !registry.required) else {
            return Ok(());
        };
        let most = registrations::MOST + 1;
        let sql = format!("SELECT {} FROM {} LIMIT {most}", registry.id.text, registry.from);
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query([])?;
        let mut present = HashSet::new();
        while let Some(row) = rows.next()? {
            present.extend(cell(row, 0).text());
        }
        registry.remembered.note(&registry.table, present);
        Ok(())
    }
}

fn signs(connection: &Connection, board: &BoundBoard, now: Moment) -> rusqlite::Result<Signs> {
    let newest = |time: Option<&TimeSql>| match time.filter(|time| time.is_naive) {
        Some(time) => format!("max({})", naive(time)),
        None => "NULL".into(),
    };
    let deadline = match (board.rules.deadline, &board.claimed_at, &board.timeout) {
        (DeadlineRule::Lease, _, _) => newest(board.deadline.as_ref()),
        (DeadlineRule::Timeout, Some(since), Some(seconds)) if since.is_naive => format!(
            "max(CASE WHEN {} IS NOT NULL THEN claimtop_deadline({}, {}, {seconds}) END)",
            naive(since),
            since.cell.text,
            code(since.unit, since.zone.own.unwrap_or_default())
        ),
        _ => "NULL".into(),
    };
    let sql = format!(
        "SELECT {}, {}, {}, {deadline}, count(*) FROM {} WHERE {} GROUP BY 1",
        board.kind.as_deref().unwrap_or("NULL"),
        newest(board.claimed_at.as_ref()),
        newest(board.beat_at.as_ref()),
        board.joined_if(false),
        board.is_held(),
    );
    let mut signs = Signs::default();
    let mut statement = connection.prepare_cached(&sql)?;
    bind(&mut statement, &board.clock(&SqliteDialect, now))?;
    let mut rows = statement.raw_query();
    let moment = |row: &rusqlite::Row<'_>, at: usize| cell(row, at).int().and_then(Moment::from_micros);
    while let Some(row) = rows.next()? {
        let newest = moment(row, 1).max(moment(row, 2));
        signs.add(cell(row, 0).text(), newest);
        signs.deadline = signs.deadline.max(moment(row, 3));
        signs.count += count(row, 4);
    }
    if let Some(registry) = &board.registry {
        let sql = format!(
            "SELECT {}, {}, count(*) FROM {}",
            newest(registry.beat_at.as_ref()),
            newest(registry.stale_at.as_ref()),
            registry.from
        );
        let mut statement = connection.prepare_cached(&sql)?;
        statement.query_row([], |row| {
            (signs.session, signs.session_end) = (moment(row, 0), moment(row, 1));
            signs.count += count(row, 2);
            Ok(())
        })?;
    }
    Ok(signs)
}

fn count(row: &rusqlite::Row<'_>, at: usize) -> u64 {
    cell(row, at).int().and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
}

fn naive(time: &TimeSql) -> String {
    format!("claimtop_naive({}, {})", time.cell.text, code(time.unit, time.zone.own.unwrap_or_default()))
}
