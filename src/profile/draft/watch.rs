//! Several looks at one database, put together.

use std::collections::BTreeMap;

use super::changes::Changes;
use super::sample::{DatabaseSample, TableSample};
use crate::domain::value::Value;

/// What has been seen so far.
#[derive(Debug)]
pub struct DraftWatch {
    first: DatabaseSample,
    latest: BTreeMap<String, TableSample>,
    changes: BTreeMap<String, Changes>,
    /// Rows as they were in earlier looks: a job may run between two of them only.
    earlier: BTreeMap<String, Vec<Vec<Value>>>,
}

/// Earlier rows to keep of a table.
const KEPT: usize = 500;

impl DraftWatch {
    pub fn new(first: DatabaseSample) -> DraftWatch {
        let (changes, earlier) = (BTreeMap::new(), BTreeMap::new());
        let latest = first.tables.iter().map(|table| (table.name.clone(), table.clone())).collect();
        DraftWatch { first, latest, changes, earlier }
    }

    pub fn observe(&mut self, next: DatabaseSample) {
        self.first.now = next.now;
        for later in next.tables {
            let name = later.name.clone();
            let Some(before) = self.latest.insert(name.clone(), later) else { continue };
            let Some(later) = self.latest.get(&name) else { continue };
            self.changes.entry(name.clone()).or_default().observe(&before, later);
            let earlier = self.earlier.entry(name).or_default();
            for row in before.rows {
                if earlier.len() < KEPT && !later.rows.contains(&row) && !earlier.contains(&row) {
                    earlier.push(row);
                }
            }
        }
    }

    /// How many rows changed.
    pub fn changes(&self) -> usize {
        self.changes.values().map(Changes::len).sum()
    }

    /// Everything as one sample.
    pub fn finish(mut self) -> DatabaseSample {
        for table in &mut self.first.tables {
            if let Some(latest) = self.latest.remove(&table.name) {
                *table = latest;
            }
            table.rows.extend(self.earlier.remove(&table.name).unwrap_or_default());
            table.changes = self.changes.remove(&table.name).unwrap_or_default();
        }
        self.first
    }
}
