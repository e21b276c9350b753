//! Cells between SQLite's types and ours. Reading one never fails.

use rusqlite::Row;
use rusqlite::types::{Value as SqlValue, ValueRef};

use crate::domain::time::TimeUnit;
use crate::domain::value::Value;

/// The cell, whatever it holds.
pub(super) fn owned(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::Text(text.into()),
            Err(_) => Value::BadText(bytes.into()),
        },
        ValueRef::Blob(bytes) => Value::Bytes(bytes.into()),
    }
}

/// The value as a parameter. A text that is not UTF-8 cannot be one and is bound as its bytes.
pub(super) fn to_sql(value: &Value) -> SqlValue {
    match value {
        Value::Null => SqlValue::Null,
        Value::Int(number) => SqlValue::Integer(*number),
        Value::Real(number) => SqlValue::Real(*number),
        Value::Text(text) => SqlValue::Text(text.clone()),
        Value::BadText(bytes) | Value::Bytes(bytes) => SqlValue::Blob(bytes.clone()),
    }
}

/// Column `at` of a row; a column that is not there reads as NULL.
pub(super) fn cell(row: &Row<'_>, at: usize) -> Value {
    row.get_ref(at).map_or(Value::Null, owned)
}

/// The number that a column of `unit` is compared with to find the times before `micros`.
///
/// An exact integer wherever the unit allows it; a real where the bound lies between two ticks or
/// beyond 64 bits, which orders the same.
pub(super) fn bound(micros: i64, unit: TimeUnit) -> Value {
    let scaled = i128::from(micros) * i128::from(unit.per_second());
    let exact = scaled % 1_000_000 == 0;
    match i64::try_from(scaled / 1_000_000) {
        Ok(number) if exact => Value::Int(number),
        _ => Value::Real(scaled as f64 / 1e6),
    }
}
