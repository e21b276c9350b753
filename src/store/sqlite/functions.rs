//! SQL functions for times that SQLite cannot compare by itself.
//!
//! They run the very code that reads single rows, so a statement over a million rows and a look
//! at one of them cannot disagree.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};

use super::cell::owned;
use crate::domain::claim::Timeout;
use crate::domain::rules::Thresholds;
use crate::domain::time::{Moment, Span, TimeUnit};

/// Registers the functions on a connection.
pub fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("claimtop_time", 2, flags, |context| {
        Ok(moment(context)?.map(Moment::micros))
    })?;
    connection.create_scalar_function("claimtop_deadline", 3, flags, |context| {
        Ok(lease(context)?.map(|(since, length)| since.plus(length).micros()))
    })?;
    // From when on a claim with a timeout of its own is expiring; the fourth argument is the
    // warning that was set, or NULL.
    connection.create_scalar_function("claimtop_near", 4, flags, |context| {
        let warn_before = context.get::<Option<i64>>(3)?.map(Span::micros);
        let thresholds = Thresholds { warn_before, ..Thresholds::default() };
        Ok(lease(context)?
            .map(|(since, length)| since.plus(length).minus(thresholds.warn_of(length)).micros()))
    })?;
    // From when on it has taken twice its time.
    connection.create_scalar_function("claimtop_runaway", 3, flags, |context| {
        Ok(lease(context)?
            .filter(|(_, length)| length.is_positive())
            .map(|(since, length)| since.plus(length).plus(length).micros()))
    })
}

/// The number under which a unit is passed to the functions.
pub fn code(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::UnixS => 0,
        TimeUnit::UnixMs => 1,
        TimeUnit::UnixUs => 2,
        TimeUnit::UnixNs => 3,
        TimeUnit::TextUtc => 4,
        TimeUnit::Timestamptz => 5,
        TimeUnit::Timestamp => 6,
    }
}

fn unit(code: i64) -> TimeUnit {
    match code {
        0 => TimeUnit::UnixS,
        1 => TimeUnit::UnixMs,
        2 => TimeUnit::UnixUs,
        3 => TimeUnit::UnixNs,
        4 => TimeUnit::TextUtc,
        5 => TimeUnit::Timestamptz,
        _ => TimeUnit::Timestamp,
    }
}

fn moment(context: &Context<'_>) -> rusqlite::Result<Option<Moment>> {
    let unit = unit(context.get(1)?);
    Ok(unit.read(&owned(context.get_raw(0))).at())
}

/// The arguments (claimed_at, unit, seconds), if all can be read.
fn lease(context: &Context<'_>) -> rusqlite::Result<Option<(Moment, Span)>> {
    let timeout = Timeout::read(&owned(context.get_raw(2)));
    Ok(moment(context)?.zip(timeout.span()))
}
