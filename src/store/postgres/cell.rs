//! Cells between PostgreSQL's texts and our values. Reading one never fails.

use std::borrow::Cow;

use super::dialect::{is_number, is_whole};
use super::link::Row;
use crate::domain::value::Value;

/// A cell that was selected as text, by the type it has in the database.
pub fn cell(row: &Row, at: usize, declared: &str) -> Value {
    let Some(bytes) = row.bytes(at) else { return Value::Null };
    let Ok(text) = std::str::from_utf8(bytes) else { return Value::BadText(bytes.into()) };
    if is_whole(declared) {
        return text.parse().map_or_else(|_| Value::Text(text.into()), Value::Int);
    }
    if declared == "bytea"
        && let Some(bytes) = unhex(text)
    {
        return Value::Bytes(bytes);
    }
    Value::Text(text.into())
}

/// The same for what is computed with: a number if it reads like one.
pub fn number(row: &Row, at: usize) -> Value {
    let Some(text) = row.get(at) else { return cell(row, at, "") };
    match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(whole), _) => Value::Int(whole),
        (_, Ok(real)) => Value::Real(real),
        _ => Value::Text(text.into()),
    }
}

/// A time: PostgreSQL's ends of time are ours.
pub fn time(row: &Row, at: usize, declared: &str) -> Value {
    match row.get(at) {
        Some("infinity") => Value::Text("9999-12-31 23:59:59.999999+00".into()),
        Some("-infinity") => Value::Text("0001-01-01 00:00:00+00".into()),
        Some(_) if is_number(declared) => number(row, at),
        _ => cell(row, at, declared),
    }
}

pub fn text(row: &Row, at: usize) -> Option<String> {
    cell(row, at, "").text()
}

pub fn is_true(row: &Row, at: usize) -> bool {
    row.get(at) == Some("true")
}

/// The value as it is sent.
pub fn sent(value: &Value) -> Option<Cow<'_, str>> {
    Some(match value {
        Value::Null => return None,
        Value::Int(number) => number.to_string().into(),
        Value::Real(number) => number.to_string().into(),
        Value::Text(text) => text.into(),
        Value::Bytes(bytes) => {
            bytes.iter().fold("\\x".to_owned(), |all, byte| all + &format!("{byte:02x}")).into()
        }
        // The database itself holds such a thing only if it promises no encoding; it cannot be sent.
        Value::BadText(bytes) => String::from_utf8_lossy(bytes),
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?;
    (0..digits.len() / 2).map(|at| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()).collect()
}
