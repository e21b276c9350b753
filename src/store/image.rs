//! Rows as they were and as they are: what an undo needs, and what the trail keeps.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

use crate::domain::value::Value;

/// Every column of a row that can be written, in order. All images of a table share its names.
#[derive(Debug, Clone, PartialEq)]
pub struct Image(pub Vec<(Arc<str>, Value)>);

impl Image {
    /// Its columns, for people.
    pub fn columns(self) -> Vec<(String, Value)> {
        self.0.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
    }

    pub fn json(&self) -> Json {
        Json::Object(self.0.iter().map(|(name, value)| (name.to_string(), value_json(value))).collect())
    }

    pub fn from_json(json: &Json) -> Option<Image> {
        let Json::Object(columns) = json else { return None };
        let read = |(name, value): (&String, &Json)| Some((name.as_str().into(), value_of(value)?));
        columns.iter().map(read).collect::<Option<Vec<_>>>().map(Image)
    }
}

/// Where a row is in its table.
#[derive(Debug, Clone, PartialEq)]
pub enum RowAt {
    /// SQLite's own number.
    Rowid(i64),
    /// The columns that tell it apart.
    Key(Image),
}

/// A row that an act touched: before it and after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub table: String,
    pub at: RowAt,
    pub before: Option<Image>,
    pub after: Option<Image>,
}

impl Change {
    /// That rows of a table changed too, and nobody can tell which: an undo leaves them.
    pub fn untold(table: &str) -> Change {
        Change { table: table.into(), at: RowAt::Key(Image(Vec::new())), before: None, after: None }
    }

    pub fn is_untold(&self) -> bool {
        self.before.is_none() && self.after.is_none()
    }

    fn image(&self, side: Side) -> Option<&Image> {
        match side {
            Side::Before => self.before.as_ref(),
            Side::After => self.after.as_ref(),
        }
    }

    /// The changes that two lists of the trail tell of.
    pub fn from_json(before: &Json, after: &Json) -> Option<Vec<Change>> {
        let (before, after) = (before.as_array()?, after.as_array()?);
        before
            .iter()
            .zip(after)
            .map(|(before, after)| {
                let image = |json: &Json| match &json["row"] {
                    Json::Null => Some(None),
                    row => Image::from_json(row).map(Some),
                };
                let at = match before["rowid"].as_i64() {
                    Some(rowid) => RowAt::Rowid(rowid),
                    None => RowAt::Key(Image::from_json(&before["key"])?),
                };
                Some(Change {
                    table: before["table"].as_str()?.into(),
                    at,
                    before: image(before)?,
                    after: image(after)?,
                })
            })
            .collect()
    }
}

/// Which of the two images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

/// One side of changes, for the trail: where each row is, and what is in it if it is there.
///
/// It is written without a detour, for there may be many; every key in the order of its bytes, as all of
/// the trail is.
#[derive(Debug, Clone, Copy)]
pub struct Images<'a> {
    pub changes: &'a [Change],
    pub side: Side,
}

impl Images<'_> {
    /// The same for people: the columns in the order of the table.
    pub fn json(self) -> Json {
        let row = |change: &Change| {
            let mut all = Map::with_capacity(3);
            all.insert("table".into(), Json::from(change.table.as_str()));
            match &change.at {
                RowAt::Rowid(rowid) => all.insert("rowid".into(), Json::from(*rowid)),
                RowAt::Key(key) => all.insert("key".into(), key.json()),
            };
            all.insert("row".into(), change.image(self.side).map_or(Json::Null, Image::json));
            Json::Object(all)
        };
        Json::Array(self.changes.iter().map(row).collect())
    }
}

impl Serialize for Images<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(Some(self.changes.len()))?;
        for change in self.changes {
            all.serialize_element(&OneSide(change, self.side))?;
        }
        all.end()
    }
}

struct OneSide<'a>(&'a Change, Side);

