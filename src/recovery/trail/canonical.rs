//! Canonical JSON: the one text of a value that is hashed and written.
//!
//! Keys are sorted by their bytes, there is no white space, and characters that could act on a terminal are written as
//! `\uXXXX`, so that even `cat` on the journal is harmless.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use std::io;

use crate::domain::visible::is_deceptive;

pub(super) fn canonical(value: &impl Serialize) -> serde_json::Result<String> {
    let value = serde_json::to_value(value)?;
    let mut bytes = Vec::new();
    write_canonical(&mut bytes, &SortedKeys(&value))?;
    String::from_utf8(bytes).map_err(serde::ser::Error::custom)
}

/// Appends the text of a value whose keys are sorted already.
pub(super) fn write_canonical(bytes: &mut Vec<u8>, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(bytes, CanonicalFormatter))
}

/// A value, serialized with its keys sorted.
#[derive(Debug, Clone, Copy)]
pub struct SortedKeys<'a>(pub &'a Value);

impl Serialize for SortedKeys<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(all) => serializer.collect_seq(all.iter().map(SortedKeys)),
            Value::Object(map) => {
                let mut entries: Vec<(&String, SortedKeys<'_>)> =
                    map.iter().map(|(key, value)| (key, SortedKeys(value))).collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                serializer.collect_map(entries)
            }
            plain => plain.serialize(serializer),
        }
    }
}

struct CanonicalFormatter;

impl Formatter for CanonicalFormatter {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // The usual case: nothing in it needs an escape.
        if fragment.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return writer.write_all(fragment.as_bytes());
        }
        let mut plain = 0;
        for (at, c) in fragment.char_indices().filter(|(_, c)| is_deceptive(*c)) {
            writer.write_all(&fragment.as_bytes()[plain..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            plain = at + c.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[plain..])
    }
}
