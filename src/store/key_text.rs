//! The key of a claim as somebody typed it: a bare id, or the last part of an address.

use crate::domain::value::Value;

/// The parts of the key that a text means on a board whose addresses begin with `prefix`; nothing, if it cannot
/// be one.
pub(super) fn key_of(wanted: &str, prefix: &str, parts: usize) -> Option<Vec<Value>> {
    let key: Vec<Value> = match wanted.strip_prefix(prefix) {
        Some(encoded) => encoded.split(',').map(decode).collect(),
        None if parts == 1 => vec![Value::Text(wanted.into())],
        None => wanted.split(',').map(|part| Value::Text(part.into())).collect(),
    };
    (key.len() == parts).then_some(key)
}

/// A part of an address, where a tilde marks what is no text.
fn decode(encoded: &str) -> Value {
    let bytes = |digits: &str| -> Option<Vec<u8>> {
        (0..digits.len() / 2).map(|at| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()).collect()
    };
    let marked = match encoded.split_at_checked(2) {
        Some(("~t", digits)) => bytes(digits).map(Value::BadText),
        Some(("~x", digits)) => bytes(digits).map(Value::Bytes),
        _ if encoded == "~null" => Some(Value::Null),
        _ => None,
    };
    let text = || percent_encoding::percent_decode_str(encoded).decode_utf8_lossy().into_owned();
    marked.unwrap_or_else(|| Value::Text(text()))
}
