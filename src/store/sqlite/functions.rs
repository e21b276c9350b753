//! SQL functions for times that SQLite cannot compare by itself.
//!
//! They run the very code that reads single rows, so a statement over a million rows and a look
//! at one of them cannot disagree.

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;

use super::cell::owned;
use super::keys::{KeyCell, Keys};
use crate::domain::claim::Timeout;
use crate::domain::rules::Thresholds;
use crate::domain::time::{Moment, Offset, Span, TimeUnit, Zone};
use crate::domain::value::Value;
use crate::store::registrations::Remembered;

/// Registers the functions on a connection.
pub(super) fn register(connection: &Connection, keys: &Keys) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("claimtop_time", 2, flags, |context| {
        Ok(moment(context)?.map(Moment::micros))
    })?;
    // The same of cells that name no zone, and nothing of all others.
    connection.create_scalar_function("claimtop_naive", 2, flags, |context| {
        let (unit, zone) = decoded(context.get(1)?);
        Ok(unit.read_naive(&owned(context.get_raw(0)), zone).map(Moment::micros))
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
    super::conditions::register(connection)?;
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
        Ok(KeyCell(parts.and_then(|parts| parts.into_iter().nth(place)).unwrap_or(Value::Null)))
    })?;
    // From when on it has taken twice its time.
    connection.create_scalar_function("claimtop_runaway", 3, flags, |context| {
        Ok(lease(context)?
            .filter(|(_, length)| length.is_positive())
            .map(|(since, length)| since.plus(length).plus(length).micros()))
    })
}

/// Registers the function that knows who was in a registry before: `claimtop_is_gone(table, holder)`.
pub(super) fn remember(connection: &Connection, remembered: Remembered) -> rusqlite::Result<()> {
    connection.create_scalar_function("claimtop_is_gone", 2, FunctionFlags::SQLITE_UTF8, move |context| {
        let (table, holder) = (owned(context.get_raw(0)).text(), owned(context.get_raw(1)).text());
        Ok(table.zip(holder).is_some_and(|(table, holder)| remembered.is_gone(&table, &holder)))
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
pub(super) fn unpack(packed: &[u8]) -> impl Iterator<Item = i64> + '_ {
    packed.as_chunks::<8>().0.iter().map(|bytes| i64::from_ne_bytes(*bytes))
}

/// The number under which a unit and the zone of texts without one are passed to the functions.
pub(super) fn code(unit: TimeUnit, zone: Zone) -> i64 {
    let zone = match zone {
        Zone::Utc => 0,
        Zone::Host => 1,
        Zone::Offset(offset) => UTC + i64::from(offset.minutes()),
    };
    unit_code(unit) + UNITS * zone
}

/// More than there are units.
const UNITS: i64 = 8;
/// An offset of nothing; the largest is less than a day.
const UTC: i64 = 2_000;

fn decoded(code: i64) -> (TimeUnit, Zone) {
    let zone = match code.div_euclid(UNITS) {
        0 => Zone::Utc,
        1 => Zone::Host,
        other => Zone::Offset(Offset::of_minutes(i16::try_from(other - UTC).unwrap_or_default())),
    };
    (unit(code.rem_euclid(UNITS)), zone)
}

fn unit_code(unit: TimeUnit) -> i64 {
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
    let (unit, zone) = decoded(context.get(1)?);
    Ok(unit.read_in(&owned(context.get_raw(0)), zone).at())
}

/// The arguments (claimed_at, unit, seconds), if all can be read.
fn lease(context: &Context<'_>) -> rusqlite::Result<Option<(Moment, Span)>> {
    let timeout = Timeout::read(&owned(context.get_raw(2)));
    Ok(moment(context)?.zip(timeout.span()))
}
