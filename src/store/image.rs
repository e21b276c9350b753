//! Rows as they were and as they are: what an undo needs, and what the trail keeps.

mod written;

use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use self::written::{Differences, Images};
use self::written::{value_json, value_of};
use super::schema::{Names, Table};
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
        let is_the_same =
            Arc::ptr_eq(&self.values, &other.values) && self.others.is_empty() && other.others.is_empty();
        self.names == other.names && (is_the_same || (0..self.len()).all(|at| self.has_alike(at, other)))
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

    /// Its values, by the names of their columns.
    pub fn by_name(&self) -> BTreeMap<&str, &Value> {
        self.iter().collect()
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
    /// A change of a row that its key tells apart, if the table has one.
    pub(super) fn of(table: &Table, before: Option<Image>, after: Option<Image>) -> Change {
        let image = after.as_ref().or(before.as_ref());
        let key = image.map_or_else(Image::empty, |image| image.part(&table.key));
        Change { table: table.name.clone(), at: RowAt::Key(key), before, after }
    }

    /// That rows of a table changed too, and nobody can tell which: an undo leaves them.
    pub fn untold(table: &str) -> Change {
        Change { table: table.into(), at: RowAt::Key(Image::empty()), before: None, after: None }
    }

    pub fn is_untold(&self) -> bool {
        self.before.is_none() && self.after.is_none()
    }

    /// Whether nothing tells its row from others that look the same.
    pub fn has_no_key(&self) -> bool {
        matches!(&self.at, RowAt::Key(key) if key.is_empty())
    }

    /// The change that takes this one back.
    pub fn turned(&self) -> Change {
        let Change { table, at, before, after } = self.clone();
        Change { table, at, before: after, after: before }
    }

    pub fn image(&self, side: Side) -> Option<&Image> {
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
