//! Conditions of a filter in MySQL. Texts are compared as bytes of UTF-8, so that no collation has a say.

use super::column_type::{TypeKind, kind};
use super::dialect::MysqlDialect;
use crate::domain::value::Value;
use crate::store::bound::BoundBoard;
use crate::store::conditions::{ConditionSql, HeldSince, NEVER, TypedId};
use crate::store::named_params::NamedParams;

/// What stands before letters that mean something in a pattern. A backslash would depend on the mode of the session.
const ESCAPE: char = '!';

impl ConditionSql for MysqlDialect {
    fn reads(&self, sql: &str, text: &str, name: &str, params: &mut NamedParams) -> String {
        params.add(name, "", Some(text));
        format!("{} = {}", bytes(sql), bytes(&format!(":{name}")))
    }

    fn contains(&self, sql: &str, part: &str, name: &str, params: &mut NamedParams) -> String {
        params.add(name, "", Some(part.to_ascii_lowercase()));
        format!("LOCATE({}, {}) > 0", bytes(&format!(":{name}")), lowercase(&bytes(sql)))
    }

    fn is_like(&self, sql: &str, glob: &str, name: &str, params: &mut NamedParams) -> String {
        let mut pattern = String::with_capacity(glob.len());
        for letter in glob.chars() {
            match letter {
                '*' => pattern.push('%'),
                '%' | '_' | ESCAPE => pattern.extend([ESCAPE, letter]),
                _ => pattern.push(letter),
            }
        }
        params.add(name, "", Some(pattern));
        format!("{} LIKE {} ESCAPE '{ESCAPE}'", bytes(sql), bytes(&format!(":{name}")))
    }

    fn has_id(&self, board: &BoundBoard, id: &TypedId<'_>, name: &str, params: &mut NamedParams) -> String {
        let parts = board.id.iter().zip(&board.id_types).zip(id.key).enumerate();
        let all = parts.map(|(at, ((sql, declared), part))| {
            let name = format!("{name}_{at}");
            equals(sql, declared, part, &name, params)
        });
        all.collect::<Vec<_>>().join(" AND ")
    }

    fn id_contains(&self, board: &BoundBoard, part: &str, name: &str, params: &mut NamedParams) -> String {
        let parts = board.id.iter().zip(&board.id_types).map(|(sql, declared)| match kind(declared) {
            TypeKind::Bytes => format!("COALESCE(CONCAT('\\x{{', LOWER(HEX({sql})), '}}'), '\\N')"),
            _ => format!("COALESCE({}, '\\N')", bytes(sql)),
        });
        let key = parts.collect::<Vec<_>>().join(", ',', ");
        self.contains(&format!("CONCAT({key})"), part, name, params)
    }

    /// Only the client reads times exactly as a verdict does.
    fn is_held_since(&self, _: &BoundBoard, _: &HeldSince<'_>, _: &mut NamedParams) -> Option<String> {
        None
    }
}

/// That an expression has exactly this value: once by the column, for its index, and once by its bytes.
pub(super) fn equals(
    sql: &str,
    declared: &str,
    value: &Value,
    name: &str,
    params: &mut NamedParams,
) -> String {
    let value = match (value, kind(declared)) {
        (Value::Null, _) => return format!("({sql}) IS NULL"),
        (Value::Text(text), TypeKind::Whole) => match text.parse::<i64>() {
            Ok(number) if number.to_string() == *text => Value::Int(number),
            // Larger than ours, or no number at all.
            _ if text.bytes().all(|digit| digit.is_ascii_digit()) && !text.is_empty() => value.clone(),
            _ => return NEVER.into(),
        },
        _ => value.clone(),
    };
    let is_text = matches!(value, Value::Text(_)) && kind(declared) == TypeKind::Text;
    params.add_value(name, declared, value);
    let same = format!("({sql}) = :{name}");
    if is_text { format!("{same} AND {} = {}", bytes(sql), bytes(&format!(":{name}"))) } else { same }
}

/// An expression as bytes of UTF-8.
pub(super) fn bytes(sql: &str) -> String {
    format!("CAST(CONVERT({sql} USING utf8mb4) AS BINARY)")
}

/// Bytes with small letters for the 26 capitals and nothing else: `LOWER` would go by a collation.
fn lowercase(bytes: &str) -> String {
    ('A'..='Z').fold(bytes.to_owned(), |sql, letter| {
        format!("REPLACE({sql}, '{letter}', '{}')", letter.to_ascii_lowercase())
    })
}
