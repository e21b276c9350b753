//! Cells between PostgreSQL's texts and our values. Reading one never fails.

use std::borrow::Cow;

use super::column_type::{is_number, is_whole};
use crate::domain::value::Value;
use crate::postgres::link;
use crate::store::driver::Row;

impl Row for link::Row {
    /// A cell that was selected as text, by the type it has in the database.
    fn value(&self, at: usize, declared: &str) -> Value {
        let Some(bytes) = self.bytes(at) else { return Value::Null };
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

    fn number(&self, at: usize) -> Value {
        let Some(text) = self.get(at) else { return self.value(at, "") };
        match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(whole), _) => Value::Int(whole),
            (_, Ok(real)) => Value::Real(real),
            _ => Value::Text(text.into()),
        }
    }

    /// PostgreSQL's ends of time are ours.
    fn time(&self, at: usize, declared: &str) -> Value {
        match self.get(at) {
            Some("infinity") => Value::Text("9999-12-31 23:59:59.999999+00".into()),
            Some("-infinity") => Value::Text("0001-01-01 00:00:00+00".into()),
            Some(_) if is_number(declared) => self.number(at),
            _ => self.value(at, declared),
        }
    }

    fn text(&self, at: usize) -> Option<String> {
        self.value(at, "").text()
    }

    fn is_true(&self, at: usize) -> bool {
        self.get(at) == Some("true")
    }
}

/// The value as it is sent.
pub(super) fn sent(value: &Value) -> Option<Cow<'_, str>> {
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
