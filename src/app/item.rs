//! What can be selected: by what it is, never by where it stands.

use super::row::RowId;

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
    LoggedEvent(u64),
    Entry {
        seq: u64,
    },
}

/// Where the selection of a list stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    item: Option<Item>,
    /// Where it was: who takes its place is selected when it goes.
    at: usize,
}

impl Selection {
    /// The place of the selected item in `items`, or of the one that took its place.
    pub fn place(&self, items: &[Item]) -> Option<usize> {
        let wanted = self.item.as_ref();
        let there = wanted.and_then(|item| items.iter().position(|other| other == item));
        there.or_else(|| items.len().checked_sub(1).map(|last| self.at.min(last)))
    }

    pub fn item<'a>(&self, items: &'a [Item]) -> Option<&'a Item> {
        self.place(items).and_then(|at| items.get(at))
    }

    /// Selects the item at `at`, or the last.
    pub fn select(&mut self, items: &[Item], at: usize) {
        let at = at.min(items.len().saturating_sub(1));
        *self = Selection { item: items.get(at).cloned(), at };
    }

    /// Moves by `steps` lines, no further than the ends.
    pub fn step(&mut self, items: &[Item], steps: isize) {
        let from = self.place(items).unwrap_or(0);
        self.select(items, from.saturating_add_signed(steps));
    }

    /// Keeps hold of the item that is selected now, before the list changes.
    pub fn hold(&mut self, items: &[Item]) {
        if let Some(at) = self.place(items) {
            self.select(items, at);
        }
    }
}
