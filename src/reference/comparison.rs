//! Compares existing tables with the reference: every difference in words.

use rusqlite::Connection;
use std::collections::BTreeMap;

use super::SchemaObject;

/// How `found` differs from `wanted`, each in its own database; empty if it is usable.
pub(super) fn differences(
    there: &Connection,
    found: &SchemaObject,
    model: &Connection,
    wanted: &SchemaObject,
) -> rusqlite::Result<Vec<String>> {
    if found.kind != wanted.kind {
        return Ok(vec![format!("it is no {}", wanted.kind)]);
    }
    match wanted.kind.as_str() {
        "table" => Ok(compare(&columns(there, &found.name)?, &columns(model, &wanted.name)?)),
        "index" => index(there, found, model, wanted),
        _ if found.sql != wanted.sql => Ok(vec!["its text is another".into()]),
        _ => Ok(Vec::new()),
    }
}

/// A column as it was declared.
struct DeclaredColumn {
    kind: String,
    /// Its position in the primary key, from 1; 0 if it is not part of it.
    key: i64,
    demand: ColumnDemand,
}

/// Whether a row can be written without naming the column.
#[derive(PartialEq)]
enum ColumnDemand {
    MayBeLeftOut,
    MustBeGiven,
}

fn columns(connection: &Connection, table: &str) -> rusqlite::Result<BTreeMap<String, DeclaredColumn>> {
    let sql = "SELECT lower(name), type, pk, \"notnull\" AND dflt_value IS NULL AND pk = 0 AND hidden = 0
               FROM pragma_table_xinfo(?1)";
    let mut statement = connection.prepare(sql)?;
    let columns = statement.query_map([table], |row| {
        let demand = if row.get(3)? { ColumnDemand::MustBeGiven } else { ColumnDemand::MayBeLeftOut };
        Ok((row.get(0)?, DeclaredColumn { kind: row.get(1)?, key: row.get(2)?, demand }))
    })?;
    columns.collect()
}

fn compare(has: &BTreeMap<String, DeclaredColumn>, wants: &BTreeMap<String, DeclaredColumn>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, wanted) in wants {
        match has.get(name) {
            None => wrong.push(format!("the column {name} is missing")),
            Some(is) if !is.kind.eq_ignore_ascii_case(&wanted.kind) => {
                wrong.push(format!("the column {name} is {}, not {}", typed(&is.kind), typed(&wanted.kind)));
            }
            Some(is) if is.key != wanted.key => {
                wrong.push(format!("the column {name} has another place in the primary key"));
            }
            Some(_) => {}
        }
    }
    let unknown = has.iter().filter(|(name, _)| !wants.contains_key(*name));
    wrong.extend(
        unknown
            .filter(|(_, column)| column.demand == ColumnDemand::MustBeGiven)
            .map(|(name, _)| format!("the column {name} is unknown and may not be left out")),
    );
    wrong
}

fn typed(kind: &str) -> &str {
    if kind.is_empty() { "without a type" } else { kind }
}

/// `CREATE INDEX IF NOT EXISTS` compares only the name, which may belong to another table.
fn index(
    there: &Connection,
    found: &SchemaObject,
    model: &Connection,
    wanted: &SchemaObject,
) -> rusqlite::Result<Vec<String>> {
    if found.table != wanted.table {
        return Ok(vec![format!("it is on {}, not on {}", found.table, wanted.table)]);
    }
    let (is, wanted) = (parts(there, &found.name)?, parts(model, &wanted.name)?);
    if is == wanted {
        return Ok(Vec::new());
    }
    Ok(vec![format!("it is on ({}), not on ({})", is.join(", "), wanted.join(", "))])
}

/// The columns of an index in their order; an expression has no name.
fn parts(connection: &Connection, index: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT coalesce(lower(name), '?') || iif(\"desc\", ' desc', '')
               FROM pragma_index_xinfo(?1) WHERE key ORDER BY seqno";
    connection.prepare(sql)?.query_map([index], |row| row.get(0))?.collect()
}
