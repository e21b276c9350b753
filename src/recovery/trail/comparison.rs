//! The index, compared with the journal that it was made of.

use std::collections::BTreeMap;
use std::io;

use super::acts::open_among;
use super::finding::Finding;
use super::index::{Covered, Index, is_there};
use super::link::Link;
use super::open_set::OpenSet;
use super::outline::Outline;
use super::segment::{Place, Segments};

/// What the lines say that the index must tell.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    index: &'a Index,
    covered: Covered,
    /// The journal has the last line that the index tells of: it is the one that the index was made of.
    fits: bool,
    /// The lines that are open by the index.
    listed: OpenSet,
    /// How many names of lines went by.
    names: u64,
    open: OpenSet,
}

impl<'a> Comparison<'a> {
    /// Begun before the journal is looked at, which then has at least the lines that the index knows.
    pub(super) fn begin(index: &'a Index) -> Option<Comparison<'a>> {
        let (covered, listed) = index.state()?;
        Some(Comparison { index, covered, listed, fits: false, names: 0, open: OpenSet::default() })
    }

    /// The journal that it is compared with.
    pub(super) fn with(self, segments: &Segments) -> Self {
        Comparison { fits: is_there(&self.covered, segments), ..self }
    }

    /// Takes the next line into account; whether the index tells of it, if it should.
    pub(super) fn line(&mut self, link: &Link, place: Place) -> bool {
        if !self.fits || place >= self.covered.next {
            return true;
        }
        let outline = Outline::of(link);
        self.names += outline.keys().count() as u64;
        self.open.apply(&outline, place);
        self.index.tells(&outline, place).unwrap_or(false)
    }

    pub(super) fn end(self, segments: &Segments) -> io::Result<Vec<Finding>> {
        // An index of another journal tells only that there was one.
        if !self.fits {
            return Ok(vec![Finding::BehindIndex { count: self.covered.anchor.count }]);
        }
        let count = self.index.count(self.covered.anchor.count);
        let right = count.is_ok_and(|count| count == self.names) && self.open_acts_agree(segments)?;
        Ok(if right { Vec::new() } else { vec![Finding::Misindexed] })
    }

    /// Whether the index has the same open lines. Those whose acts were settled one by one it need not have.
    fn open_acts_agree(&self, segments: &Segments) -> io::Result<bool> {
        let mut listed: BTreeMap<u64, (&str, Place)> =
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
