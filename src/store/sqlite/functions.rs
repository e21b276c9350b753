//! SQL functions for times that SQLite cannot compare by itself.
//!
//! They run the very code that reads single rows, so a statement over a million rows and a look
//! at one of them cannot disagree.

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;

use super::cell::owned;
use super::keys::{Keys, Part};
use crate::domain::claim::Timeout;
use crate::domain::rules::Thresholds;
use crate::domain::time::{Moment, Span, TimeUnit};
use crate::domain::value::Value;

/// Registers the functions on a connection.
pub fn register(connection: &Connection, keys: &Keys) -> rusqlite::Result<()> {
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
    connection.create_aggregate_function("claimtop_rows", 1, flags, PackedRows)?;
    let numbers = keys.clone();
    connection.create_scalar_function("claimtop_row", -1, flags, move |context| {
        let parts: Vec<Value> = (0..context.len()).map(|at| owned(context.get_raw(at))).collect();
        Ok(numbers.number(&parts))
    })?;
    let numbers = keys.clone();
    connection.create_scalar_function("claimtop_key", 2, flags, move |context| {
        let parts = context.get::<Option<i64>>(0)?.and_then(|number| numbers.parts(number));
        let place = usize::try_from(context.get::<i64>(1)?).unwrap_or(usize::MAX);
        Ok(Part(parts.and_then(|parts| parts.into_iter().nth(place)).unwrap_or(Value::Null)))
    })?;
    // From when on it has taken twice its time.
    connection.create_scalar_function("claimtop_runaway", 3, flags, |context| {
        Ok(lease(context)?
            .filter(|(_, length)| length.is_positive())
            .map(|(since, length)| since.plus(length).plus(length).micros()))
    })
}

/// Collects rowids into one blob: handing them over one by one costs more than finding them.
struct PackedRows;

impl Aggregate<Vec<u8>, Vec<u8>> for PackedRows {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn step(&self, context: &mut Context<'_>, rows: &mut Vec<u8>) -> rusqlite::Result<()> {
        if let ValueRef::Integer(rowid) = context.get_raw(0) {
            rows.extend(rowid.to_ne_bytes());
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, rows: Option<Vec<u8>>) -> rusqlite::Result<Vec<u8>> {
        Ok(rows.unwrap_or_default())
    }
}

/// The rowids in a blob of `claimtop_rows`.
pub fn unpack(packed: &[u8]) -> impl Iterator<Item = i64> + '_ {
    packed.as_chunks::<8>().0.iter().map(|bytes| i64::from_ne_bytes(*bytes))
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
