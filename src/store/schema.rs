//! What a database holds: its tables and their columns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::recovery::{Refusal, TableUnsafe};

/// The tables of a database, by name.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    tables: BTreeMap<String, Table>,
    /// Tables whose rows have triggers, or other rows that refer to them.
    entangled: BTreeSet<String>,
    /// Tables that are there and may not be read; as SQL those that the name means for certain.
    unreadable: BTreeMap<String, Option<String>>,
}

#[derive(Debug, Clone)]
pub struct Table {
    /// As people call it, and the trail.
    pub name: String,
    /// As SQL.
    pub sql: String,
    /// Rows can be addressed by a rowid: an ordinary table of SQLite that does not use the name itself. Those
    /// of other tables are addressed by the key, if there is one.
    pub has_rowid: bool,
    /// The columns that tell its rows apart; none if nothing promises that.
    pub key: Arc<Names>,
    pub columns: Vec<Column>,
    /// The columns that can be written.
    pub names: Arc<Names>,
    pub standing: TableTrust,
}

/// How far a table of a server can be relied on; of a file there is nothing to say.
#[derive(Debug, Clone, Default)]
pub struct TableTrust {
    /// Why reading it may run code of others with our rights: it is a view, for example.
    pub runs: Option<String>,
    /// Why its name without a schema may mean another table than people think.
    pub ambiguous: Option<String>,
    /// The role that owns it.
    pub owner: String,
    /// The owner is a superuser, owns the database, or is our own role.
    pub owner_is_trusted: bool,
    /// Why its rows are shown and never changed.
    pub unsafe_for_acts: Option<TableUnsafe>,
}

#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    pub declared: String,
    /// Computed from other columns, and so never written.
    pub generated: bool,
}

/// Names of columns, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names {
    names: Vec<String>,
    /// Their places, by the bytes of the names.
    sorted: Vec<usize>,
}

impl Names {
    pub fn new(names: Vec<String>) -> Names {
        let mut sorted: Vec<usize> = (0..names.len()).collect();
        sorted.sort_by_key(|at| &names[*at]);
        Names { names, sorted }
    }

    /// Those that can be written.
    pub fn written(columns: &[Column]) -> Arc<Names> {
        let written = columns.iter().filter(|column| !column.generated);
        Arc::new(Names::new(written.map(|column| column.name.clone()).collect()))
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// By their bytes, each with its place.
    pub fn sorted(&self) -> impl Iterator<Item = (usize, &str)> {
        self.sorted.iter().map(|at| (*at, self.names[*at].as_str()))
    }
}

impl Schema {
    pub fn new(tables: Vec<Table>, entangled: BTreeSet<String>) -> Schema {
        let tables = tables.into_iter().map(|table| (table.name.clone(), table)).collect();
        Schema { tables, entangled, unreadable: BTreeMap::new() }
    }

    /// The same where more tables are, which may not be read.
    pub fn beside(self, unreadable: BTreeMap<String, Option<String>>) -> Schema {
        Schema { unreadable, ..self }
    }

    pub fn unreadable(&self) -> impl Iterator<Item = &str> {
        self.unreadable.keys().map(String::as_str)
    }

    /// As SQL, a table of exactly this name that may not be read; something may still be added to it.
    pub fn unreadable_as(&self, name: &str) -> Option<&str> {
        self.unreadable.get(name).and_then(Option::as_deref)
    }

    /// Whether a change of one of its rows may change others.
    pub fn is_entangled(&self, table: &str) -> bool {
        self.table(table).is_some_and(|table| self.entangled.contains(&table.name))
    }

    /// The table of this name, or else one whose name differs only in case, or the one that is called by
    /// its schema although it need not be.
    pub fn table(&self, name: &str) -> Option<&Table> {
        let name = name.strip_prefix("main.").unwrap_or(name);
        let alike = || self.tables.values().find(|table| table.name.eq_ignore_ascii_case(name));
        let in_full = || name.split_once('.').and_then(|(schema, table)| self.table_in(schema, table));
        self.tables.get(name).or_else(alike).or_else(in_full)
    }

    /// The same, unless another table of this name has come in front of it on the search path.
    pub fn certain(&self, name: &str) -> Option<&Table> {
        self.table(name).filter(|table| name.contains('.') || table.standing.ambiguous.is_none())
    }

    /// The table of exactly this schema and name.
    pub fn table_in(&self, schema: &str, table: &str) -> Option<&Table> {
        let sql = format!("{}.{}", quoted(schema), quoted(table));
        self.tables.values().find(|table| table.sql == sql)
    }

    /// What people call the table of exactly this schema and name, whether it may be read or not.
    pub fn name_in(&self, schema: &str, table: &str) -> String {
        let is_it = |sql: &&str| **sql == format!("{}.{}", quoted(schema), quoted(table));
        match self.table_in(schema, table) {
            Some(known) => known.name.clone(),
            None if self.unreadable_as(table).filter(is_it).is_some() => table.to_owned(),
            None => format!("{schema}.{table}"),
        }
    }

    /// The table of exactly this name, which needs no schema.
    pub fn bare(&self, name: &str) -> Option<&Table> {
        self.tables.get(name).filter(|table| table.sql.ends_with(&format!(".{}", quoted(name))))
    }

    /// Whether any table has a column of this name.
    pub fn has_column(&self, name: &str) -> bool {
        self.tables.values().any(|table| table.columns.iter().any(|column| column.name == name))
    }

    /// Whether a `table.column` pair exists.
    pub fn has(&self, pair: &str) -> bool {
        if let Some(pair) = pair.strip_prefix('!') {
            return !self.has(pair);
        }
        pair.rsplit_once('.').is_some_and(|(table, column)| {
            self.table(table).is_some_and(|table| table.column(column).is_some())
        })
    }

    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.values()
    }

    pub fn table_names(&self) -> impl Iterator<Item = &str> {
        self.tables.values().map(|table| table.name.as_str())
    }
}

impl Table {
    /// The columns that tell its rows apart, where no rowid does.
    pub fn key_instead_of_rowid(&self) -> Arc<Names> {
        if self.has_rowid { Arc::default() } else { Arc::clone(&self.key) }
    }

    /// Unless its rows may be changed at all.
    pub fn expect_safe_for_acts(&self) -> Result<(), Refusal> {
        match &self.standing.unsafe_for_acts {
            None => Ok(()),
            Some(why) => Err(Refusal::TableUnsafe { table: self.name.clone(), why: why.clone() }),
        }
    }

    /// The columns that can be written.
    pub fn written(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| !column.generated)
    }

    pub fn column(&self, name: &str) -> Option<&Column> {
        let alike = || self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
        self.columns.iter().find(|column| *column.name == *name).or_else(alike)
    }
}

/// An identifier as SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A string literal as SQL.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Whether a profile's value is a bare column name rather than an expression.
pub(super) fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
