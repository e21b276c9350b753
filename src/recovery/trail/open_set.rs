//! The lines whose acts may still be open, kept while lines go by.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::outline::{Meaning, Outline};
use super::segment::Place;

/// Lines of intents of which it is not known yet what came of all their acts.
#[derive(Debug, Default)]
pub(super) struct OpenSet {
    by_key: HashMap<String, u64>,
    lines: BTreeMap<u64, (String, Place)>,
    /// Transactions of which single acts were settled: they are open, or they are not.
    pub(super) partly: BTreeSet<String>,
}

impl OpenSet {
    pub(super) fn insert(&mut self, seq: u64, key: &str, place: Place) {
        self.by_key.insert(key.to_owned(), seq);
        self.lines.insert(seq, (key.to_owned(), place));
    }

    pub(super) fn remove(&mut self, key: &str) {
        if let Some(seq) = self.by_key.remove(key) {
            self.lines.remove(&seq);
        }
    }

    /// Takes the next line into account.
    pub(super) fn apply(&mut self, outline: &Outline, place: Place) {
        match outline.meaning() {
            Meaning::Begins(key) => self.insert(outline.seq, key, place),
            Meaning::Settles(key) => self.remove(key),
            Meaning::SettlesPart(key) if self.by_key.contains_key(key) => {
                self.partly.insert(key.to_owned());
            }
            Meaning::SettlesPart(_) | Meaning::Nothing => {}
        }
    }

    /// Their numbers, names and places, in the order of the journal.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &str, Place)> {
        self.lines.iter().map(|(seq, (key, place))| (*seq, key.as_str(), *place))
    }
}