impl Serialize for OneSide<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let OneSide(change, side) = self;
        let mut row = serializer.serialize_map(Some(3))?;
        if let RowAt::Key(key) = &change.at {
            row.serialize_entry("key", &Sorted(key))?;
        }
        row.serialize_entry("row", &change.image(*side).map(Sorted))?;
        if let RowAt::Rowid(rowid) = &change.at {
            row.serialize_entry("rowid", rowid)?;
        }
        row.serialize_entry("table", &change.table)?;
        row.end()
    }
}

struct Sorted<'a>(&'a Image);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut columns: Vec<&(Arc<str>, Value)> = self.0.0.iter().collect();
        columns.sort_unstable_by_key(|(name, _)| name);
        let mut row = serializer.serialize_map(Some(columns.len()))?;
        for (name, value) in columns {
            match value {
                Value::Null => row.serialize_entry(&**name, &())?,
                Value::Int(number) => row.serialize_entry(&**name, number)?,
                Value::Text(text) => row.serialize_entry(&**name, text)?,
                rare => row.serialize_entry(&**name, &value_json(rare))?,
            }
        }
        row.end()
    }
}

/// Types are part of a value: what JSON has no word for is an object with one key.
fn value_json(value: &Value) -> Json {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match value {
        Value::Null => Json::Null,
        Value::Int(number) => json!(number),
        Value::Real(number) => json!({"real": number.to_bits().to_string()}),
        Value::Text(text) => json!(text),
        Value::BadText(bytes) => json!({"text": hex(bytes)}),
        Value::Bytes(bytes) => json!({"blob": hex(bytes)}),
    }
}

fn value_of(json: &Json) -> Option<Value> {
    match json {
        Json::Null => Some(Value::Null),
        Json::Number(number) => number.as_i64().map(Value::Int),
        Json::String(text) => Some(Value::Text(text.clone())),
        Json::Object(object) => special(object),
        Json::Bool(_) | Json::Array(_) => None,
    }
}

fn special(object: &Map<String, Json>) -> Option<Value> {
    let (kind, value) = object.iter().next()?;
    let text = value.as_str()?;
    let bytes = || {
        text.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect::<Option<Vec<u8>>>()
    };
    match kind.as_str() {
        "real" => text.parse().ok().map(|bits| Value::Real(f64::from_bits(bits))),
        "text" => bytes().map(Value::BadText),
        "blob" => bytes().map(Value::Bytes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_without_a_detour_is_what_is_read_back() {
        let image = |n: i64| {
            Image(vec![
                ("z".into(), Value::Int(n)),
                ("a \"quoted\"".into(), Value::Text("line\nbreak \u{202e}".into())),
                ("m".into(), Value::Null),
                ("real".into(), Value::Real(f64::NEG_INFINITY)),
                ("bad".into(), Value::BadText(vec![0xff, 0])),
                ("blob".into(), Value::Bytes(vec![1, 2])),
            ])
        };
        let key = Image(vec![("z".into(), Value::Int(1))]);
        let changes = [
            Change { table: "t".into(), at: RowAt::Key(key), before: Some(image(1)), after: Some(image(2)) },
            Change { table: "u".into(), at: RowAt::Rowid(7), before: Some(image(3)), after: None },
        ];
        let [before, after] = [Side::Before, Side::After].map(|side| {
            let images = Images { changes: &changes, side };
            let text = serde_json::to_string(&images).expect("a text");
            let json: Json = serde_json::from_str(&text).expect("its value");
            assert_eq!(json, images.json());
            json
        });
        let mut back = Change::from_json(&before, &after).expect("changes");
        for change in &mut back {
            for side in [&mut change.before, &mut change.after].into_iter().flatten() {
                assert!(side.0.is_sorted_by_key(|(name, _)| name.clone()));
                side.0.sort_by_key(|(name, _)| {
                    ["z", "a", "m", "real", "bad", "blob"].iter().position(|first| name.starts_with(first))
                });
            }
        }
        assert_eq!(back, changes);
    }
}
