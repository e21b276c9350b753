//! Rows as they were and as they are: what an undo needs, and what the trail keeps.

use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, OptionalExtension};
use serde_json::{Map, Value as Json, json};

use super::cell::{cell, to_sql};
use super::schema::{Table, quoted};
use crate::domain::value::Value;

/// Every column of a row that can be written, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Image(pub Vec<(String, Value)>);

impl Image {
    /// The row, if it is there.
    pub fn read(connection: &Connection, table: &Table, rowid: i64) -> rusqlite::Result<Option<Image>> {
        let names: Vec<&String> = table.written().map(|column| &column.name).collect();
        let columns: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        let sql = format!("SELECT {} FROM {} WHERE rowid = ?1", columns.join(", "), quoted(&table.name));
        let mut statement = connection.prepare_cached(&sql)?;
        let row = statement.query_row([rowid], |row| {
            Ok(Image(names.iter().enumerate().map(|(at, name)| ((*name).clone(), cell(row, at))).collect()))
        });
        row.optional()
    }

    /// A condition that holds for exactly this row, whatever the collation of its columns, and
    /// its parameters, which are named after `prefix`.
    pub fn guard(&self, alias: &str, prefix: &str) -> (String, Vec<(String, SqlValue)>) {
        let conditions = self.0.iter().enumerate().map(|(at, (name, value))| {
            format!(
                "{alias}{} COLLATE BINARY IS {}",
                quoted(name),
                parameter(value, &format!("{prefix}{at}"))
            )
        });
        (conditions.collect::<Vec<_>>().join(" AND "), self.parameters(prefix))
    }

    /// The places of all values, for an insertion.
    pub fn places(&self, prefix: &str) -> (String, Vec<(String, SqlValue)>) {
        let places =
            self.0.iter().enumerate().map(|(at, (_, value))| parameter(value, &format!("{prefix}{at}")));
        (places.collect::<Vec<_>>().join(", "), self.parameters(prefix))
    }

    fn parameters(&self, prefix: &str) -> Vec<(String, SqlValue)> {
        self.0.iter().enumerate().map(|(at, (_, value))| (format!("{prefix}{at}"), to_sql(value))).collect()
    }

    pub fn json(&self) -> Json {
        Json::Object(self.0.iter().map(|(name, value)| (name.clone(), value_json(value))).collect())
    }

    pub fn from_json(json: &Json) -> Option<Image> {
        let Json::Object(columns) = json else { return None };
        let read = |(name, value): (&String, &Json)| Some((name.clone(), value_of(value)?));
        columns.iter().map(read).collect::<Option<Vec<_>>>().map(Image)
    }
}

/// Sets a column to a value.
pub fn assignment(name: &str, value: &Value, place: &str) -> (String, (String, SqlValue)) {
    (format!("{} = {}", quoted(name), parameter(value, place)), (place.to_owned(), to_sql(value)))
}

/// A text that is not UTF-8 can only be bound as bytes.
fn parameter(value: &Value, place: &str) -> String {
    match value {
        Value::BadText(_) => format!("CAST({place} AS TEXT)"),
        _ => place.to_owned(),
    }
}

/// A row that an act touched: before it and after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub table: String,
    pub rowid: i64,
    pub before: Option<Image>,
    pub after: Option<Image>,
}

impl Change {
    pub fn json(&self, side: Side) -> Json {
        let image = match side {
            Side::Before => &self.before,
            Side::After => &self.after,
        };
        row_json(&self.table, self.rowid, image.as_ref().map(Image::json))
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
                Some(Change {
                    table: before["table"].as_str()?.into(),
                    rowid: before["rowid"].as_i64()?,
                    before: image(before)?,
                    after: image(after)?,
                })
            })
            .collect()
    }
}

/// A row in the trail: where it is, and what is in it if it is there.
pub fn row_json(table: &str, rowid: i64, row: Option<Json>) -> Json {
    let mut all = Map::with_capacity(3);
    all.insert("table".into(), Json::from(table));
    all.insert("rowid".into(), Json::from(rowid));
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
