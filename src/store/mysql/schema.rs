//! Reading the tables of a database.
//!
//! Only those of the database that the address names: the others are read by addresses of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::recovery::TableUnsafe;
use crate::mysql::{Link, MyError};
use crate::store::schema::{Column, Names, Schema, Table, TableTrust, quoted};

/// Tables and views: their name, their type, their storage engine.
const TABLES: &str = "SELECT table_name, table_type, COALESCE(engine, '') FROM information_schema.tables
    WHERE table_schema = DATABASE() ORDER BY table_name";

/// Every column, invisible ones too: its table, name and type, and whether it is computed.
const COLUMNS: &str = "SELECT table_name, column_name, column_type, COALESCE(generation_expression, '') <> ''
    FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position";

/// Unique indexes, the primary key first: table, index, column, and whether the column alone does not tell: it may be
/// NULL, or only its beginning is in the index.
const KEYS: &str = "SELECT table_name, index_name, column_name, nullable = 'YES' OR sub_part IS NOT NULL
    FROM information_schema.statistics WHERE table_schema = DATABASE() AND non_unique = 0
    ORDER BY table_name, index_name <> 'PRIMARY', index_name, seq_in_index";

/// Tables whose rows have triggers, or other rows that refer to them.
const ENTANGLED: &str = "SELECT event_object_table FROM information_schema.triggers
    WHERE trigger_schema = DATABASE()
    UNION SELECT referenced_table_name FROM information_schema.referential_constraints
    WHERE constraint_schema = DATABASE()";

/// The only storage engine whose changes can be taken back.
const TRANSACTIONAL: &str = "InnoDB";

/// Reads everything anew.
pub(super) fn read(link: &mut Link, database: &str) -> Result<Schema, MyError> {
    let mut columns = columns(link)?;
    let mut keys = keys(link)?;
    let mut tables = Vec::new();
    for row in link.query(TABLES, Vec::new())? {
        let text = |at: usize| row.text(at).unwrap_or_default();
        let (name, kind, engine) = (text(0), text(1), text(2));
        let columns = columns.remove(&name).unwrap_or_default();
        let key = keys.remove(&name).unwrap_or_default();
        let unsafe_for_acts = unsafe_for_acts(&kind, &engine, &key);
        // Rows that are never changed need no place to come back to.
        let key = if unsafe_for_acts.is_none() { key } else { Vec::new() };
        let runs = (kind.contains("VIEW")).then(|| format!("{name} is a view"));
        tables.push(Table {
            sql: format!("{}.{}", quoted(database), quoted(&name)),
            has_rowid: false,
            key: Arc::new(Names::new(key)),
            names: Names::written(&columns),
            columns,
            standing: TableTrust { runs, owner_is_trusted: true, unsafe_for_acts, ..TableTrust::default() },
            name,
        });
    }
    let entangled = link.query(ENTANGLED, Vec::new())?;
    let entangled: BTreeSet<String> = entangled.iter().filter_map(|row| row.text(0)).collect();
    Ok(Schema::new(tables, entangled))
}

/// Rows without a key cannot be told apart, and what is not InnoDB cannot be taken back: never acted on.
fn unsafe_for_acts(kind: &str, engine: &str, key: &[String]) -> Option<TableUnsafe> {
    match kind {
        _ if kind.contains("VIEW") => Some(TableUnsafe::View),
        _ if engine != TRANSACTIONAL => Some(TableUnsafe::NotTransactional { engine: engine.to_owned() }),
        _ if key.is_empty() => Some(TableUnsafe::NoKey),
        _ => None,
    }
}

fn columns(link: &mut Link) -> Result<BTreeMap<String, Vec<Column>>, MyError> {
    let mut all: BTreeMap<String, Vec<Column>> = BTreeMap::new();
    for row in link.query(COLUMNS, Vec::new())? {
        let text = |at: usize| row.text(at).unwrap_or_default();
        let column = Column { name: text(1), declared: text(2), generated: row.is_true(3) };
        all.entry(text(0)).or_default().push(column);
    }
    Ok(all)
}

/// The primary key of each table, or else the first unique index without a NULL.
fn keys(link: &mut Link) -> Result<BTreeMap<String, Vec<String>>, MyError> {
    let mut indexes: BTreeMap<(String, bool, String), Option<Vec<String>>> = BTreeMap::new();
    for row in link.query(KEYS, Vec::new())? {
        let text = |at: usize| row.text(at).unwrap_or_default();
        let key = (text(0), text(1) != "PRIMARY", text(1));
        let columns = indexes.entry(key).or_insert_with(|| Some(Vec::new()));
        match (row.text(2), row.is_true(3)) {
            (Some(column), false) => {
                if let Some(columns) = columns {
                    columns.push(column);
                }
            }
            // A column that may be NULL, a part of one, or an expression.
            _ => *columns = None,
        }
    }
    let mut keys = BTreeMap::new();
    for ((table, _, _), columns) in indexes {
        if let Some(columns) = columns {
            keys.entry(table).or_insert(columns);
        }
    }
    Ok(keys)
}
