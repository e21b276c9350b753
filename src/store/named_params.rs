//! Named values of SQL: `:now`, `:why`, `:id` and whatever else a profile or the program writes.
//!
//! SQL names its values the same way for every engine. SQLite binds them by their names; a server gets
//! numbered parameters, and every value travels as text and is cast where it stands, so that no driver
//! has to guess types.

use super::sql_text::{comment_length, dollar_length, dollar_tag, quoted_length};
use crate::domain::value::Value;
use crate::domain::visible::visible;

/// A value with its name and the SQL that stands for it.
#[derive(Debug, Clone)]
struct Param {
    /// Without the colon.
    name: String,
    /// `{}` stands for the parameter. Only engines with typed parameters write it.
    sql: String,
    value: ParamValue,
}

#[derive(Debug, Clone)]
enum ParamValue {
    /// Sent along.
    Sent(Value),
    /// Written into the statement: a column of something that is joined.
    Written,
}

/// A parameter that is cast, before the type.
const CAST: &str = "({})::";

/// Named values, in the order in which they were added; the first of a name counts.
#[derive(Debug, Clone, Default)]
pub struct NamedParams(Vec<Param>);

impl NamedParams {
    /// A text, or NULL, that an engine with types casts to `kind`; an empty `kind` leaves it a text.
    pub fn add(&mut self, name: &str, kind: &str, text: Option<impl Into<String>>) {
        self.add_value(name, kind, text.map_or(Value::Null, |text| Value::Text(text.into())));
    }

    /// A value of any type, which an engine with types casts to `kind`.
    pub fn add_value(&mut self, name: &str, kind: &str, value: Value) {
        let sql = if kind.is_empty() { "{}".into() } else { format!("{CAST}{kind}") };
        self.0.push(Param { name: name.into(), sql, value: ParamValue::Sent(value) });
    }

    /// A value that `sql` computes out of the parameter `{}`.
    pub fn add_as(&mut self, name: &str, sql: &str, value: Option<String>) {
        let value = ParamValue::Sent(value.map_or(Value::Null, Value::Text));
        self.0.push(Param { name: name.into(), sql: sql.into(), value });
    }

    /// A name for a piece of SQL.
    pub fn add_sql(&mut self, name: &str, sql: &str) {
        self.0.push(Param { name: name.into(), sql: sql.into(), value: ParamValue::Written });
    }

    /// The values that are sent, with their names.
    pub fn sent(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().filter_map(|param| match &param.value {
            ParamValue::Sent(value) => Some((param.name.as_str(), value)),
            ParamValue::Written => None,
        })
    }

    /// Whether some name stands for a piece of SQL.
    pub fn has_written(&self) -> bool {
        self.0.iter().any(|param| matches!(param.value, ParamValue::Written))
    }

    pub fn extend(&mut self, more: NamedParams) {
        self.0.extend(more.0);
    }

    /// The statement with every name for a piece of SQL replaced by that; pieces may name others.
    pub fn written_out(&self, sql: &str) -> String {
        let mut out = sql.to_owned();
        for _ in 0..2 {
            let written = |piece: Piece<'_>| match piece {
                Piece::Text(text) => text.to_owned(),
                Piece::Name(name) => match self.0.iter().find(|param| param.name == name) {
                    Some(Param { value: ParamValue::Written, sql, .. }) => sql.clone(),
                    _ => format!(":{name}"),
                },
            };
            out = pieces(&out).into_iter().map(written).collect();
        }
        out
    }

    /// The statement with numbered parameters, as `place` writes them, and their values.
    pub fn numbered(&self, sql: &str, place: impl Fn(usize) -> String) -> (String, Vec<&Value>) {
        let sql = &self.written_out(sql);
        let mut out = String::with_capacity(sql.len() + 64);
        let mut values = Vec::new();
        let mut numbers: Vec<Option<usize>> = vec![None; self.0.len()];
        for piece in pieces(sql) {
            let found = match piece {
                Piece::Name(name) => self.0.iter().position(|param| param.name == name),
                Piece::Text(_) => None,
            };
            match (piece, found) {
                (_, Some(at)) => match &self.0[at].value {
                    ParamValue::Written => out.push_str(&self.0[at].sql),
                    ParamValue::Sent(value) => {
                        let number = *numbers[at].get_or_insert_with(|| {
                            values.push(value);
                            values.len()
                        });
                        out.push_str(&self.0[at].sql.replace("{}", &place(number)));
                    }
                },
                (Piece::Name(name), None) => {
                    out.push(':');
                    out.push_str(name);
                }
                (Piece::Text(text), None) => out.push_str(text),
            }
        }
        (out, values)
    }

    /// The statement with a `?` for every value, as often as it is named, and the values in that order. `convert` makes
    /// a value of the type that it is cast to elsewhere.
    pub fn positional<T>(&self, sql: &str, convert: impl Fn(&Value, &str) -> T) -> (String, Vec<T>) {
        let sql = &self.written_out(sql);
        let (mut out, mut values) = (String::with_capacity(sql.len()), Vec::new());
        for piece in pieces(sql) {
            let found = match piece {
                Piece::Name(name) => self.0.iter().find(|param| param.name == name),
                Piece::Text(_) => None,
            };
            match (piece, found) {
                (_, Some(Param { value: ParamValue::Written, sql, .. })) => out.push_str(sql),
                (_, Some(Param { value: ParamValue::Sent(value), sql, .. })) => {
                    let kind = sql.strip_prefix(CAST);
                    values.push(convert(value, kind.unwrap_or_default()));
                    out.push_str(&if kind.is_some() { "?".into() } else { sql.replace("{}", "?") });
                }
                (Piece::Name(name), None) => out.extend([":", name]),
                (Piece::Text(text), None) => out.push_str(text),
            }
        }
        (out, values)
    }

    /// The values that a statement names, for people.
    pub fn shown_in(&self, sql: &str) -> String {
        let mut shown: Vec<String> = Vec::new();
        for piece in pieces(sql) {
            let Piece::Name(name) = piece else { continue };
            let Some(param) = self.0.iter().find(|param| param.name == name) else { continue };
            let value = match &param.value {
                ParamValue::Written => param.sql.clone(),
                ParamValue::Sent(value) => for_people(value),
            };
            let line = format!(":{name} = {value}");
            if !shown.contains(&line) {
                shown.push(line);
            }
        }
        shown.join(", ")
    }
}

