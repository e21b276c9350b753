//! Times in the format of the tables.

use rusqlite::types::ValueRef;

use crate::domain::time::{Reading, TimeUnit};
use crate::domain::value::Value;

/// Reads every time format that the profile reads; `None` for anything else.
pub(super) fn stamp(cell: ValueRef<'_>) -> Reading {
    let value = match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    };
    TimeUnit::Timestamptz.read(&value)
}
