//! A database as a draft sees it: its tables, and a few of their rows.

use std::collections::BTreeMap;

use super::changes::Changes;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::profile::format::Engine;

/// What is known of a database.
#[derive(Debug, Clone)]
pub struct DatabaseSample {
    pub engine: Engine,
    /// The database's clock when the rows were read.
    pub now: Moment,
    pub tables: Vec<TableSample>,
}

/// What is known of one table.
#[derive(Debug, Clone, Default)]
pub struct TableSample {
    /// As a profile names it.
    pub name: String,
    pub columns: Vec<SampleColumn>,
    /// The columns that tell its rows apart.
    pub key: Vec<String>,
    /// Its rows can be addressed by `rowid`.
    pub has_rowid: bool,
    pub references: Vec<Reference>,
    /// Some rows, each with all columns in order. Long values are cut.
    pub rows: Vec<Vec<Value>>,
    /// The values of columns with few different ones, each with how often it was counted.
    pub values: BTreeMap<String, Vec<(Value, u64)>>,
    /// What happened while the table was watched.
    pub changes: Changes,
}

#[derive(Debug, Clone)]
pub struct SampleColumn {
    pub name: String,
    pub declared: String,
}

/// A foreign key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub columns: Vec<String>,
    pub table: String,
    pub referenced: Vec<String>,
}

impl DatabaseSample {
    pub fn table(&self, name: &str) -> Option<&TableSample> {
        self.tables.iter().find(|table| table.name == name)
    }
}

impl TableSample {
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|known| known.name == column)
    }

    /// The table that a column alone refers to, and the column there.
    pub fn reference_of(&self, column: &str) -> Option<(&str, &str)> {
        self.references.iter().find_map(|reference| {
            match (&reference.columns[..], &reference.referenced[..]) {
                ([own], [other]) if own == column => Some((reference.table.as_str(), other.as_str())),
                _ => None,
            }
        })
    }
}
