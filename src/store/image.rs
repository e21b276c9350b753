//! Rows as they were and as they are: what an undo needs, and what the trail keeps.

use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

use super::schema::Names;
use crate::domain::value::Value;

/// Every column of a row that can be written, in order. All images of a table share its names; copies of one
/// share its values, also if they are not the same in every column.
#[derive(Debug, Clone)]
pub struct Image {
    names: Arc<Names>,
    values: Arc<[Value]>,
    /// What stands in the places of some of the values.
    others: Vec<(usize, Value)>,
}

impl PartialEq for Image {
    fn eq(&self, other: &Image) -> bool {
        self.names == other.names && (0..self.len()).all(|at| self.has_alike(at, other))
    }
}

impl Image {
    /// A value for each of the names.
    pub fn new(names: &Arc<Names>, values: impl Iterator<Item = Value>) -> Image {
        Image { names: Arc::clone(names), values: values.collect(), others: Vec::new() }
    }

    /// Nothing of a row.
    pub fn empty() -> Image {
        Image::new(&Arc::default(), std::iter::empty())
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.names.iter().enumerate().map(|(at, name)| (name, self.value(at)))
    }

    fn value(&self, at: usize) -> &Value {
        self.other(at).unwrap_or(&self.values[at])
    }

    fn other(&self, at: usize) -> Option<&Value> {
        self.others.iter().find(|(place, _)| *place == at).map(|(_, value)| value)
    }

    /// Whether another image with the same names has the same value there.
    fn has_alike(&self, at: usize, image: &Image) -> bool {
        match (self.other(at), image.other(at)) {
            (None, None) if Arc::ptr_eq(&self.values, &image.values) => true,
            _ => self.value(at) == image.value(at),
        }
    }

    pub fn get(&self, column: &str) -> Option<&Value> {
        self.iter().find(|(name, _)| *name == column).map(|(_, value)| value)
    }

    /// These columns of it, as far as it has them.
    pub fn part(&self, names: &Arc<Names>) -> Image {
        let found: Vec<(&str, &Value)> =
            names.iter().filter_map(|name| Some((name, self.get(name)?))).collect();
        let values = found.iter().map(|(_, value)| (*value).clone());
        if found.len() == names.len() {
            return Image::new(names, values);
        }
        let names = Names::new(found.iter().map(|(name, _)| (*name).to_owned()).collect());
        Image::new(&Arc::new(names), values)
    }

    /// The same row with other values in some of its columns, each given with its place.
    pub fn with(&self, others: impl Iterator<Item = (usize, Value)>) -> Image {
        // The first of a place counts.
        let others = others.chain(self.others.iter().cloned()).collect();
        Image { names: Arc::clone(&self.names), values: Arc::clone(&self.values), others }
    }

    /// The same columns, each with what it becomes.
    pub fn map(&self, value: impl Fn(&str, &Value) -> Value) -> Image {
        Image::new(&self.names, self.iter().map(|(name, old)| value(name, old)))
    }

    /// Its columns, for people.
    pub fn columns(&self) -> Vec<(String, Value)> {
        self.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }

    pub fn json(&self) -> Json {
        Json::Object(self.iter().map(|(name, value)| (name.to_owned(), value_json(value))).collect())
    }

    pub fn from_json(json: &Json) -> Option<Image> {
        let Json::Object(columns) = json else { return None };
        let names = Names::new(columns.keys().cloned().collect());
        let values = columns.values().map(value_of).collect::<Option<Vec<Value>>>()?;
        Some(Image::new(&Arc::new(names), values.into_iter()))
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
        Change { table: table.into(), at: RowAt::Key(Image::empty()), before: None, after: None }
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
            row.serialize_entry("key", &Sorted::all(key))?;
        }
        row.serialize_entry("row", &change.image(*side).map(Sorted::all))?;
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
                    all.serialize_element(&Difference {
                        changed: Sorted { of: after, unlike: Some(before) },
                    })?;
                }
                _ => all.serialize_element(&OneSide(change, Side::After))?,
            }
        }
        all.end()
    }
}

#[derive(Serialize)]
struct Difference<'a> {
    changed: Sorted<'a>,
}

/// The columns of an image by the bytes of their names; all, or those that another does not have alike.
struct Sorted<'a> {
    of: &'a Image,
    unlike: Option<&'a Image>,
}

impl Sorted<'_> {
    fn all(of: &Image) -> Sorted<'_> {
        Sorted { of, unlike: None }
    }
}

impl Serialize for Sorted<'_> {
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
    use std::collections::BTreeMap;

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
        let columns = |image: &Option<Image>| {
            let columns = image.as_ref().map(|image| image.columns().into_iter());
            columns.map(Iterator::collect::<BTreeMap<String, Value>>)
        };
        for (back, change) in back.iter().zip(&changes) {
            assert_eq!((&back.table, &back.at), (&change.table, &change.at));
            assert_eq!(columns(&back.before), columns(&change.before));
            assert_eq!(columns(&back.after), columns(&change.after));
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
