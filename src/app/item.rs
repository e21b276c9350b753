//! Selectable items, by identity and never by position.

use super::row::{Row, RowId};
use crate::domain::backtest::Subject;
use crate::domain::cause::GroupBy;

/// One line of one list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Item {
    Claim(RowId),
    /// One name may be listed in several tables.
    Holder {
        source: usize,
        profile: String,
        listed_in: String,
        id: String,
    },
    Kind {
        source: usize,
        profile: String,
        board: String,
        kind: Option<String>,
    },
    Group {
        source: usize,
        by: GroupBy,
        name: Option<String>,
    },
    LoggedEvent(u64),
    /// An act on record.
    Act {
        id: String,
    },
    /// A bulk on record.
    Bulk {
        id: String,
    },
    /// The thresholds of a backtest.
    Threshold(Subject),
    /// The line below the acts of a bulk.
    BulkNote {
        id: String,
    },
}

/// Where the selection of a list stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListSelection {
    item: Option<Item>,
    /// Its position: when it disappears, the item that takes its place is selected.
    at: usize,
    /// The item whose place the selected one took, until the selection is moved.
    replaced: Option<Item>,
}

impl ListSelection {
    /// The place of the selected item in `items`, or of the one that took its place.
    pub fn place(&self, items: &[Item]) -> Option<usize> {
        let wanted = self.item.as_ref();
        let there = wanted.and_then(|item| items.iter().position(|other| other == item));
        there.or_else(|| items.len().checked_sub(1).map(|last| self.at.min(last)))
    }

    /// The same among the rows of a list of claims.
    pub fn place_of_claim(&self, rows: &[&Row]) -> Option<usize> {
        let there = match &self.item {
            Some(Item::Claim(id)) => rows.iter().position(|row| row.id == *id),
            _ => None,
        };
        there.or_else(|| rows.len().checked_sub(1).map(|last| self.at.min(last)))
    }

    /// The item that was selected last, whether or not it is still there.
    pub fn held(&self) -> Option<&Item> {
        self.item.as_ref()
    }

    pub fn item<'a>(&self, items: &'a [Item]) -> Option<&'a Item> {
        self.place(items).and_then(|at| items.get(at))
    }

    /// Selects the item at `at`, or the last.
    pub fn select(&mut self, items: &[Item], at: usize) {
        let at = at.min(items.len().saturating_sub(1));
        *self = ListSelection { item: items.get(at).cloned(), at, replaced: None };
    }

    /// Moves by `steps` lines, no further than the ends.
    pub fn step(&mut self, items: &[Item], steps: isize) {
        let from = self.place(items).unwrap_or(0);
        self.select(items, from.saturating_add_signed(steps));
    }

    /// Remembers the selected item before the list changes.
    pub fn hold(&mut self, items: &[Item]) {
        let Some(at) = self.place(items) else { return };
        let replaced = self.replaced(items).cloned();
        self.select(items, at);
        self.replaced = replaced;
    }

    /// The item that was selected before the one that is there now took its place.
    pub fn replaced(&self, items: &[Item]) -> Option<&Item> {
        match &self.item {
            Some(item) if !items.contains(item) => Some(item),
            _ => self.replaced.as_ref(),
        }
    }
}
