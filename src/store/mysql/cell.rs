//! Cells between MySQL's values and ours. Reading one never fails.

use super::column_type::{TypeKind, kind};
use crate::domain::value::Value;
use crate::mysql::{Cell, Row};
use crate::store::driver;
use crate::store::named_params::NamedParams;

impl driver::Row for Row {
    /// The server says of every cell which type it has: what is declared adds nothing.
    fn value(&self, at: usize, _: &str) -> Value {
        match self.cell(at) {
            Cell::Null => Value::Null,
            Cell::Int(number) => Value::Int(*number),
            Cell::Large(number) => Value::Text(number.to_string()),
            Cell::Real(number) => Value::Real(*number),
            Cell::Text(text) => Value::Text(text.clone()),
            Cell::Bytes(bytes) => Value::Bytes(bytes.clone()),
            Cell::BadText(bytes) => Value::BadText(bytes.clone()),
        }
    }

    fn number(&self, at: usize) -> Value {
        let Cell::Text(text) = self.cell(at) else { return self.value(at, "") };
        match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(whole), _) => Value::Int(whole),
            (_, Ok(real)) => Value::Real(real),
            _ => Value::Text(text.clone()),
        }
    }

    fn time(&self, at: usize, declared: &str) -> Value {
        match kind(declared) {
            TypeKind::Whole | TypeKind::Number => self.number(at),
            _ => self.value(at, declared),
        }
    }

    fn text(&self, at: usize) -> Option<String> {
        self.value(at, "").text()
    }

    fn is_true(&self, at: usize) -> bool {
        Row::is_true(self, at)
    }
}

/// A statement that can be sent.
#[derive(Debug)]
pub(super) struct Put {
    pub sql: String,
    pub values: Vec<mysql_async::Value>,
}

/// The statement with a place for every value, and the values.
pub(super) fn put(params: &NamedParams, sql: &str) -> Put {
    let (sql, values) = params.positional(sql, sent);
    Put { sql, values }
}

/// The value as it is sent. A text column is compared with texts only: a number would match every text that begins
/// with its digits, and no index would answer.
fn sent(value: &Value, declared: &str) -> mysql_async::Value {
    use mysql_async::Value as Sent;
    match (value, kind(declared)) {
        (Value::Null, _) => Sent::NULL,
        (Value::Int(number), TypeKind::Text) => Sent::Bytes(number.to_string().into_bytes()),
        (Value::Int(number), _) => Sent::Int(*number),
        (Value::Real(number), _) => Sent::Double(*number),
        (Value::Text(text), TypeKind::Whole) => {
            let large = || text.parse().map_or_else(|_| Sent::Bytes(text.clone().into()), Sent::UInt);
            text.parse().map_or_else(|_| large(), Sent::Int)
        }
        (Value::Text(text), _) => Sent::Bytes(text.clone().into_bytes()),
        (Value::Bytes(bytes) | Value::BadText(bytes), _) => Sent::Bytes(bytes.clone()),
    }
}
