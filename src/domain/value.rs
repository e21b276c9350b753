//! One cell of a database, and the key of a row.

use std::borrow::Cow;
use std::str::Utf8Chunk;

use super::visible::{escape, visible};

/// A cell, of whatever type the database put there.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    /// A text that is not UTF-8.
    BadText(Vec<u8>),
    Bytes(Vec<u8>),
}

impl Value {
    /// The value as plain text, for comparison and for JSON; `None` for NULL.
    pub fn text(&self) -> Option<String> {
        match self {
            Value::Null => None,
            Value::Text(text) => Some(text.clone()),
            Value::Int(_) | Value::Real(_) | Value::BadText(_) | Value::Bytes(_) => Some(self.visible()),
        }
    }

    /// The value as an operator may see it on a terminal; no two values look the same.
    ///
    /// A backslash of a text is doubled, so whatever begins with a single one here is no text:
    /// NULL is `\N`, a blob `\x{..}`, a byte that is not UTF-8 `\xff`.
    pub fn visible(&self) -> String {
        match self {
            Value::Null => "\\N".into(),
            Value::Int(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            Value::Text(text) => visible(text),
            Value::BadText(bytes) => bytes.utf8_chunks().map(|chunk| mixed(&chunk)).collect(),
            Value::Bytes(bytes) => hex("\\x{", bytes, "}"),
        }
    }

    /// The value in an address. A tilde, which texts have encoded, marks what is no text.
    fn address(&self) -> String {
        match self {
            Value::Null => "~null".into(),
            Value::Text(text) => percent(text).into_owned(),
            Value::Int(_) | Value::Real(_) => percent(&self.text().unwrap_or_default()).into_owned(),
            Value::BadText(bytes) => hex("~t", bytes, ""),
            Value::Bytes(bytes) => hex("~x", bytes, ""),
        }
    }

    /// What the value is, for a message about why it cannot be used.
    pub fn describe(&self) -> String {
        match self {
            Value::Null => "NULL".into(),
            Value::Int(number) => format!("the number {number}"),
            Value::Real(number) => format!("the number {number}"),
            Value::Text(text) => format!("the text \"{}\"", clipped(text)),
            Value::BadText(bytes) => format!("a text of {} bytes that is not UTF-8", bytes.len()),
            Value::Bytes(bytes) => format!("a blob of {} bytes", bytes.len()),
        }
    }

    /// A whole number, or a real that is one.
    pub fn int(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            Value::Real(number) if number.fract() == 0.0 && number.abs() < 9e15 => Some(*number as i64),
            Value::Null | Value::Real(_) | Value::Text(_) | Value::BadText(_) | Value::Bytes(_) => None,
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

/// A stretch of text, and the bytes after it that are none.
fn mixed(chunk: &Utf8Chunk<'_>) -> String {
    let bytes = chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}"));
    escape(chunk.valid()) + &bytes.collect::<String>()
}

fn hex(before: &str, bytes: &[u8], after: &str) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{before}{digits}{after}")
}

/// The identity of a claim inside its board: one value, or several for a composite key.
#[derive(Debug, Clone, PartialEq)]
pub struct Key(pub Vec<Value>);

impl Key {
    /// The parts joined by commas, unescaped: the `id` of the JSON output.
    pub fn text(&self) -> String {
        self.joined(|value| value.text().unwrap_or_else(|| value.visible()))
    }

    /// The parts joined by commas, safe for a terminal; a comma inside a part is escaped.
    pub fn visible(&self) -> String {
        match &self.0[..] {
            [only] => only.visible(),
            _ => self.joined(|value| value.visible().replace(',', "\\u{2c}")),
        }
    }

    /// The parts percent-encoded and joined by commas: the last segment of a claim's address.
    pub fn address(&self) -> String {
        self.joined(Value::address)
    }

    fn joined(&self, part: impl Fn(&Value) -> String) -> String {
        if let [only] = &self.0[..] {
            return part(only);
        }
        self.0.iter().map(part).collect::<Vec<_>>().join(",")
    }
}

/// Percent-encodes everything but letters, digits and `-._:@`.
pub fn percent(text: &str) -> Cow<'_, str> {
    const KEPT: percent_encoding::AsciiSet =
        percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b':').remove(b'@');
    percent_encoding::utf8_percent_encode(text, &KEPT).into()
}
