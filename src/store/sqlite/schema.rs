//! Reading the tables of a file.

use rusqlite::Connection;
use std::sync::Arc;

use crate::store::schema::{Column, Names, Schema, Table, TableTrust, quoted};

pub(super) fn read(connection: &Connection) -> rusqlite::Result<Schema> {
    let mut list = connection.prepare(
        "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )?;
    let found: Vec<(String, String, bool)> =
        list.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect::<Result<_, _>>()?;
    let mut info = connection.prepare(
        "SELECT name, type, hidden, pk, \"notnull\" FROM pragma_table_xinfo(?1) WHERE hidden <> 1",
    )?;
    let mut tables = Vec::new();
    for (name, kind, without_rowid) in found {
        let described: Vec<(Column, KeyPart)> = info
            .query_map([&name], |row| {
                let generated = row.get::<_, i64>(2)? != 0;
                let column = Column { name: row.get(0)?, declared: row.get(1)?, generated };
                Ok((column, KeyPart { place: row.get(3)?, is_never_null: row.get(4)? }))
            })?
            .collect::<Result<_, _>>()?;
        let key = if kind == "table" { key(&described, without_rowid) } else { Arc::default() };
        let columns: Vec<Column> = described.into_iter().map(|(column, _)| column).collect();
        let shadowed = columns.iter().any(|column| column.name.eq_ignore_ascii_case("rowid"));
        let has_rowid = kind == "table" && !without_rowid && !shadowed;
        let (sql, names) = (quoted(&name), Names::written(&columns));
        tables.push(Table { sql, name, has_rowid, key, columns, names, standing: TableTrust::default() });
    }
    let mut entangled = connection.prepare(
        "SELECT DISTINCT l.name FROM pragma_table_list AS l JOIN (
           SELECT tbl_name AS name FROM sqlite_schema WHERE type = 'trigger'
           UNION SELECT f.\"table\" FROM sqlite_schema AS t, pragma_foreign_key_list(t.name) AS f
           WHERE t.type = 'table') AS e ON lower(e.name) = lower(l.name) WHERE l.schema = 'main'",
    )?;
    let entangled = entangled.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(Schema::new(tables, entangled))
}

/// What a column is to the primary key.
struct KeyPart {
    /// Its place in the key, from 1 on; 0 if it is no part of it.
    place: i64,
    is_never_null: bool,
}

/// The primary key, if it tells all rows apart: in most tables SQLite lets its columns be NULL, and then
/// several rows may have the same.
fn key(columns: &[(Column, KeyPart)], without_rowid: bool) -> Arc<Names> {
    let mut parts: Vec<&(Column, KeyPart)> = columns.iter().filter(|(_, part)| part.place > 0).collect();
    parts.sort_by_key(|(_, part)| part.place);
    let is_rowid = matches!(&parts[..], [(column, _)] if column.declared.eq_ignore_ascii_case("integer"));
    let is_promised = without_rowid || is_rowid || parts.iter().all(|(_, part)| part.is_never_null);
    let names = parts.iter().filter(|_| is_promised).map(|(column, _)| column.name.clone());
    Arc::new(Names::new(names.collect()))
}

/// Declared so that SQLite turns the numbers written to it into text.
pub(super) fn is_text(declared: &str) -> bool {
    let declared = declared.to_ascii_uppercase();
    !declared.contains("INT") && ["CHAR", "CLOB", "TEXT"].iter().any(|kind| declared.contains(kind))
}
