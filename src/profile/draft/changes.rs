//! What happened to the rows of a table between two looks.

use std::collections::HashMap;

use super::sample::TableSample;
use crate::domain::value::Value;

/// The changes of rows that two looks in a row have both seen.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    rows: Vec<RowChange>,
    /// Rows that were new, and rows that were gone.
    pub appeared: usize,
    pub vanished: usize,
}

/// One row that was different at the second look.
#[derive(Debug, Clone)]
pub(super) struct RowChange {
    /// Of every column that differs: its place, and the value before and after.
    pub cells: Vec<(usize, Value, Value)>,
}

/// More changes than this add nothing.
const ENOUGH: usize = 5_000;

impl Changes {
    /// Compares the rows of `before` with those of `after`, by the key of the table.
    pub fn observe(&mut self, before: &TableSample, after: &TableSample) {
        let key: Vec<usize> = after.key.iter().filter_map(|name| after.position(name)).collect();
        if key.is_empty() || before.columns.len() != after.columns.len() {
            return;
        }
        let name = |row: &[Value]| -> String {
            key.iter().map(|at| row.get(*at).map(Value::visible).unwrap_or_default() + "\n").collect()
        };
        let old: HashMap<String, &Vec<Value>> = before.rows.iter().map(|row| (name(row), row)).collect();
        let mut met = 0;
        for row in &after.rows {
            let Some(earlier) = old.get(&name(row)) else {
                self.appeared += 1;
                continue;
            };
            met += 1;
            let differs = |at: &usize| earlier.get(*at) != row.get(*at);
            let cells: Vec<(usize, Value, Value)> = (0..row.len().min(earlier.len()))
                .filter(differs)
                .map(|at| (at, earlier[at].clone(), row[at].clone()))
                .collect();
            if !cells.is_empty() && self.rows.len() < ENOUGH {
                self.rows.push(RowChange { cells });
            }
        }
        self.vanished += old.len().saturating_sub(met);
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// How often a column got a value where it had none while another changed too.
    pub fn set_together(&self, column: usize, with: usize) -> usize {
        self.count(|row| row.sets(column) && row.value(with).is_some())
    }

    /// How often a column changed from one value to another while `still` stayed as it was.
    pub fn moved_alone(&self, column: usize, still: Option<usize>) -> usize {
        let stays = |row: &RowChange| still.is_none_or(|still| row.value(still).is_none());
        self.count(|row| row.moves(column) && stays(row))
    }

    /// How often a column changed at all.
    pub fn changed(&self, column: usize) -> usize {
        self.count(|row| row.value(column).is_some())
    }

    fn count(&self, which: impl Fn(&RowChange) -> bool) -> usize {
        self.rows.iter().filter(|row| which(row)).count()
    }
}

impl RowChange {
    fn cell(&self, column: usize) -> Option<&(usize, Value, Value)> {
        self.cells.iter().find(|(at, _, _)| *at == column)
    }

    /// The new value of a column that changed.
    fn value(&self, column: usize) -> Option<&Value> {
        self.cell(column).map(|(_, _, after)| after)
    }

    fn sets(&self, column: usize) -> bool {
        let is_empty = |value: &Value| *value == Value::Null || *value == Value::Text(String::new());
        self.cell(column).is_some_and(|(_, before, after)| is_empty(before) && !is_empty(after))
    }

    fn moves(&self, column: usize) -> bool {
        self.cell(column).is_some_and(|(_, before, after)| *before != Value::Null && *after != Value::Null)
    }
}
