//! The lines whose acts may still be open, updated line by line.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::outline::{LineEffect, Outline};
use super::segment::LinePlace;

/// Lines of intents whose acts are not all settled yet.
#[derive(Debug, Default)]
pub(super) struct OpenSet {
    by_key: HashMap<String, u64>,
    lines: BTreeMap<u64, (String, LinePlace)>,
    /// Transactions of which single acts were settled: they may be open or not.
    pub(super) partly: BTreeSet<String>,
}

impl OpenSet {
    pub(super) fn insert(&mut self, seq: u64, key: &str, place: LinePlace) {
        self.by_key.insert(key.to_owned(), seq);
        self.lines.insert(seq, (key.to_owned(), place));
    }

    pub(super) fn remove(&mut self, key: &str) {
        if let Some(seq) = self.by_key.remove(key) {
            self.lines.remove(&seq);
        }
    }

    /// Adds the next line.
    pub(super) fn apply(&mut self, outline: &Outline, place: LinePlace) {
        match outline.meaning() {
            LineEffect::Begins(key) => self.insert(outline.seq, key, place),
            LineEffect::Settles(key) => self.remove(key),
            LineEffect::SettlesPart(key) if self.by_key.contains_key(key) => {
                self.partly.insert(key.to_owned());
            }
            LineEffect::SettlesPart(_) | LineEffect::Nothing => {}
        }
    }

    /// Their numbers, ids and places, in the order of the journal.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &str, LinePlace)> {
        self.lines.iter().map(|(seq, (key, place))| (*seq, key.as_str(), *place))
    }
}
