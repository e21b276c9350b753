//! The text of a draft, line by line: valid TOML, with a comment beside every value.

use crate::domain::value::Value;
use crate::domain::visible::{is_deceptive, safe};

/// A TOML file that grows.
#[derive(Debug, Default)]
pub(super) struct TomlText {
    text: String,
}

/// Longer comments are cut.
const LONGEST: usize = 200;
/// Longer samples of a value are cut.
const LONGEST_SAMPLE: usize = 40;
/// What marks a line that a person has to look at.
pub(super) const FILL_IN: &str = "FILL IN";

impl TomlText {
    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    pub(super) fn comment(&mut self, text: &str) {
        let text = one_line(text);
        self.text.push_str(if text.is_empty() { "#" } else { "# " });
        self.text.push_str(&text);
        self.text.push('\n');
    }

    pub(super) fn heading(&mut self, heading: &str, comment: &str) {
        self.text.push_str(heading);
        self.beside(comment);
    }

    /// `key = value  # comment`, where the value is TOML already.
    pub(super) fn line(&mut self, key: &str, value: &str, comment: &str) {
        self.text.push_str(&format!("{key:<12} = {value}"));
        self.beside(comment);
    }

    /// The same, commented out.
    pub(super) fn off(&mut self, key: &str, value: &str, comment: &str) {
        self.text.push_str("# ");
        self.line(key, value, comment);
    }

    fn beside(&mut self, comment: &str) {
        if !comment.is_empty() {
            self.text.push_str("  # ");
            self.text.push_str(&one_line(comment));
        }
        self.text.push('\n');
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// A comment ends with its line, and nothing in it may act on a terminal.
fn one_line(text: &str) -> String {
    let escaped = safe(text.trim_end());
    let cut: String = escaped.chars().take(LONGEST).collect();
    if cut.len() < escaped.len() { format!("{cut}…") } else { cut }
}

/// A string as TOML, on one line so that it can be commented out.
pub(super) fn toml_string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if is_deceptive(c) => out.push_str(&format!("\\U{:08X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A key of a TOML table.
pub(super) fn toml_key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { toml_string(name) }
}

/// Samples of a column for a comment.
pub(super) fn samples(values: &[&Value]) -> String {
    let shown: Vec<String> = values.iter().map(|value| sample(value)).collect();
    if shown.is_empty() { "no value seen".into() } else { format!("such as {}", shown.join(", ")) }
}

/// One value for a comment.
pub(super) fn sample(value: &Value) -> String {
    let text = value.visible();
    let cut: String = text.chars().take(LONGEST_SAMPLE).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
