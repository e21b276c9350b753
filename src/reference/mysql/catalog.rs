//! The tables of the database, as the catalog shows them.

use std::collections::BTreeMap;

use super::super::server_columns::{CatalogColumn, ObjectDifference, compare};
use super::MODEL;
use crate::mysql::{Link, MyError};

#[derive(Debug)]
pub(super) struct CatalogTable {
    pub name: String,
    /// Nothing for a view.
    engine: Option<String>,
    columns: BTreeMap<String, CatalogColumn>,
    /// By their names, without the primary key.
    pub indexes: BTreeMap<String, CatalogIndex>,
}

/// Whether an index lets a value in twice, and its columns in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CatalogIndex {
    is_unique: bool,
    parts: Vec<String>,
}

#[derive(Debug)]
pub(super) struct SchemaCatalog(Vec<CatalogTable>);

const TABLES: &str =
    "SELECT table_name, engine FROM information_schema.tables WHERE table_schema = DATABASE()";

const COLUMNS: &str = "
  SELECT c.table_name, c.column_name, c.column_type, coalesce(k.ordinal_position, 0), c.is_nullable = 'YES',
         c.is_nullable = 'YES' OR c.column_default IS NOT NULL OR c.extra LIKE '%auto_increment%'
           OR coalesce(c.generation_expression, '') <> ''
  FROM information_schema.columns c
  LEFT JOIN information_schema.key_column_usage k ON k.constraint_name = 'PRIMARY'
    AND k.table_schema = c.table_schema AND k.table_name = c.table_name AND k.column_name = c.column_name
  WHERE c.table_schema = DATABASE()";

const INDEXES: &str = "
  SELECT table_name, index_name, non_unique,
         CONCAT(coalesce(column_name, '?'), coalesce(CONCAT('(', sub_part, ')'), ''),
                CASE collation WHEN 'D' THEN ' DESC' ELSE '' END)
  FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name <> 'PRIMARY'
  ORDER BY table_name, index_name, seq_in_index";

impl SchemaCatalog {
    pub(super) fn read(link: &mut Link) -> Result<SchemaCatalog, MyError> {
        let mut columns: BTreeMap<String, BTreeMap<String, CatalogColumn>> = BTreeMap::new();
        for row in link.query(COLUMNS, Vec::new())? {
            let text = |at| row.text(at).unwrap_or_default();
            let column = CatalogColumn {
                kind: text(2),
                key: text(3),
                may_be_empty: row.is_true(4),
                may_be_left_out: row.is_true(5),
            };
            columns.entry(text(0)).or_default().insert(text(1), column);
        }
        let mut indexes: BTreeMap<String, BTreeMap<String, CatalogIndex>> = BTreeMap::new();
        for row in link.query(INDEXES, Vec::new())? {
            let text = |at| row.text(at).unwrap_or_default();
            let index = indexes.entry(text(0)).or_default().entry(text(1)).or_default();
            index.is_unique = !row.is_true(2);
            index.parts.push(text(3));
        }
        let tables = link.query(TABLES, Vec::new())?.into_iter().map(|row| {
            let name = row.text(0).unwrap_or_default();
            let columns = columns.remove(&name).unwrap_or_default();
            let indexes = indexes.remove(&name).unwrap_or_default();
            CatalogTable { engine: row.text(1), columns, indexes, name }
        });
        Ok(SchemaCatalog(tables.collect()))
    }

    /// The tables to compare with, in this order and with these names.
    pub(super) fn model(mut self, names: &[&str]) -> SchemaCatalog {
        let take = |name: &&str| {
            let at = self.0.iter().position(|table| table.name == format!("{MODEL}{name}"))?;
            Some(CatalogTable { name: (*name).to_owned(), ..self.0.swap_remove(at) })
        };
        SchemaCatalog(names.iter().filter_map(take).collect())
    }

    pub(super) fn tables(&self) -> &[CatalogTable] {
        &self.0
    }

    pub(super) fn find(&self, name: &str) -> Option<&CatalogTable> {
        self.0.iter().find(|table| table.name == name)
    }
}

impl CatalogTable {
    /// How this differs from `wanted`, its indexes aside; empty if it is usable.
    pub(super) fn differences(&self, wanted: &CatalogTable) -> Vec<ObjectDifference> {
        match (&self.engine, &wanted.engine) {
            (None, Some(_)) => return vec![ObjectDifference::new("it is no table".into())],
            (Some(is), Some(wanted)) if is != wanted => {
                return vec![ObjectDifference::new(format!("it is stored in {is}, not in {wanted}"))];
            }
            _ => {}
        }
        compare(&self.columns, &wanted.columns)
    }
}

impl CatalogIndex {
    /// As a part of CREATE TABLE.
    pub(super) fn sql(&self, name: &str) -> String {
        let unique = if self.is_unique { "UNIQUE " } else { "" };
        format!("{unique}KEY {name} ({})", self.parts.join(", "))
    }

    /// How another one differs from this.
    pub(super) fn unlike(&self, is: &CatalogIndex) -> ObjectDifference {
        let told = |index: &CatalogIndex| {
            format!("{}on ({})", if index.is_unique { "unique " } else { "" }, index.parts.join(", "))
        };
        ObjectDifference::new(format!("it is {}, not {}", told(is), told(self)))
    }
}
