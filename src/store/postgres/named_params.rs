//! The named values of a profile's SQL, put where PostgreSQL wants them.
//!
//! Profiles write `:now` and `:why`; the server knows `$1` and `$2`. Every value travels as text and
//! is cast where it stands, so that no driver has to guess types.

use crate::domain::time::{Moment, Span, TimeUnit};
use crate::store::bound::BoundZone;

/// A value with its name and the SQL that stands for it.
#[derive(Debug, Clone)]
struct Param {
    name: String,
    /// `{}` stands for the parameter.
    sql: String,
    value: Value,
}

#[derive(Debug, Clone)]
enum Value {
    /// Sent along.
    Sent(Option<String>),
    /// Written into the statement: a column of something that is joined.
    Written,
}

/// Named values, in the order in which they were added; the first of a name counts.
#[derive(Debug, Clone, Default)]
pub struct NamedParams(Vec<Param>);

impl NamedParams {
    /// A value of a type.
    pub fn add(&mut self, name: &str, kind: &str, value: Option<impl Into<String>>) {
        let sql = if kind.is_empty() { "{}".into() } else { format!("({{}})::{kind}") };
        self.0.push(Param { name: name.into(), sql, value: Value::Sent(value.map(Into::into)) });
    }

    /// A value that `sql` computes out of the parameter `{}`.
    pub fn add_as(&mut self, name: &str, sql: &str, value: Option<String>) {
        self.0.push(Param { name: name.into(), sql: sql.into(), value: Value::Sent(value) });
    }

    /// A name for a piece of SQL.
    pub fn add_sql(&mut self, name: &str, sql: &str) {
        self.0.push(Param { name: name.into(), sql: sql.into(), value: Value::Written });
    }

    /// An instant as a column of `unit` holds it, times without a zone in `zone`.
    pub fn add_time(&mut self, name: &str, unit: TimeUnit, zone: &BoundZone, moment: Moment) {
        match unit {
            TimeUnit::UnixS | TimeUnit::UnixMs | TimeUnit::UnixUs | TimeUnit::UnixNs => {
                let scaled = i128::from(moment.micros()) * i128::from(unit.per_second()) / 1_000_000;
                self.add(name, "bigint", Some(scaled.to_string()));
            }
            TimeUnit::TextUtc => {
                self.add(name, "text", Some(zone.own.unwrap_or_default().text(moment)));
            }
            TimeUnit::Timestamptz => self.add(name, "timestamptz", Some(stamp(moment))),
            TimeUnit::Timestamp => {
                let sql = format!("(({{}})::timestamptz AT TIME ZONE {})", super::schema::literal(&zone.sql));
                self.add_as(name, &sql, Some(stamp(moment)));
            }
        }
    }

    /// A length of time as it is added to columns of `unit`.
    pub fn add_span(&mut self, name: &str, unit: TimeUnit, span: Span) {
        if unit.is_number() {
            let scaled = i128::from(span.as_micros()) * i128::from(unit.per_second()) / 1_000_000;
            self.add(name, "bigint", Some(scaled.to_string()));
        } else {
            self.add(name, "interval", Some(format!("{} microseconds", span.as_micros())));
        }
    }

    pub fn extend(&mut self, more: NamedParams) {
        self.0.extend(more.0);
    }

    /// The statement with every name for a piece of SQL replaced by that; pieces may name others.
    fn written_out(&self, sql: &str) -> String {
        let mut out = sql.to_owned();
        for _ in 0..2 {
            let written = |piece: Piece<'_>| match piece {
                Piece::Text(text) => text.to_owned(),
                Piece::Name(name) => match self.0.iter().find(|word| word.name == name) {
                    Some(Param { value: Value::Written, sql, .. }) => sql.clone(),
                    _ => format!(":{name}"),
                },
            };
            out = pieces(&out).into_iter().map(written).collect();
        }
        out
    }

    /// The statement with numbered parameters, and their values.
    pub fn put_into(&self, sql: &str) -> Put {
        let sql = &self.written_out(sql);
        let mut put = Put { sql: String::with_capacity(sql.len() + 64), values: Vec::new() };
        let mut numbers: Vec<Option<usize>> = vec![None; self.0.len()];
        for piece in pieces(sql) {
            let found = match piece {
                Piece::Name(name) => self.0.iter().position(|word| word.name == name),
                Piece::Text(_) => None,
            };
            match (piece, found) {
                (_, Some(at)) => {
                    let word = &self.0[at];
                    match &word.value {
                        Value::Written => put.sql.push_str(&word.sql),
                        Value::Sent(value) => {
                            let number = *numbers[at].get_or_insert_with(|| {
                                put.values.push(value.clone());
                                put.values.len()
                            });
                            put.sql.push_str(&word.sql.replace("{}", &format!("${number}::text")));
                        }
                    }
                }
                (Piece::Name(name), None) => {
                    put.sql.push(':');
                    put.sql.push_str(name);
                }
                (Piece::Text(text), None) => put.sql.push_str(text),
            }
        }
        put
    }

    /// The values that a statement names, for people.
    pub fn shown_in(&self, sql: &str) -> String {
        let mut shown: Vec<String> = Vec::new();
        for piece in pieces(sql) {
            let Piece::Name(name) = piece else { continue };
            let Some(word) = self.0.iter().find(|word| word.name == name) else { continue };
            let value = match &word.value {
                Value::Written => word.sql.clone(),
                Value::Sent(None) => "NULL".into(),
                Value::Sent(Some(text)) => format!("'{}'", crate::domain::visible::visible(text)),
            };
            let line = format!(":{name} = {value}");
            if !shown.contains(&line) {
                shown.push(line);
            }
        }
        shown.join(", ")
    }
}

