//! Samples of a server's database.

use std::collections::{BTreeMap, BTreeSet};

use super::dialect::PostgresDialect;
use super::schema::{self, quoted};
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::postgres::error::PgError;
use crate::postgres::link::{Begin, Limits, Link, Purpose, Row};
use crate::postgres::target::Target;
use crate::profile::draft::Reference;
use crate::store::driver::Dialect;
use crate::store::sampling::{LIMIT, LONGEST, SampleSource, values_in_check};
use crate::store::schema::{Column, Schema};
use crate::store::{Options, StoreError, clock};

const REFERENCES: &str = "
    SELECT n.nspname::text, r.relname::text, fn.nspname::text, f.relname::text,
      (SELECT string_agg(a.attname, E'\\n' ORDER BY c.n) FROM unnest(k.conkey) WITH ORDINALITY AS c(attnum, n)
       JOIN pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = c.attnum),
      (SELECT string_agg(a.attname, E'\\n' ORDER BY c.n) FROM unnest(k.confkey) WITH ORDINALITY AS c(attnum, n)
       JOIN pg_attribute AS a ON a.attrelid = k.confrelid AND a.attnum = c.attnum)
    FROM pg_constraint AS k JOIN pg_class AS r ON r.oid = k.conrelid JOIN pg_namespace AS n ON n.oid = r.relnamespace
    JOIN pg_class AS f ON f.oid = k.confrelid JOIN pg_namespace AS fn ON fn.oid = f.relnamespace
    WHERE k.contype = 'f' AND k.conparentid = 0 ORDER BY k.oid";

const PARTITIONS: &str = "
    SELECT n.nspname::text, c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relispartition";

/// The labels of enums, and the text of CHECKs.
const DECLARED: &str = "
    SELECT n.nspname::text, c.relname::text, a.attname::text,
      (SELECT string_agg(e.enumlabel, E'\\n' ORDER BY e.enumsortorder) FROM pg_enum AS e WHERE e.enumtypid = a.atttypid),
      (SELECT pg_get_constraintdef(k.oid) FROM pg_constraint AS k
       WHERE k.conrelid = c.oid AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum] LIMIT 1)
    FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p')
      AND (EXISTS (SELECT FROM pg_enum AS e WHERE e.enumtypid = a.atttypid)
        OR EXISTS (SELECT FROM pg_constraint AS k WHERE k.conrelid = c.oid AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum]))";

/// A connection for samples.
#[derive(Debug)]
pub struct PostgresSample {
    options: Options,
    link: Link,
    schema: Schema,
}

impl PostgresSample {
    pub fn open(target: &Target, options: &Options) -> Result<PostgresSample, StoreError> {
        let limits = Limits { statement: LIMIT, lock: options.busy_timeout, answer: LIMIT * 3 };
        let mut link = Link::open(target, Purpose::Polls, limits)?;
        let said = |error: PgError| options.sentence(&error, "reading the tables");
        link.begin(Begin::Reading).map_err(said)?;
        let schema = schema::read(&mut link).map_err(said)?.schema;
        link.rollback().map_err(said)?;
        Ok(PostgresSample { options: options.clone(), link, schema })
    }

    /// One question in a transaction of its own, so that one that takes too long leaves the others alone.
    fn ask(&mut self, sql: &str) -> Result<Vec<Row>, PgError> {
        self.link.begin(Begin::Reading)?;
        let rows = self.link.query(sql, &[]);
        let ended = self.link.rollback();
        rows.and_then(|rows| ended.map(|()| rows))
    }

    fn catalog(&mut self, sql: &str) -> Result<Vec<Row>, StoreError> {
        self.ask(sql).map_err(|error| self.options.sentence(&error, "reading the catalog"))
    }
}

impl SampleSource for PostgresSample {
    fn dialect(&self) -> &'static dyn Dialect {
        &PostgresDialect
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn now(&mut self) -> Result<Moment, StoreError> {
        let rows = self.catalog("SELECT clock_timestamp()::text")?;
        let theirs = rows.first().and_then(|row| Moment::parse(row.get(0)?));
        Ok(self.options.frozen_at.or(theirs).unwrap_or_else(clock))
    }

    fn references(&mut self) -> Result<Vec<(String, Reference)>, StoreError> {
        let rows = self.catalog(REFERENCES)?;
        Ok(rows
            .iter()
            .map(|row| {
                let text = |at: usize| row.get(at).unwrap_or_default();
                let list = |at: usize| text(at).split('\n').map(str::to_owned).collect();
                let table = self.schema.name_in(text(2), text(3));
                let reference = Reference { columns: list(4), table, referenced: list(5) };
                (self.schema.name_in(text(0), text(1)), reference)
            })
            .collect())
    }

    fn partitions(&mut self) -> Result<BTreeSet<String>, StoreError> {
        let rows = self.catalog(PARTITIONS)?;
        Ok(rows.iter().filter_map(|row| Some(self.schema.name_in(row.get(0)?, row.get(1)?))).collect())
    }

    fn declared_values(&mut self) -> Result<BTreeMap<(String, String), Vec<String>>, StoreError> {
        let mut declared = BTreeMap::new();
        for row in self.catalog(DECLARED)? {
            let text = |at: usize| row.get(at).unwrap_or_default();
            let values: Vec<String> = match row.get(3) {
                Some(labels) => labels.split('\n').map(str::to_owned).collect(),
                None => values_in_check(text(4), text(2)),
            };
            if !values.is_empty() {
                declared.insert((self.schema.name_in(text(0), text(1)), text(2).to_owned()), values);
            }
        }
        Ok(declared)
    }

    fn cell(&self, column: &Column) -> String {
        format!("left((t.{})::text, {LONGEST})", quoted(&column.name))
    }

    fn rows(&mut self, sql: &str, columns: &[&Column]) -> Result<Option<Vec<Vec<Value>>>, StoreError> {
        let read =
            |row: &Row| columns.iter().enumerate().map(|(at, column)| value(row, at, column)).collect();
        match self.ask(sql) {
            Ok(rows) => Ok(Some(rows.iter().map(read).collect())),
            // It took too long, or somebody holds a lock on the whole table.
            Err(PgError::Server { code, .. }) if code == "57014" || code == "55P03" => Ok(None),
            Err(error) => Err(self.options.sentence(&error, "reading a sample")),
        }
    }
}

/// A cell that came as text, by the type of its column.
fn value(row: &Row, at: usize, column: &Column) -> Value {
    let Some(text) = row.get(at) else { return Value::Null };
    let declared = column.declared.as_str();
    match declared {
        "smallint" | "integer" | "bigint" => {
            text.parse().map_or_else(|_| Value::Text(text.into()), Value::Int)
        }
        "real" | "double precision" => text.parse().map_or_else(|_| Value::Text(text.into()), Value::Real),
        _ if declared.starts_with("numeric") => {
            text.parse().map_or_else(|_| Value::Text(text.into()), Value::Real)
        }
        _ => Value::Text(text.into()),
    }
}
