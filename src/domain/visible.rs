//! Strings of a database, made safe and unmistakable for human eyes.
//!
//! [`visible`] is injective: two different strings never look the same. Controls, C1 codes, bidi
//! and zero-width characters, odd spaces and the backslash itself are shown escaped and never
//! dropped; a string with letters beyond ASCII, which may look alike in many ways, and a string
//! that had to be cut carry a short fingerprint of the whole.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Longer strings than this many characters are cut in the middle.
const LONGEST: usize = 64;

/// The string as it may be shown to a person.
pub fn visible(text: &str) -> String {
    if text.is_empty() {
        return "\"\"".into();
    }
    if is_plain(text) {
        return text.to_owned();
    }
    let escaped = escape(text);
    let count = escaped.chars().count();
    if count > LONGEST {
        let head: String = escaped.chars().take(LONGEST / 2).collect();
        let tail: String = escaped.chars().skip(count - LONGEST / 5).collect();
        return format!("{head}…{tail}[{} bytes#{}]", text.len(), fingerprint(text));
    }
    if escaped.is_ascii() {
        return escaped;
    }
    format!("{escaped}[#{}]", fingerprint(text))
}

/// Short printable ASCII without anything that needs an escape: nearly every id there is.
fn is_plain(text: &str) -> bool {
    text.len() <= LONGEST
        && text.bytes().all(|byte| (0x20..0x7f).contains(&byte) && byte != b'\\')
        && !text.starts_with([' ', '"'])
        && !text.ends_with([' ', ']'])
}

/// Twelve hex digits of the string's digest. With six, two of a few thousand ids would look alike by chance, and
/// whoever chooses ids could make one that looks like another.
fn fingerprint(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// The whole string with everything deceptive escaped: for messages and data files, where a
/// string may be long and stands beside no look-alike.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let last = text.chars().count().saturating_sub(1);
    for (at, c) in text.chars().enumerate() {
        let edge = at == 0 || at == last;
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' ' if edge => out.push_str("\\u{20}"),
            // A bare one at the edge could pass for the marks that this module itself sets.
            '"' if at == 0 => out.push_str("\\u{22}"),
            ']' if at == last => out.push_str("\\u{5d}"),
            c if is_deceptive(c) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// The text of a message, with nothing in it that could act on a terminal or begin a line.
pub fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            c if is_deceptive(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Characters that act on a terminal, show nothing, or reorder or alter their neighbours.
pub fn is_deceptive(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    if c.is_control() || c.is_whitespace() {
        return true;
    }
    let width = unicode_width::UnicodeWidthChar::width(c);
    // Zero width: combining marks, joiners, bidi marks, tags, variation selectors.
    width.is_none_or(|columns| columns == 0)
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffd}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_ids_stay_as_they_are() {
        for id in ["task-1", "session abc", "a/b:c@d", "host:web1 pid:4312"] {
            assert_eq!(visible(id), id);
        }
    }

    #[test]
    fn nothing_that_drives_a_terminal_survives() {
        let hostile = "\u{1b}]52;c;aGk=\u{7}\u{9b}2J\r\n\tx\u{202e}y\u{200b}z\u{feff}\u{e0041}";
        let shown = visible(hostile);
        assert!(shown.chars().all(|c| !is_deceptive(c)), "{shown}");
        assert!(shown.contains("\\u{1b}") && escape(hostile).contains("\\u{202e}"));
    }

    #[test]
    fn look_alikes_are_told_apart() {
        let twins = [
            ("task-1", "task\t-1"),
            ("task-1", "task-1 "),
            ("task-1", " task-1"),
            ("a\nb", "a\\nb"),
            ("a", "\u{430}"),
            ("\u{e9}", "e\u{301}"),
            ("", "\"\""),
            ("a\u{a0}b", "a b"),
            ("x[#ab]", "x"),
        ];
        for (one, other) in twins {
            assert_ne!(visible(one), visible(other));
        }
    }

    #[test]
    fn a_huge_id_is_cut_and_still_unique() {
        let one = "a".repeat(100_000);
        let mut other = one.clone();
        other.replace_range(50_000..50_001, "b");
        assert!(visible(&one).chars().count() < 100);
        assert_ne!(visible(&one), visible(&other));
    }
}
