//! JSON whose text is safe on a terminal.
//!
//! serde_json leaves DEL, C1 codes, bidi and zero-width characters as they are. Here they are written as `\uXXXX`:
//! every parser reads the same value, and a terminal is not affected.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io;

use crate::domain::visible::is_deceptive;

/// The value on one line.
pub fn line(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, EscapingFormatter);
    // Writing to memory cannot fail, and our values have string keys only.
    let _ = value.serialize(&mut serializer);
    String::from_utf8(bytes).unwrap_or_default()
}

struct EscapingFormatter;

impl Formatter for EscapingFormatter {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut units = [0; 2];
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_deceptive(*c)) {
            writer.write_all(&rest.as_bytes()[..at])?;
            for unit in c.encode_utf16(&mut units) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = &rest[at + c.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_deceptive_leaves_and_the_value_stays_the_same() {
        let hostile = "a\u{1b}[2J\u{9b}\u{7f}\u{202e}\u{200b}\u{e0041}\"\\\n\té";
        let text = line(&hostile);
        assert!(text.chars().all(|c| !is_deceptive(c)), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), hostile);
    }
}
