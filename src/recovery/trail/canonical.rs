//! One text for one value: the JSON that is hashed and written.
//!
//! Keys are sorted by their bytes, there is no white space, and what could act on a terminal is
//! written as `\uXXXX`, so that even `cat` on the journal is harmless.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io;

use crate::domain::visible::is_deceptive;

pub(super) fn canonical(value: &impl Serialize) -> serde_json::Result<String> {
    let mut value = serde_json::to_value(value)?;
    value.sort_all_objects();
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, Escaping))?;
    String::from_utf8(bytes).map_err(serde::ser::Error::custom)
}

struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
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
