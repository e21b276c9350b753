//! The next instant at which the clock alone changes an answer.
//!
//! When nothing was written, a set changes only where an edge of its window reaches the time of a row. Until then a
//! poll has nothing to ask.

use rusqlite::Connection;

use super::cell::{bound, cell};
use super::dialect::bind;
use crate::domain::time::{Moment, TimeUnit};
use crate::domain::value::Value;
use crate::store::named_params::NamedParams;

/// The first time in a column that an edge has not passed yet.
#[derive(Debug, Clone, Copy)]
pub(super) enum TimeAhead {
    /// No row has one.
    None,
    At {
        ticks: i64,
        unit: TimeUnit,
    },
    /// It cannot be found quickly.
    Unknown,
}

impl TimeAhead {
    /// Whether an edge at this instant has still not passed it.
    pub(super) fn is_ahead_of(self, micros: i64) -> bool {
        match self {
            TimeAhead::None => true,
            TimeAhead::At { ticks, unit } => {
                i128::from(micros) * i128::from(unit.per_second()) <= i128::from(ticks) * 1_000_000
            }
            TimeAhead::Unknown => false,
        }
    }
}

/// Finds the times ahead of edges in one column of one table.
#[derive(Debug)]
pub(super) struct LookAhead {
    sql: String,
    unit: TimeUnit,
}

impl LookAhead {
    /// Looks through all rows of `from`: those that are no claims make an instant come too early, never too late.
    pub(super) fn new(from: &str, time: &str, unit: TimeUnit) -> LookAhead {
        let sql = format!(
            "SELECT {time} FROM {from} WHERE {time} >= :from AND {time} < :last ORDER BY {time} LIMIT 1"
        );
        LookAhead { sql, unit }
    }

    /// Whether an index has the times in their order.
    pub(super) fn is_quick(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", self.sql))?;
        let mut rows = explain.raw_query();
        while let Some(row) = rows.next()? {
            let detail: String = row.get(3)?;
            if !detail.starts_with("SEARCH ") || detail.contains("AUTOMATIC") {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn find(&self, connection: &Connection, edge: i64) -> rusqlite::Result<TimeAhead> {
        let mut statement = connection.prepare_cached(&self.sql)?;
        let mut edges = NamedParams::default();
        edges.add_value("from", "", bound(edge, self.unit));
        edges.add_value("last", "", bound(Moment::LATEST.micros(), self.unit));
        bind(&mut statement, &edges)?;
        let mut rows = statement.raw_query();
        Ok(match rows.next()?.map(|row| cell(row, 0)) {
            None => TimeAhead::None,
            Some(Value::Int(ticks)) => TimeAhead::At { ticks, unit: self.unit },
            Some(_) => TimeAhead::Unknown,
        })
    }
}
