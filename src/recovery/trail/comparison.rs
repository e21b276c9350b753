//! Compares the index with its journal.

use std::collections::BTreeMap;
use std::io;

use super::chain_line::ChainLine;
use super::finding::JournalFinding;
use super::index::{CoveredLine, JournalIndex, is_there};
use super::journal_view::open_among;
use super::open_set::OpenSet;
use super::outline::Outline;
use super::segment::{LinePlace, Segments};

/// What the journal says and the index must contain.
#[derive(Debug)]
pub(super) struct IndexComparison<'a> {
    index: &'a JournalIndex,
    covered: CoveredLine,
    /// The journal contains the last line that the index covers: the index belongs to this journal.
    fits: bool,
    /// The lines that are open according to the index.
    listed: OpenSet,
    /// How many ids the lines contained.
    names: u64,
    open: OpenSet,
}

impl<'a> IndexComparison<'a> {
    /// Begins before the journal is read, which then has at least the lines that the index knows.
    pub(super) fn begin(index: &'a JournalIndex) -> Option<IndexComparison<'a>> {
        let (covered, listed) = index.state()?;
        Some(IndexComparison { index, covered, listed, fits: false, names: 0, open: OpenSet::default() })
    }

    /// The journal to compare with.
    pub(super) fn with(self, segments: &Segments) -> Self {
        IndexComparison { fits: is_there(&self.covered, segments), ..self }
    }

    /// Adds the next line. Returns whether the index contains it, if it should.
    pub(super) fn line(&mut self, link: &ChainLine, place: LinePlace) -> bool {
        if !self.fits || place >= self.covered.next {
            return true;
        }
        let outline = Outline::of(link);
        self.names += outline.keys().count() as u64;
        self.open.apply(&outline, place);
        self.index.tells(&outline, place).unwrap_or(false)
    }

    pub(super) fn end(self, segments: &Segments) -> io::Result<Vec<JournalFinding>> {
        // An index of another journal tells nothing about this one.
        if !self.fits {
            return Ok(vec![JournalFinding::BehindIndex { count: self.covered.anchor.count }]);
        }
        let count = self.index.count(self.covered.anchor.count);
        let right = count.is_ok_and(|count| count == self.names) && self.open_acts_agree(segments)?;
        Ok(if right { Vec::new() } else { vec![JournalFinding::Misindexed] })
    }

    /// Whether the index has the same open lines. It may lack those whose acts were settled one by one.
    fn open_acts_agree(&self, segments: &Segments) -> io::Result<bool> {
        let mut listed: BTreeMap<u64, (&str, LinePlace)> =
            self.listed.iter().map(|(seq, name, place)| (seq, (name, place))).collect();
        for (seq, name, place) in self.open.iter() {
            if listed.remove(&seq) == Some((name, place)) {
                continue;
            }
            let places = self.index.places(name).unwrap_or_default();
            if !self.open.partly.contains(name) || !open_among(segments, &places)?.is_empty() {
                return Ok(false);
            }
        }
        Ok(listed.is_empty())
    }
}
