//! Notices that the tables of the claims have changed since the profiles were fitted to them.
//!
//! A server has no number for its schema, as a file has. But each row of its catalog carries the transaction that
//! wrote it, so that the rows of a few tables make a version of them: it costs some lookups by index.

use std::collections::BTreeSet;

use super::dependencies::Dependencies;
use super::named_params::array;
use super::schema::literal;
use crate::postgres::error::PgError;
use crate::postgres::link::Link;
use crate::profile::format::{Act, Profile};
use crate::store::schema::Schema;
use crate::store::scope::{last_part, words};

/// The tables that matter, by their names without schemas, and their version when they were read.
///
/// A foreign key that refers to a table is a trigger of that table too, so that triggers tell both. Temporary tables
/// of others come and go all the time.
#[derive(Debug, Clone, Default)]
pub(super) struct CatalogVersion {
    /// What was of interest once stays so: a table that is gone may come back.
    tables: BTreeSet<String>,
    read: Option<String>,
}

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
        let rows = link.query(&format!("SELECT {}", self.sql()), &[])?;
        self.read = rows.first().and_then(|row| row.get(0)).map(str::to_owned);
        Ok(self)
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

    /// Whether that is the version that was read.
    pub(super) fn is(&self, version: Option<&str>) -> bool {
        self.read.as_deref() == version
    }

    /// The version now, as an expression.
    pub(super) fn sql(&self) -> String {
        let names = literal(&array(self.tables.iter().map(Some)));
        format!(
            "(WITH RECURSIVE it(oid) AS (
                SELECT oid FROM pg_class WHERE relname = ANY ({names}::name[]) AND relpersistence <> 't'
                UNION SELECT i.inhrelid FROM it JOIN pg_inherits AS i ON i.inhparent = it.oid)
              SELECT md5(string_agg(v, ' ' ORDER BY v)) FROM (
                SELECT concat('c', c.oid, ':', c.xmin) AS v FROM it JOIN pg_class AS c ON c.oid = it.oid
                UNION ALL SELECT concat('a', a.attrelid, '.', a.attnum, ':', a.xmin)
                  FROM it JOIN pg_attribute AS a ON a.attrelid = it.oid WHERE a.attnum > 0
                UNION ALL SELECT concat('i', i.indexrelid, ':', i.xmin) FROM it JOIN pg_index AS i ON i.indrelid = it.oid
                UNION ALL SELECT concat('t', t.oid, ':', t.xmin, ',', p.xmin)
                  FROM it JOIN pg_trigger AS t ON t.tgrelid = it.oid JOIN pg_proc AS p ON p.oid = t.tgfoid
                UNION ALL SELECT concat('p', p.oid, ':', p.xmin) FROM it JOIN pg_policy AS p ON p.polrelid = it.oid
              ) AS versions)"
        )
    }
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
