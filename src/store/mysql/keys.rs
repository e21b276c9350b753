//! Where a row is: the values of its primary key, as a text that can be kept and read again.
//!
//! A single whole number stands for itself. Other keys are written as `k`, then part by part a letter for the type and
//! the bytes in hexadecimal: no collation and no quoting has a say in that.

use std::sync::Arc;

use super::column_type::{TypeKind, kind};
use crate::domain::value::Value;
use crate::store::found::{KEY, RowRef};
use crate::store::image::Image;
use crate::store::schema::{Column, Names, Table, quoted};

/// The place of the row called `alias`, as SQL; NULL where nothing tells the rows of a table apart.
pub(super) fn place(table: &Table, alias: &str) -> String {
    let columns: Vec<&Column> = table.key.iter().filter_map(|name| table.column(name)).collect();
    match &columns[..] {
        [] => "NULL".into(),
        [only] if kind(&only.declared) == TypeKind::Whole => format!("{alias}.{}", quoted(&only.name)),
        several => {
            let parts = several.iter().map(|column| part(column, alias));
            format!("CONCAT('k', {})", parts.collect::<Vec<_>>().join(", ',', "))
        }
    }
}

fn part(column: &Column, alias: &str) -> String {
    let name = format!("{alias}.{}", quoted(&column.name));
    match kind(&column.declared) {
        TypeKind::Bytes => format!("'b', HEX({name})"),
        TypeKind::Whole => format!("'n', HEX(CAST({name} AS CHAR))"),
        _ => format!("'t', HEX(CONVERT(CAST({name} AS CHAR) USING utf8mb4))"),
    }
}

/// The place of a row that looks like this; nothing, if nothing tells the rows of its table apart.
pub(super) fn place_of(key: &Arc<Names>, row: &Image) -> Option<RowRef> {
    let key = row.part(key);
    let values: Vec<&Value> = key.iter().map(|(_, value)| value).collect();
    match &values[..] {
        [] => None,
        [Value::Int(number)] => Some(RowRef::Number(*number)),
        several => {
            let parts: Option<Vec<String>> = several.iter().map(|value| written(value)).collect();
            Some(RowRef::Key(format!("{KEY}{}", parts?.join(",")).into()))
        }
    }
}

fn written(value: &Value) -> Option<String> {
    let (letter, bytes) = match value {
        Value::Bytes(bytes) | Value::BadText(bytes) => ('b', bytes.clone()),
        Value::Int(number) => ('n', number.to_string().into_bytes()),
        other => ('t', other.text()?.into_bytes()),
    };
    Some(bytes.iter().fold(letter.to_string(), |text, byte| text + &format!("{byte:02X}")))
}

/// The values in such a text.
pub(super) fn values(place: &str) -> Option<Vec<Value>> {
    place.strip_prefix('k')?.split(',').map(value).collect()
}

fn value(part: &str) -> Option<Value> {
    let (letter, digits) = (part.chars().next()?, part.get(1..)?);
    let bytes: Option<Vec<u8>> = (0..digits.len() / 2)
        .map(|at| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok())
        .collect();
    let text = || String::from_utf8(bytes.clone()?).ok();
    match letter {
        'b' => Some(Value::Bytes(bytes?)),
        'n' => text().map(|text| text.parse().map_or(Value::Text(text), Value::Int)),
        't' => text().map(Value::Text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_as_it_was_written() {
        let read = values("kt6AC3A92C,n3432,bFF00").unwrap();
        assert_eq!(read, [Value::Text("jé,".into()), Value::Int(42), Value::Bytes(vec![255, 0])]);
        assert!(values("42").is_none() && values("kx00").is_none());
        let names = Arc::new(Names::new(vec!["a".into(), "b".into(), "c".into()]));
        let place = place_of(&names, &Image::new(&names, read.into_iter()));
        assert_eq!(place, Some(RowRef::Key("kt6AC3A92C,n3432,bFF00".into())));
    }
}
