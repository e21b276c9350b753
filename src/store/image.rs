//! Rows as they were and as they are: what an undo needs, and what the trail keeps.

use serde_json::{Map, Value as Json, json};

use crate::domain::value::Value;

/// Every column of a row that can be written, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Image(pub Vec<(String, Value)>);

impl Image {
    pub fn json(&self) -> Json {
        Json::Object(self.0.iter().map(|(name, value)| (name.clone(), value_json(value))).collect())
    }

    pub fn from_json(json: &Json) -> Option<Image> {
        let Json::Object(columns) = json else { return None };
        let read = |(name, value): (&String, &Json)| Some((name.clone(), value_of(value)?));
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

    pub fn json(&self, side: Side) -> Json {
        let image = match side {
            Side::Before => &self.before,
            Side::After => &self.after,
        };
        row_json(&self.table, &self.at, image.as_ref().map(Image::json))
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

/// A row in the trail: where it is, and what is in it if it is there.
pub fn row_json(table: &str, at: &RowAt, row: Option<Json>) -> Json {
    let mut all = Map::with_capacity(3);
    all.insert("table".into(), Json::from(table));
    match at {
        RowAt::Rowid(rowid) => all.insert("rowid".into(), Json::from(*rowid)),
        RowAt::Key(key) => all.insert("key".into(), key.json()),
    };
    all.insert("row".into(), row.unwrap_or(Json::Null));
    Json::Object(all)
}

/// Which of the two images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

/// Types are part of a value: what JSON has no word for is an object with one key.
pub fn value_json(value: &Value) -> Json {
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
