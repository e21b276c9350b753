//! The chain, followed from its first line to its last.
//!
//! Tamper-evident, not tamper-proof: who can write the files can write a whole new chain. That, and
//! a cut at the end, shows only against an [`Anchor`] kept elsewhere.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::anchor::Anchor;
use super::comparison::Comparison;
use super::finding::{Finding, Found};
use super::index;
use super::link::{Body, Link, Torn};
use super::scrap::is_torn;
use super::segment::{LAST, Place, Segments};

/// How many findings are kept; the others are counted.
const KEPT: usize = 1_000;

/// What following the chain brought to light.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    pub findings: Vec<Found>,
    /// How many more there are.
    pub more: u64,
    /// Where the chain stands now; worth keeping if it is whole.
    pub anchor: Anchor,
    /// Nothing was found but the traces of crashes.
    pub is_whole: bool,
}

/// Follows the whole chain, one line at a time, and compares the index with it.
pub(super) fn verify(
    segments: &Segments,
    comparison: Option<Comparison<'_>>,
    known: Option<&Anchor>,
) -> io::Result<Verification> {
    let mut walk = Walk::new(known);
    let mut comparison = comparison.map(|comparison| comparison.with(segments));
    follow(segments, &mut walk, Place::default(), |place, link| match &mut comparison {
        Some(comparison) => comparison.line(link, place),
        None => true,
    })?;
    if let Some(comparison) = comparison {
        walk.begin(index::NAME);
        for finding in comparison.end(segments)? {
            walk.found(finding);
        }
    }
    Ok(walk.end())
}

/// Follows the chain from one of its lines to the end.
pub(super) fn verify_from(segments: &Segments, from: Place) -> io::Result<Verification> {
    let verified = |from: Place| {
        let mut walk = Walk { head: None, ..Walk::new(None) };
        follow(segments, &mut walk, from, |_, _| true)?;
        Ok(walk.end())
    };
    let verification: Verification = verified(from)?;
    if verification.findings.is_empty() {
        return Ok(verification);
    }
    // Lines are counted from the beginning of their file.
    verified(Place { offset: 0, ..from })
}

fn follow(
    segments: &Segments,
    walk: &mut Walk<'_>,
    from: Place,
    mut is_indexed: impl FnMut(Place, &Link) -> bool,
) -> io::Result<()> {
    for segment in segments.0.iter().filter(|segment| segment.number >= from.segment) {
        walk.begin(&segment.name());
        let start = if segment.number == from.segment { from.offset } else { 0 };
        let _ = segment.each_line(start, &mut |place, line| {
            if let Some(link) = walk.step(line)
                && !is_indexed(place, &link)
            {
                walk.found(Finding::Unindexed { line: walk.line });
            }
            ControlFlow::Continue(())
        })?;
    }
    Ok(())
}

/// Follows the chain line by line.
#[derive(Debug)]
struct Walk<'a> {
    known: Option<&'a Anchor>,
    known_was_seen: bool,
    /// Nothing if the lines before the first one are not looked at.
    head: Option<Anchor>,
    /// Where an edited line says that the chain stands: the line after it is not to blame.
    alleged: Option<Anchor>,
    /// What stands since the last line that holds, and those of its lines that are yet unjudged.
    scrap: Vec<u8>,
    unjudged: Vec<(Arc<str>, u64)>,
    file: Arc<str>,
    line: u64,
    findings: Vec<Found>,
    more: u64,
    is_whole: bool,
}

impl<'a> Walk<'a> {
    fn new(known: Option<&'a Anchor>) -> Walk<'a> {
        let head = Anchor::start();
        Walk {
            known_was_seen: known.is_none_or(|known| *known == head),
            known,
            head: Some(head),
            alleged: None,
            scrap: Vec::new(),
            unjudged: Vec::new(),
            file: LAST.into(),
            line: 0,
            findings: Vec::new(),
            more: 0,
            is_whole: true,
        }
    }

    /// The next lines are of this file.
    fn begin(&mut self, file: &str) {
        (self.file, self.line) = (file.into(), 0);
    }

    fn found(&mut self, finding: Finding) {
        let file = Arc::clone(&self.file);
        self.found_in(file, finding);
    }

    fn found_in(&mut self, file: Arc<str>, finding: Finding) {
        self.is_whole &= !finding.is_tampering();
        if self.findings.len() < KEPT {
            self.findings.push(Found { file, finding });
        } else {
            self.more += 1;
        }
    }

    /// Takes the next line, with its newline if it has one; what it says if it is a link.
    fn step(&mut self, bytes: &[u8]) -> Option<Link> {
        self.line += 1;
        let whole = bytes.strip_suffix(b"\n");
        match (Link::read(whole.unwrap_or(bytes)), whole) {
            (Some(link), Some(_)) if link.holds => {
                self.follow(&link);
                Some(link)
            }
            (Some(link), _) if !link.holds => {
                self.found(Finding::Edited { line: self.line });
                self.alleged = Some(link.anchor());
                self.scrap.extend_from_slice(bytes);
                whole.is_some().then_some(link)
            }
            // No link, or one that still lacks its newline.
            _ => {
                self.unjudged.push((Arc::clone(&self.file), self.line));
                self.scrap.extend_from_slice(bytes);
                None
            }
        }
    }

    fn follow(&mut self, link: &Link) {
        match &link.body {
            Body::Record(_) | Body::Batch(_) => self.judge(false),
            Body::Torn(torn) => match self.sealed(torn) {
                Some(is_torn) => self.judge(is_torn),
                None => {
                    self.judge(false);
                    self.found(Finding::Missing { line: self.line });
                }
            },
        }
        let follows = |head: &Anchor| link.prev == head.head && head.count.checked_add(1) == Some(link.seq);
        match &self.head {
            None => {}
            Some(head) if link.seq <= head.count => self.found(Finding::Repeated { line: self.line }),
            Some(head) if !follows(head) && !self.alleged.as_ref().is_some_and(follows) => {
                self.found(Finding::Missing { line: self.line });
            }
            Some(_) => {}
        }
        self.head = Some(link.anchor());
        self.alleged = None;
        self.known_was_seen |= self.known == self.head.as_ref();
    }

    /// Whether the seal speaks of what stands above it, and if so, whether a crash can have left that.
    fn sealed(&self, torn: &Torn) -> Option<bool> {
        let cut = self.scrap.strip_suffix(b"\n").unwrap_or(&self.scrap);
        let scrap =
            [cut, &self.scrap].into_iter().find(|scrap| Torn::of(scrap) == *torn && !scrap.is_empty())?;
        Some(self.is_torn(scrap))
    }

    fn is_torn(&self, scrap: &[u8]) -> bool {
        self.head.as_ref().is_none_or(|head| is_torn(head, scrap))
    }

    fn judge(&mut self, is_torn: bool) {
        self.scrap.clear();
        for (file, line) in std::mem::take(&mut self.unjudged) {
            let finding = if is_torn { Finding::Torn { line } } else { Finding::Unreadable { line } };
            self.found_in(file, finding);
        }
    }

    fn end(mut self) -> Verification {
        self.judge(self.is_torn(&self.scrap));
        let head = self.head.take().unwrap_or_else(Anchor::start);
        if let Some(known) = self.known.filter(|_| !self.known_was_seen) {
            self.begin(LAST);
            self.found(if head.count < known.count {
                Finding::Truncated { expected: known.count, found: head.count }
            } else {
                Finding::Rewritten { count: known.count }
            });
        }
        let Walk { findings, more, is_whole, .. } = self;
        Verification { findings, more, anchor: head, is_whole }
    }
}
