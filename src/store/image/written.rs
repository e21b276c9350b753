//! Images as the trail has them: JSON in which the types of values stay apart.

use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Value as Json, json};

use super::{Change, Image, RowAt, Side};
use crate::domain::value::Value;

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
            row.serialize_entry("key", &SortedColumns::all(key))?;
        }
        row.serialize_entry("row", &change.image(*side).map(SortedColumns::all))?;
        if let RowAt::Rowid(rowid) = &change.at {
            row.serialize_entry("rowid", rowid)?;
        }
        row.serialize_entry("table", &change.table)?;
        row.end()
    }
}

/// What changes leave of their rows, to stand beside how those were: of a row that stays, only the columns
/// that are not what they were.
#[derive(Debug, Clone, Copy)]
pub struct Differences<'a>(pub &'a [Change]);

impl Serialize for Differences<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(Some(self.0.len()))?;
        for change in self.0 {
            match (&change.before, &change.after) {
                (Some(before), Some(after)) if before.names == after.names => {
                    all.serialize_element(&RowDifference {
                        changed: SortedColumns { of: after, unlike: Some(before) },
                    })?;
                }
                _ => all.serialize_element(&OneSide(change, Side::After))?,
            }
        }
        all.end()
    }
}

#[derive(Serialize)]
struct RowDifference<'a> {
    changed: SortedColumns<'a>,
}

/// The columns of an image by the bytes of their names; all, or those that another does not have alike.
struct SortedColumns<'a> {
    of: &'a Image,
    unlike: Option<&'a Image>,
}

impl SortedColumns<'_> {
    fn all(of: &Image) -> SortedColumns<'_> {
        SortedColumns { of, unlike: None }
    }
}

impl Serialize for SortedColumns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_map(None)?;
        for (at, name) in self.of.names.sorted() {
            if self.unlike.is_some_and(|other| other.has_alike(at, self.of)) {
                continue;
            }
            match self.of.value(at) {
                Value::Null => row.serialize_entry(name, &())?,
                Value::Int(number) => row.serialize_entry(name, number)?,
                Value::Text(text) => row.serialize_entry(name, text)?,
                rare => row.serialize_entry(name, &value_json(rare))?,
            }
        }
        row.end()
    }
}

/// Types are part of a value: what JSON has no word for is an object with one key.
pub(super) fn value_json(value: &Value) -> Json {
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

pub(super) fn value_of(json: &Json) -> Option<Value> {
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
    use crate::store::schema::Names;
    use std::sync::Arc;

    fn image(n: i64) -> Image {
        let columns = [
            ("z", Value::Int(n)),
            ("a \"quoted\"", Value::Text("line\nbreak \u{202e}".into())),
            ("m", Value::Null),
            ("real", Value::Real(f64::NEG_INFINITY)),
            ("bad", Value::BadText(vec![0xff, 0])),
            ("blob", Value::Bytes(vec![1, 2])),
        ];
        let names = Arc::new(Names::new(columns.iter().map(|(name, _)| (*name).to_owned()).collect()));
        Image::new(&names, columns.into_iter().map(|(_, value)| value))
    }

    fn text(value: &impl Serialize) -> Json {
        let text = serde_json::to_string(value).expect("a text");
        serde_json::from_str(&text).expect("its value")
    }

    #[test]
    fn what_is_written_without_a_detour_is_what_is_read_back() {
        let key = image(1).part(&Arc::new(Names::new(vec!["z".into(), "not there".into()])));
        assert_eq!(key.iter().collect::<Vec<_>>(), [("z", &Value::Int(1))]);
        let changes = [
            Change { table: "t".into(), at: RowAt::Key(key), before: Some(image(1)), after: Some(image(2)) },
            Change { table: "u".into(), at: RowAt::Rowid(7), before: Some(image(3)), after: None },
        ];
        let [before, after] = [Side::Before, Side::After].map(|side| {
            let images = Images { changes: &changes, side };
            assert_eq!(text(&images), images.json());
            text(&images)
        });
        let back = Change::from_json(&before, &after).expect("changes");
        for (back, change) in back.iter().zip(&changes) {
            assert_eq!((&back.table, &back.at), (&change.table, &change.at));
            assert_eq!(back.before.as_ref().map(Image::by_name), change.before.as_ref().map(Image::by_name));
            assert_eq!(back.after.as_ref().map(Image::by_name), change.after.as_ref().map(Image::by_name));
            let sorted: Vec<&str> = back.before.iter().flat_map(Image::iter).map(|(name, _)| name).collect();
            assert!(sorted.is_sorted());
        }
    }

    #[test]
    fn of_a_row_that_stays_only_what_differs_is_written() {
        let before = image(1);
        let now = before.with([(2, Value::Text("x".into())), (0, Value::Int(1))].into_iter());
        let later = now.with([(2, Value::Int(5))].into_iter());
        assert_eq!((later.get("m"), later.get("z")), (Some(&Value::Int(5)), Some(&Value::Int(1))));
        assert!(now != before && later != now && now.with(std::iter::empty()) == now);
        assert_eq!(before.with([(0, Value::Int(1))].into_iter()), before);
        let at = || RowAt::Rowid(1);
        let change = |before, after| Change { table: "t".into(), at: at(), before, after };
        let changes = [
            change(Some(before.clone()), Some(now)),
            change(Some(before), None),
            change(None, Some(image(2))),
        ];
        let written = text(&Differences(&changes));
        assert_eq!(written[0], json!({"changed": {"m": "x"}}));
        assert_eq!(written[1], json!({"row": null, "rowid": 1, "table": "t"}));
        assert_eq!(written[2]["row"]["z"], 2);
    }
}
