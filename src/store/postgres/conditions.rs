//! Conditions of a filter in PostgreSQL. Texts are compared as bytes, so that no collation has a say.

use super::column_type::is_whole;
use super::dialect::PostgresDialect;
use super::named_params::stamp;
use crate::domain::time::{Moment, TimeUnit};
use crate::domain::value::Value;
use crate::store::bound::{BoundBoard, TimeSql};
use crate::store::conditions::{ConditionSql, HeldSince, NEVER, TypedId};
use crate::store::named_params::NamedParams;

const CAPITALS: &str = "'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'";

impl ConditionSql for PostgresDialect {
    fn reads(&self, sql: &str, text: &str, name: &str, params: &mut NamedParams) -> String {
        params.add(name, "", Some(text));
        format!("({sql})::text = :{name}")
    }

    fn contains(&self, sql: &str, part: &str, name: &str, params: &mut NamedParams) -> String {
        params.add(name, "", Some(part.to_ascii_lowercase()));
        format!("strpos(translate(({sql})::text COLLATE \"C\", {CAPITALS}), :{name}) > 0")
    }

    fn is_like(&self, sql: &str, glob: &str, name: &str, params: &mut NamedParams) -> String {
        let mut pattern = String::with_capacity(glob.len());
        for letter in glob.chars() {
            match letter {
                '*' => pattern.push('%'),
                '%' | '_' | '\\' => pattern.extend(['\\', letter]),
                _ => pattern.push(letter),
            }
        }
        params.add(name, "", Some(pattern));
        format!("(({sql})::text COLLATE \"C\") LIKE :{name} ESCAPE '\\'")
    }

    fn has_id(&self, board: &BoundBoard, id: &TypedId<'_>, name: &str, params: &mut NamedParams) -> String {
        let parts = board.id.iter().zip(&board.id_types).zip(id.key).enumerate();
        let all = parts.map(|(at, ((sql, declared), part))| {
            let name = format!("{name}_{at}");
            match stored(declared, part) {
                Stored::Null => format!("({sql}) IS NULL"),
                Stored::No => NEVER.into(),
                Stored::As { kind, text } => {
                    params.add(&name, kind, Some(text));
                    // An index on the column is of the column's own type.
                    let sql = if kind == "text" { format!("({sql})::text") } else { format!("({sql})") };
                    format!("{sql} = :{name}")
                }
            }
        });
        all.collect::<Vec<_>>().join(" AND ")
    }

    fn id_contains(&self, board: &BoundBoard, part: &str, name: &str, params: &mut NamedParams) -> String {
        let parts = board.id.iter().zip(&board.id_types).map(|(sql, declared)| match declared.as_str() {
            "bytea" => format!("coalesce('\\x{{' || encode({sql}, 'hex') || '}}', '\\N')"),
            _ => format!("coalesce(({sql})::text, '\\N')"),
        });
        let key = parts.collect::<Vec<_>>().join(" || ',' || ");
        self.contains(&key, part, name, params)
    }

    fn is_held_since(
        &self,
        board: &BoundBoard,
        since: &HeldSince<'_>,
        params: &mut NamedParams,
    ) -> Option<String> {
        let HeldSince { operator, moment, name } = *since;
        let times = [&board.claimed_at, &board.beat_at].into_iter().flatten();
        let mut sql = "FALSE".to_owned();
        for time in times.collect::<Vec<_>>().into_iter().rev() {
            let Comparable { value, readable, kind } = comparable(time)?;
            let bound = format!("{name}_{kind}");
            for (name, moment) in
                [(&bound, moment), (&earliest(kind), Moment::EARLIEST), (&latest(kind), Moment::LATEST)]
            {
                match kind {
                    "timestamptz" => params.add(name, kind, Some(stamp(moment))),
                    _ => params.add(name, kind, Some(moment.micros().to_string())),
                }
            }
            sql = format!("CASE WHEN {readable} THEN {value} {operator} :{bound} ELSE {sql} END");
        }
        Some(sql)
    }
}

/// How a part of a key that somebody typed is stored.
enum Stored {
    /// Not at all.
    Null,
    /// Nothing in the column reads like it.
    No,
    /// As a text of this type.
    As { kind: &'static str, text: String },
}

fn stored(declared: &str, part: &Value) -> Stored {
    let text = match part {
        Value::Null => return Stored::Null,
        Value::Int(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Bytes(bytes) => format!("\\x{{{}}}", hex(bytes)),
        Value::Real(_) | Value::BadText(_) => return Stored::No,
    };
    // The type of an index is compared with itself; a text that is no value of it would be an error.
    if is_whole(declared) {
        let is_plain = text.parse::<i64>().is_ok_and(|number| number.to_string() == text);
        return if is_plain { Stored::As { kind: "bigint", text } } else { Stored::No };
    }
    match declared {
        "uuid" if is_uuid(&text) => Stored::As { kind: "uuid", text },
        "uuid" => Stored::No,
        "bytea" => match text.strip_prefix("\\x{").and_then(|rest| rest.strip_suffix('}')) {
            Some(digits)
                if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) && digits.len() % 2 == 0 =>
            {
                Stored::As { kind: "bytea", text: format!("\\x{digits}") }
            }
            _ => Stored::No,
        },
        _ => Stored::As { kind: "text", text },
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a text is a UUID as the server writes it.
fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

/// A time as SQL that can be compared with an instant, and the condition that it can be read.
struct Comparable {
    value: String,
    readable: String,
    /// The type in which it is compared.
    kind: &'static str,
}

fn comparable(time: &TimeSql) -> Option<Comparable> {
    let bound_type = time.bound_type?;
    let sql = &time.selected;
    let (value, kind) = match (time.unit, bound_type) {
        (TimeUnit::Timestamptz, _) => (format!("({sql})"), "timestamptz"),
        (unit, "bigint") => (format!("floor(({sql})::numeric * 1000000 / {})", unit.per_second()), "numeric"),
        // The same arithmetic as that of a single row: whole numbers exactly, others as floating point.
        (unit, _) => {
            let per_second = unit.per_second();
            let value = format!(
                "(CASE WHEN ({sql}) NOT BETWEEN -1e19 AND 1e19 THEN NULL \
                 WHEN ({sql})::numeric = floor(({sql})::numeric) THEN floor(({sql})::numeric * 1000000 / {per_second}) \
                 ELSE floor(({sql})::float8 * (1e6::float8 / {per_second}))::numeric END)"
            );
            (value, "numeric")
        }
    };
    let between = format!("{value} BETWEEN :{} AND :{}", earliest(kind), latest(kind));
    let readable = match kind {
        // The ends of time are instants as well.
        "timestamptz" => format!("({between} OR NOT isfinite({value}))"),
        _ => between,
    };
    Some(Comparable { value, readable, kind })
}

fn earliest(kind: &str) -> String {
    format!("earliest_{kind}")
}

fn latest(kind: &str) -> String {
    format!("latest_{kind}")
}