/// A statement that can be sent.
#[derive(Debug, Clone)]
pub struct Put {
    pub sql: String,
    pub values: Vec<Option<String>>,
}

impl Put {
    pub fn values(&self) -> Vec<Option<&str>> {
        self.values.iter().map(Option::as_deref).collect()
    }
}

/// An instant as PostgreSQL writes it, to the microsecond.
pub fn stamp(moment: Moment) -> String {
    let time = chrono::DateTime::from_timestamp_micros(moment.micros()).unwrap_or_default();
    time.format("%Y-%m-%d %H:%M:%S%.6f+00").to_string()
}

/// An array of texts as PostgreSQL reads one.
pub fn array(texts: impl IntoIterator<Item = Option<impl AsRef<str>>>) -> String {
    let mut all = String::from("{");
    for (at, text) in texts.into_iter().enumerate() {
        if at > 0 {
            all.push(',');
        }
        match text {
            None => all.push_str("NULL"),
            Some(text) => {
                all.push('"');
                let mut rest = text.as_ref();
                while let Some(at) = rest.find(['"', '\\']) {
                    all.push_str(&rest[..at]);
                    all.push('\\');
                    all.push_str(&rest[at..=at]);
                    rest = &rest[at + 1..];
                }
                all.push_str(rest);
                all.push('"');
            }
        }
    }
    all.push('}');
    all
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
                quoted_length(rest, b'\'', escapes)
            }
            b'"' => quoted_length(rest, b'"', false),
            b'-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => comment_length(rest),
            b'$' => dollar_length(rest),
            b':' if rest.starts_with("::") => 2,
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

fn name_length(text: &str) -> usize {
    let starts = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if !starts {
        return 0;
    }
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}

/// The length of a quoted stretch, to its end or that of the text.
fn quoted_length(text: &str, quote: u8, escapes: bool) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Comments nest.
fn comment_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// `$tag$ ... $tag$`, or just the dollar.
fn dollar_length(text: &str) -> usize {
    let Some(end) = text[1..].find('$') else { return 1 };
    let tag = &text[..end + 2];
    let is_tag = tag[1..=end].bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !tag[1..].bytes().next().is_some_and(|byte| byte.is_ascii_digit());
    if !is_tag {
        return 1;
    }
    text[tag.len()..].find(tag).map_or(text.len(), |at| at + 2 * tag.len())
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

    #[test]
    fn a_name_becomes_a_numbered_parameter_and_the_same_one_everywhere() {
        let put = params().put_into("SELECT :why, :now, :why::varchar, a[1:2], :other, x :: int");
        assert_eq!(
            put.sql,
            "SELECT ($1::text)::text, ($2::text)::timestamptz, ($1::text)::text::varchar, a[1:2], :other, x :: int"
        );
        assert_eq!(put.values, [Some("it's old".to_owned()), Some("2026-11-15".to_owned())]);
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
            assert_eq!(params().put_into(sql).sql, sql);
        }
        assert_eq!(params().put_into("'a':now").sql, "'a'($1::text)::timestamptz");
        assert_eq!(params().put_into("$1 :now").sql, "$1 ($1::text)::timestamptz");
    }

    #[test]
    fn an_array_survives_quotes_and_commas() {
        assert_eq!(array([Some("a"), None, Some("b\"c\\d,e{}")]), "{\"a\",NULL,\"b\\\"c\\\\d,e{}\"}");
    }
}
