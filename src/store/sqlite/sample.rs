//! Samples of a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::cell::cell;
use super::dialect::SqliteDialect;
use super::error::explain;
use super::keys::Keys;
use super::open::{self, OpenedFile};
use super::schema;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::profile::draft::Reference;
use crate::store::driver::Dialect;
use crate::store::sampling::{LIMIT, LONGEST, SampleSource, values_in_check};
use crate::store::schema::{Column, Schema, Table, quoted};
use crate::store::{Options, StoreError, clock};

/// A file opened for samples.
#[derive(Debug)]
pub struct SqliteSample {
    path: PathBuf,
    options: Options,
    opened: OpenedFile,
    schema: Schema,
    out_of_time: Arc<AtomicBool>,
}

impl SqliteSample {
    pub fn open(path: &Path, options: &Options) -> Result<SqliteSample, StoreError> {
        let opened = open::read_only(path, options.busy_timeout, &Keys::default())?;
        let schema = schema::read(&opened.connection)
            .map_err(|error| explain(path, &error, options.busy_timeout, "reading the schema"))?;
        let (path, options) = (path.to_owned(), options.clone());
        Ok(SqliteSample { path, options, opened, schema, out_of_time: Arc::default() })
    }

    fn sentence(&self, error: &rusqlite::Error, doing: &str) -> StoreError {
        explain(&self.path, error, self.options.busy_timeout, doing)
    }

    /// The rows of a statement over the schema.
    fn texts(&self, sql: &str, width: usize) -> Result<Vec<Vec<String>>, StoreError> {
        let read = || {
            let mut statement = self.opened.connection.prepare(sql)?;
            let texts = |row: &rusqlite::Row<'_>| {
                Ok((0..width).map(|at| cell(row, at).text().unwrap_or_default()).collect())
            };
            statement.query_map([], texts)?.collect::<rusqlite::Result<Vec<Vec<String>>>>()
        };
        read().map_err(|error| self.sentence(&error, "reading the schema"))
    }
}

impl SampleSource for SqliteSample {
    fn dialect(&self) -> &'static dyn Dialect {
        &SqliteDialect
    }

    /// The rowid, which grows with every row, where there is one.
    fn order(&self, table: &Table) -> Vec<String> {
        match table.has_rowid {
            true => vec!["t.rowid".into()],
            false => table.key.iter().map(|name| format!("t.{}", quoted(name))).collect(),
        }
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn now(&mut self) -> Result<Moment, StoreError> {
        Ok(self.options.frozen_at.unwrap_or_else(clock))
    }

    fn references(&mut self) -> Result<Vec<(String, Reference)>, StoreError> {
        // A key without columns means the primary key of the other table.
        let sql = "SELECT t.name, f.id, f.\"table\", f.\"from\", f.\"to\" FROM sqlite_schema AS t, \
                   pragma_foreign_key_list(t.name) AS f WHERE t.type = 'table' ORDER BY t.name, f.id, f.seq";
        let mut found: Vec<(String, String, Reference)> = Vec::new();
        for row in self.texts(sql, 5)? {
            let [table, id, other, own, referenced] = &row[..] else { continue };
            let Some(other) = self.schema.table(other) else { continue };
            let referenced = match referenced.is_empty() {
                true => other.key.iter().next().unwrap_or_default().to_owned(),
                false => referenced.clone(),
            };
            match found.last_mut().filter(|(from, known, _)| from == table && known == id) {
                Some((_, _, reference)) => {
                    reference.columns.push(own.clone());
                    reference.referenced.push(referenced);
                }
                None => found.push((
                    table.clone(),
                    id.clone(),
                    Reference {
                        columns: vec![own.clone()],
                        table: other.name.clone(),
                        referenced: vec![referenced],
                    },
                )),
            }
        }
        Ok(found.into_iter().map(|(table, _, reference)| (table, reference)).collect())
    }

    fn partitions(&mut self) -> Result<BTreeSet<String>, StoreError> {
        Ok(BTreeSet::new())
    }

    fn declared_values(&mut self) -> Result<BTreeMap<(String, String), Vec<String>>, StoreError> {
        let mut declared = BTreeMap::new();
        for row in self.texts("SELECT name, sql FROM sqlite_schema WHERE type = 'table'", 2)? {
            let [name, sql] = &row[..] else { continue };
            for column in self.schema.table(name).into_iter().flat_map(|table| &table.columns) {
                let values = values_in_check(sql, &column.name);
                if !values.is_empty() {
                    declared.insert((name.clone(), column.name.clone()), values);
                }
            }
        }
        Ok(declared)
    }

    fn cell(&self, column: &Column) -> String {
        let name = format!("t.{}", quoted(&column.name));
        format!(
            "CASE WHEN typeof({name}) IN ('text', 'blob') THEN substr({name}, 1, {LONGEST}) ELSE {name} END"
        )
    }

    fn rows(&mut self, sql: &str, columns: &[&Column]) -> Result<Option<Vec<Vec<Value>>>, StoreError> {
        let (started, flag) = (Instant::now(), Arc::clone(&self.out_of_time));
        flag.store(false, Ordering::Relaxed);
        let is_over = move || {
            let over = started.elapsed() > LIMIT;
            flag.fetch_or(over, Ordering::Relaxed);
            over
        };
        let connection = &mut self.opened.connection;
        let mut read = || {
            connection.progress_handler(20_000, Some(is_over.clone()))?;
            let mut statement = connection.prepare(sql)?;
            let values = |row: &rusqlite::Row<'_>| Ok((0..columns.len()).map(|at| cell(row, at)).collect());
            statement.query_map([], values)?.collect::<rusqlite::Result<Vec<Vec<Value>>>>()
        };
        match read() {
            Ok(rows) => Ok(Some(rows)),
            Err(_) if self.out_of_time.load(Ordering::Relaxed) => Ok(None),
            Err(error) => Err(self.sentence(&error, "reading a sample")),
        }
    }
}
