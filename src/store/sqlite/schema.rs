//! What a database holds: its tables and their columns.

use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};

/// The tables of a database, by lower-case name.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    tables: BTreeMap<String, Table>,
    /// Tables whose rows have triggers, or other rows that refer to them.
    entangled: BTreeSet<String>,
}

#[derive(Debug, Clone)]
pub struct Table {
    pub name: String,
    /// Rows can be addressed by a rowid: an ordinary table that does not use the name itself.
    pub has_rowid: bool,
    pub columns: Vec<Column>,
}

#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    pub declared: String,
    /// Computed from other columns, and so never written.
    pub generated: bool,
}

impl Schema {
    pub fn read(connection: &Connection) -> rusqlite::Result<Schema> {
        let mut schema = Schema::default();
        let mut list = connection.prepare(
            "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
        )?;
        let tables: Vec<(String, String, bool)> = list
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<_, _>>()?;
        let mut info =
            connection.prepare("SELECT name, type, hidden FROM pragma_table_xinfo(?1) WHERE hidden <> 1")?;
        for (name, kind, without_rowid) in tables {
            let columns: Vec<Column> = info
                .query_map([&name], |row| {
                    Ok(Column {
                        name: row.get(0)?,
                        declared: row.get(1)?,
                        generated: row.get::<_, i64>(2)? != 0,
                    })
                })?
                .collect::<Result<_, _>>()?;
            let shadowed = columns.iter().any(|column| column.name.eq_ignore_ascii_case("rowid"));
            let has_rowid = kind == "table" && !without_rowid && !shadowed;
            schema.tables.insert(name.to_ascii_lowercase(), Table { name, has_rowid, columns });
        }
        let mut entangled = connection.prepare(
            "SELECT lower(tbl_name) FROM sqlite_schema WHERE type = 'trigger'
             UNION SELECT lower(f.\"table\") FROM sqlite_schema AS t, pragma_foreign_key_list(t.name) AS f
             WHERE t.type = 'table'",
        )?;
        schema.entangled = entangled.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(schema)
    }

    /// Whether a change of one of its rows may change others.
    pub fn is_entangled(&self, table: &str) -> bool {
        self.entangled.contains(&table.to_ascii_lowercase())
    }

    pub fn table(&self, name: &str) -> Option<&Table> {
        let name = name.strip_prefix("main.").unwrap_or(name);
        self.tables.get(&name.to_ascii_lowercase())
    }

    /// Whether a `table.column` pair exists.
    pub fn has(&self, pair: &str) -> bool {
        pair.rsplit_once('.').is_some_and(|(table, column)| {
            self.table(table).is_some_and(|table| table.column(column).is_some())
        })
    }

    pub fn table_names(&self) -> impl Iterator<Item = &str> {
        self.tables.values().map(|table| table.name.as_str())
    }
}

impl Table {
    /// The columns that can be written.
    pub fn written(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| !column.generated)
    }

    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }
}

impl Column {
    /// Declared so that SQLite turns the numbers written to it into text.
    pub fn is_text(&self) -> bool {
        let declared = self.declared.to_ascii_uppercase();
        !declared.contains("INT") && ["CHAR", "CLOB", "TEXT"].iter().any(|kind| declared.contains(kind))
    }
}

/// An identifier as SQL.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A string literal as SQL.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Whether a profile's value is a bare column name rather than an expression.
pub fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
