//! Notices that the tables of the claims have changed since the profiles were fitted to them.
//!
//! A server has no number for its schema, as a file has. But each row of its catalog carries the transaction that
//! wrote it, so that the rows of a few tables make a version of them: it costs some lookups by index.

use std::collections::BTreeSet;

use super::dependencies::Dependencies;
use super::named_params::array;
use super::schema::literal;
use crate::postgres::error::PgError;
use crate::postgres::link::{Link, Row};
use crate::profile::format::{Act, Profile};
use crate::store::driver::Row as _;
use crate::store::schema::Schema;
use crate::store::scope::{last_part, words};

/// What the catalog says of the tables that matter, as an expression, and its value when they were read.
///
/// A foreign key that refers to a table is a trigger of that table too, so that triggers tell both. Temporary tables
/// of others come and go all the time.
#[derive(Debug, Clone, Default)]
pub(super) struct CatalogVersion {
    /// The names of the tables, without schemas. What mattered once does so again: it may come back.
    tables: BTreeSet<String>,
    sql: String,
    value: Option<String>,
}

/// The tables of some names, with their parts and the functions of their triggers; and which parts of the catalog
/// have something to say of them. The first row of the others shows in the row of the table itself.
const FOUND: &str = "
    WITH RECURSIVE it(oid) AS (
      SELECT oid FROM pg_class WHERE relname = ANY (($1::text)::name[]) AND relpersistence <> 't'
      UNION SELECT i.inhrelid FROM it JOIN pg_inherits AS i ON i.inhparent = it.oid),
    triggers AS (SELECT DISTINCT t.tgfoid AS oid FROM pg_trigger AS t JOIN it ON it.oid = t.tgrelid WHERE NOT t.tgisinternal)
    SELECT coalesce((SELECT array_agg(oid) FROM it), '{}')::text, (SELECT array_agg(oid) FROM triggers)::text,
      (SELECT bool_or(c.relrowsecurity) FROM it JOIN pg_class AS c ON c.oid = it.oid)::text,
      (SELECT bool_or(c.relhassubclass) FROM it JOIN pg_class AS c ON c.oid = it.oid)::text";

impl CatalogVersion {
    /// Reads it for the tables of the profiles that fit, and those that foreign keys take along.
    pub(super) fn read<'a>(
        mut self,
        link: &mut Link,
        profiles: impl Iterator<Item = &'a Profile>,
        schema: &Schema,
        dependencies: &Dependencies,
    ) -> Result<CatalogVersion, PgError> {
        for profile in profiles {
            self.tables.extend(tables_of(profile, schema).iter().map(|name| last_part(name).to_owned()));
        }
        self.add_referring(dependencies);
        let names = array(self.tables.iter().map(Some));
        if let [found] = &link.query(FOUND, &[Some(&names)])?[..] {
            self.sql = expression(&names, found);
        }
        let rows = link.query(&format!("SELECT {}", self.sql()), &[])?;
        self.value = rows.first().and_then(|row| row.get(0)).map(str::to_owned);
        Ok(self)
    }

    /// Whether that is the version that was read.
    pub(super) fn is(&self, version: Option<&str>) -> bool {
        self.value.as_deref() == version
    }

    /// The version now, as an expression.
    pub(super) fn sql(&self) -> &str {
        if self.sql.is_empty() { "NULL" } else { &self.sql }
    }

    /// Adds the tables whose rows are taken along by those that are in it.
    fn add_referring(&mut self, dependencies: &Dependencies) {
        let mut before = 0;
        while before < self.tables.len() {
            before = self.tables.len();
            for key in dependencies.keys() {
                if self.tables.contains(last_part(&key.to)) {
                    self.tables.insert(last_part(&key.from).to_owned());
                }
            }
        }
    }
}

/// The transactions that wrote the rows about some tables. Each part is one lookup by an index: this is asked with
/// every poll.
fn expression(names: &str, found: &Row) -> String {
    let oids = literal(found.get(0).unwrap_or("{}"));
    let part = |catalog: &str, number: &str, condition: &str| {
        let written = format!("string_agg(concat({number}, ':', xmin), ' ' ORDER BY {number})");
        format!("(SELECT {written} FROM {catalog} WHERE {condition})")
    };
    let names = literal(names);
    let mut parts = vec![
        part("pg_class", "oid", &format!("relname = ANY ({names}::name[]) AND relpersistence <> 't'")),
        part("pg_attribute", "attrelid, attnum", &format!("attrelid = ANY ({oids}::oid[]) AND attnum > 0")),
        part("pg_index", "indexrelid", &format!("indrelid = ANY ({oids}::oid[])")),
        part("pg_trigger", "oid", &format!("tgrelid = ANY ({oids}::oid[])")),
    ];
    if let Some(functions) = found.get(1) {
        parts.push(part("pg_proc", "oid", &format!("oid = ANY ({}::oid[])", literal(functions))));
    }
    if found.is_true(2) {
        parts.push(part("pg_policy", "oid", &format!("polrelid = ANY ({oids}::oid[])")));
    }
    if found.is_true(3) {
        parts.push(part("pg_inherits", "inhrelid", &format!("inhparent = ANY ({oids}::oid[])")));
    }
    format!("concat_ws('|', {})", parts.join(", "))
}

/// The tables of a profile's claims and holders, whether they are there or not, and those that its SQL mentions.
fn tables_of(profile: &Profile, schema: &Schema) -> Vec<String> {
    let (mut names, mut mentioned) = (Vec::new(), Vec::new());
    for board in &profile.boards {
        let registry = profile.registry(board);
        names.push(board.table.clone());
        names.extend(registry.map(|registry| registry.table.clone()));
        let acts = [&board.reclaim, &board.release, &board.extend, &board.requeue];
        let acts = acts.into_iter().flatten().chain(registry.and_then(|registry| registry.end.as_ref()));
        mentioned.extend(board.from.iter().flat_map(|from| words(from)));
        mentioned.extend(acts.flat_map(Act::statements).flat_map(|statement| words(&statement.sql)));
    }
    // What is written in small letters may mean a name with capitals.
    let known = names.iter().chain(&mentioned).filter_map(|name| Some(schema.table(name)?.name.clone()));
    let known: Vec<String> = known.collect();
    names.extend(known);
    names
}
