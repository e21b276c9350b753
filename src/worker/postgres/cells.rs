//! Cells of a row, and values for them, as text.

use chrono::DateTime;

use crate::domain::time::Moment;
use crate::postgres::Row;
use crate::worker::WorkerError;

/// The text of a cell that is never NULL.
pub(super) fn text(row: &Row, at: usize) -> Result<String, WorkerError> {
    optional(row, at).ok_or_else(|| unreadable(at, "no text"))
}

pub(super) fn optional(row: &Row, at: usize) -> Option<String> {
    row.get(at).map(str::to_owned)
}

pub(super) fn number(row: &Row, at: usize) -> Result<i64, WorkerError> {
    row.get(at).and_then(|text| text.parse().ok()).ok_or_else(|| unreadable(at, "no number"))
}

pub(super) fn flag(row: &Row, at: usize) -> bool {
    row.get(at) == Some("true")
}

/// A time; `None` for infinity, which is not an instant.
pub(super) fn moment(row: &Row, at: usize) -> Option<Moment> {
    row.get(at).and_then(Moment::parse)
}

/// A time in UTC with microseconds, as all our sessions use it.
pub(super) fn stamp(moment: Moment) -> String {
    let time = DateTime::from_timestamp_micros(moment.micros()).unwrap_or_default();
    time.format("%Y-%m-%d %H:%M:%S%.6f").to_string()
}

/// The same with its zone, for sessions in another zone.
pub(super) fn zoned(moment: Moment) -> String {
    stamp(moment) + "+00"
}

/// A name as a UUID, if it is one: these tables have no other names.
pub(super) fn uuid(text: &str) -> Option<String> {
    uuid::Uuid::parse_str(text).ok().map(|uuid| uuid.to_string())
}

/// JSON, or the text itself if it is not JSON.
pub(super) fn json(text: String) -> serde_json::Value {
    serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text))
}

fn unreadable(at: usize, what: &str) -> WorkerError {
    WorkerError::Invalid(format!("the table is not the system's: {what} in place {}", at + 1))
}
