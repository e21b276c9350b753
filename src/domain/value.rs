//! One cell of a database, and the key of a row.

use std::fmt::Write as _;

use super::visible::visible;

/// A cell, of whatever type the database put there.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    /// A blob, or text that is not UTF-8.
    Bytes(Vec<u8>),
}

impl Value {
    /// The value as plain text, for comparison and for JSON; `None` for NULL.
    ///
    /// Bytes become `\x{..}`; in a [`visible`] rendering a backslash of a text is doubled, so the
    /// two cannot be confused on a screen.
    pub fn text(&self) -> Option<String> {
        match self {
            Value::Null => None,
            Value::Int(number) => Some(number.to_string()),
            Value::Real(number) => Some(number.to_string()),
            Value::Text(text) => Some(text.clone()),
            Value::Bytes(bytes) => Some(hex(bytes)),
        }
    }

    /// The value as an operator may see it on a terminal.
    pub fn visible(&self) -> String {
        match self {
            Value::Null => "NULL".into(),
            Value::Bytes(bytes) => hex(bytes),
            Value::Int(_) | Value::Real(_) => self.text().unwrap_or_default(),
            Value::Text(text) => visible(text),
        }
    }

    /// What the value is, for a message about why it cannot be used.
    pub fn describe(&self) -> String {
        match self {
            Value::Null => "NULL".into(),
            Value::Int(number) => format!("the number {number}"),
            Value::Real(number) => format!("the number {number}"),
            Value::Text(text) => format!("the text \"{}\"", clipped(text)),
            Value::Bytes(bytes) => format!("{} bytes that are no text", bytes.len()),
        }
    }

    /// A whole number, or a real that is one.
    pub fn int(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            Value::Real(number) if number.fract() == 0.0 && number.abs() < 9e15 => Some(*number as i64),
            Value::Null | Value::Real(_) | Value::Text(_) | Value::Bytes(_) => None,
        }
    }
}

fn clipped(text: &str) -> String {
    let shown = visible(text);
    match shown.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::from("\\x{");
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.push('}');
    text
}

/// The identity of a claim inside its board: one value, or several for a composite key.
#[derive(Debug, Clone, PartialEq)]
pub struct Key(pub Vec<Value>);

impl Key {
    /// The parts joined by commas, unescaped: the `id` of the JSON output.
    pub fn text(&self) -> String {
        self.joined(|value| value.text().unwrap_or_else(|| "NULL".into()))
    }

    /// The parts joined by commas, safe for a terminal.
    pub fn visible(&self) -> String {
        self.joined(Value::visible)
    }

    /// The parts percent-encoded and joined by commas: the last segment of a claim's address.
    pub fn address(&self) -> String {
        self.joined(|value| percent(&value.text().unwrap_or_default()))
    }

    fn joined(&self, part: impl Fn(&Value) -> String) -> String {
        self.0.iter().map(part).collect::<Vec<_>>().join(",")
    }
}

/// Percent-encodes everything but letters, digits and `-._~:@`.
pub fn percent(text: &str) -> String {
    const KEPT: percent_encoding::AsciiSet = percent_encoding::NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~')
        .remove(b':')
        .remove(b'@');
    percent_encoding::utf8_percent_encode(text, &KEPT).to_string()
}
