//! Pieces of SQL for a draft.

use crate::domain::value::Value;

/// A column as SQL, quoted where it has to be.
pub(super) fn column_sql(alias: &str, name: &str) -> String {
    if is_plain(name) {
        format!("{alias}.{name}")
    } else {
        format!("{alias}.\"{}\"", name.replace('"', "\"\""))
    }
}

/// Names that mean the same with and without quotes on every engine.
fn is_plain(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c == '_';
    name.chars().next().is_some_and(is_letter)
        && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
        && !RESERVED.contains(&name)
}

/// Words that a column is called now and then and that SQL needs for itself.
const RESERVED: [&str; 22] = [
    "order",
    "group",
    "user",
    "desc",
    "asc",
    "from",
    "to",
    "when",
    "end",
    "limit",
    "offset",
    "table",
    "column",
    "check",
    "default",
    "primary",
    "references",
    "case",
    "in",
    "is",
    "not",
    "null",
];

/// A value as SQL.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Null | Value::BadText(_) | Value::Bytes(_) => "NULL".into(),
    }
}