impl NamedParams {
    /// The first name in a statement that stands for nothing.
    pub fn unknown_in<'a>(&self, sql: &'a str) -> Option<&'a str> {
        pieces(sql).into_iter().find_map(|piece| match piece {
            Piece::Name(name) if !self.0.iter().any(|param| param.name == name) => Some(name),
            _ => None,
        })
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|param| param.name.as_str())
    }
}

/// The statement with other names for its values.
pub(super) fn renamed(sql: &str, name: impl Fn(&str) -> String) -> String {
    let spelled = |piece: Piece<'_>| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Name(old) => format!(":{}", name(old)),
    };
    pieces(sql).into_iter().map(spelled).collect()
}

/// A value, for people.
fn for_people(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Int(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => format!("'{}'", visible(text)),
        Value::BadText(bytes) | Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    /// Without its colon.
    Name(&'a str),
}

/// Finds the names in a statement: not in strings, quoted names or comments, and not the casts.
fn pieces(sql: &str) -> Vec<Piece<'_>> {
    let bytes = sql.as_bytes();
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < bytes.len() {
        let rest = &sql[at..];
        let skipped = match bytes[at] {
            b'\'' => {
                let escapes = at > 0 && matches!(bytes[at - 1], b'e' | b'E');
                quoted_length(rest, escapes).unwrap_or(rest.len())
            }
            b'"' => quoted_length(rest, false).unwrap_or(rest.len()),
            b'-' | b'/' if rest.starts_with("--") || rest.starts_with("/*") => {
                comment_length(rest).unwrap_or(rest.len())
            }
            b'$' => dollar_tag(rest).map_or(1, |tag| dollar_length(rest, tag).unwrap_or(rest.len())),
            b':' if rest.starts_with("::") => 2,
            // `a[first:last]` is a part of an array.
            b':' if at > 0 && is_part_of_array(bytes[at - 1]) => 1,
            b':' => {
                let name = name_length(&rest[1..]);
                if name > 0 {
                    if start < at {
                        pieces.push(Piece::Text(&sql[start..at]));
                    }
                    pieces.push(Piece::Name(&rest[1..=name]));
                    at += 1 + name;
                    start = at;
                    continue;
                }
                1
            }
            _ => 1,
        };
        at += skipped.max(1);
        while at < bytes.len() && !sql.is_char_boundary(at) {
            at += 1;
        }
    }
    if start < sql.len() {
        pieces.push(Piece::Text(&sql[start..]));
    }
    pieces
}

fn is_part_of_array(before: u8) -> bool {
    before.is_ascii_alphanumeric() || matches!(before, b'_' | b']' | b')')
}

fn name_length(text: &str) -> usize {
    let starts = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if !starts {
        return 0;
    }
    let length =
        |text: &str| text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    // A column of the row as it was.
    match text.strip_prefix("old.").map(length) {
        Some(column) if column > 0 => "old.".len() + column,
        _ => length(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> NamedParams {
        let mut params = NamedParams::default();
        params.add("now", "timestamptz", Some("2026-11-15"));
        params.add("why", "text", Some("it's old"));
        params
    }

    fn numbered(sql: &str) -> String {
        params().numbered(sql, |number| format!("${number}::text")).0
    }

    #[test]
    fn a_name_becomes_a_numbered_parameter_and_the_same_one_everywhere() {
        let params = params();
        let asked = "SELECT :why, :now, :why::varchar, a[1:2], :other, x :: int";
        let (sql, values) = params.numbered(asked, |number| format!("${number}::text"));
        assert_eq!(
            sql,
            "SELECT ($1::text)::text, ($2::text)::timestamptz, ($1::text)::text::varchar, a[1:2], :other, x :: int"
        );
        assert_eq!(values, [&Value::Text("it's old".into()), &Value::Text("2026-11-15".into())]);
    }

    #[test]
    fn a_column_of_the_row_as_it_was_has_a_name_with_a_dot() {
        let mut params = params();
        params.add("old.job_id", "bigint", Some("5"));
        let (sql, _) = params.numbered("SELECT :old.job_id, :older.x", |number| format!("${number}"));
        assert_eq!(sql, "SELECT ($1)::bigint, :older.x");
        assert_eq!(params.unknown_in(":now :old.job_id :old.task"), Some("old.task"));
        assert_eq!(params.unknown_in(":now ':foo' a[first:last] a[f(1):last]"), None);
    }

    #[test]
    fn names_in_strings_comments_and_quoted_names_are_left_alone() {
        for sql in [
            "':now'",
            "'it''s :now'",
            "E'\\':now'",
            "\":now\"",
            "-- :now\n",
            "/* /* :now */ :now */",
            "$$:now$$",
            "$a$ :now $$ :now $a$",
            "'ü:now'",
            "':now",
        ] {
            assert_eq!(numbered(sql), sql);
        }
        assert_eq!(numbered("'a':now"), "'a'($1::text)::timestamptz");
        assert_eq!(numbered("$1 :now"), "$1 ($1::text)::timestamptz");
    }
}
