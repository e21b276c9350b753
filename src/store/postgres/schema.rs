//! Reading the tables of a database.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::error::PgError;
use super::link::Link;
use super::ties::Ties;
use crate::store::schema::{Column, Names, Schema, Table};
pub use crate::store::schema::{literal, quoted};

/// Every table and view that we may read, less the system's own. What is on the search path goes by
/// its bare name, everything else with its schema.
const TABLES: &str = "
    SELECT c.oid::text, n.nspname::text, c.relname::text, c.relkind::text, pg_table_is_visible(c.oid)::text
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
      AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'
      AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
    ORDER BY c.oid";

/// Tables that are there, and of which we may read nothing.
const UNREADABLE: &str = "
    SELECT c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
      AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'
      AND NOT (has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT'))";

/// Their columns, less those that we may not read.
const COLUMNS: &str = "
    SELECT a.attrelid::text, a.attname::text, format_type(a.atttypid, a.atttypmod), (a.attgenerated <> '')::text
    FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'
      AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
    ORDER BY a.attrelid, a.attnum";

/// What tells rows apart: the primary key, or else a unique index on columns that are never NULL.
const KEYS: &str = "
    SELECT DISTINCT ON (i.indrelid) i.indrelid::text,
      (SELECT string_agg(a.attname, E'\\n' ORDER BY k.n)
       FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, n)
       JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.attnum)
    FROM pg_index AS i
    WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
      AND (i.indisprimary OR NOT EXISTS (SELECT FROM pg_attribute AS a
           WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey::int2[]) AND NOT a.attnotnull))
    ORDER BY i.indrelid, i.indisprimary DESC, i.indnatts";

/// The tables, and how they hang together.
pub fn read(link: &mut Link) -> Result<(Schema, Ties), PgError> {
    let columns = link.query(COLUMNS, &[])?;
    let keys = link.query(KEYS, &[])?;
    let mut tables = Vec::new();
    let mut names = BTreeMap::new();
    for row in link.query(TABLES, &[])? {
        let text = |at: usize| row.get(at).unwrap_or_default();
        let (oid, schema, name) = (text(0), text(1), text(2));
        let columns = columns.iter().filter(|column| column.get(0) == Some(oid));
        let columns: Vec<Column> = columns
            .map(|column| Column {
                name: column.get(1).unwrap_or_default().into(),
                declared: column.get(2).unwrap_or_default().into(),
                generated: column.get(3) == Some("true"),
            })
            .collect();
        let key = keys.iter().find(|key| key.get(0) == Some(oid)).and_then(|key| key.get(1));
        let table = Table {
            name: if text(4) == "true" { name.into() } else { format!("{schema}.{name}") },
            sql: format!("{}.{}", quoted(schema), quoted(name)),
            // Rows have a place of their own, and can be locked and written.
            has_rowid: matches!(text(3), "r" | "p"),
            key: key
                .map(|key| Arc::new(Names::new(key.split('\n').map(str::to_owned).collect())))
                .unwrap_or_default(),
            names: Names::written(&columns),
            columns,
        };
        names.insert(oid.to_owned(), table.name.clone());
        tables.push(table);
    }
    let unreadable = texts(link.query(UNREADABLE, &[])?.iter().map(|row| row.get(0)));
    let ties = Ties::read(link, &names)?;
    Ok((Schema::new(tables, BTreeSet::new()).beside(unreadable), ties))
}

fn texts<'a>(all: impl Iterator<Item = Option<&'a str>>) -> BTreeSet<String> {
    all.flatten().map(str::to_owned).collect()
}
