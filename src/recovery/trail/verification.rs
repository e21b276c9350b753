//! Checks the chain from its first line to its last.
//!
//! Tamper-evident, not tamper-proof: whoever can write the files can write a whole new chain. That, and a truncation at
//! the end, show only against an [`Anchor`] kept elsewhere.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::anchor::Anchor;
use super::chain_line::{ChainLine, LineBody, TornBytes};
use super::comparison::IndexComparison;
use super::finding::{FindingInFile, JournalFinding};
use super::index;
use super::segment::{LAST, LinePlace, Segments};
use super::torn_line::is_torn;

/// How many findings are kept; the others are counted.
const KEPT: usize = 1_000;

/// The result of checking the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    pub findings: Vec<FindingInFile>,
    /// How many more findings there are.
    pub more: u64,
    /// The head of the chain; worth keeping if the chain is intact.
    pub anchor: Anchor,
    /// Whether nothing was found except traces of crashes.
    pub is_whole: bool,
}

/// Checks the whole chain, one line at a time, and compares the index with it.
pub(super) fn verify(
    segments: &Segments,
    comparison: Option<IndexComparison<'_>>,
    known: Option<&Anchor>,
) -> io::Result<Verification> {
    let mut walk = ChainWalk::new(known);
    let mut comparison = comparison.map(|comparison| comparison.with(segments));
    follow(segments, &mut walk, LinePlace::default(), |place, link| match &mut comparison {
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

/// Checks the chain from one of its lines to the end.
pub(super) fn verify_from(segments: &Segments, from: LinePlace) -> io::Result<Verification> {
    let verified = |from: LinePlace| {
        let mut walk = ChainWalk { head: None, ..ChainWalk::new(None) };
        follow(segments, &mut walk, from, |_, _| true)?;
        Ok(walk.end())
    };
    let verification: Verification = verified(from)?;
    if verification.findings.is_empty() {
        return Ok(verification);
    }
    // Lines are counted from the beginning of their file.
    verified(LinePlace { offset: 0, ..from })
}

fn follow(
    segments: &Segments,
    walk: &mut ChainWalk<'_>,
    from: LinePlace,
    mut is_indexed: impl FnMut(LinePlace, &ChainLine) -> bool,
) -> io::Result<()> {
    for segment in segments.0.iter().filter(|segment| segment.number >= from.segment) {
        walk.begin(&segment.name());
        let start = if segment.number == from.segment { from.offset } else { 0 };
        let _ = segment.each_line(start, &mut |place, line| {
            if let Some(link) = walk.step(line)
                && !is_indexed(place, &link)
            {
                walk.found(JournalFinding::Unindexed { line: walk.line });
            }
            ControlFlow::Continue(())
        })?;
    }
    Ok(())
}

/// Checks the chain line by line.
#[derive(Debug)]
struct ChainWalk<'a> {
    known: Option<&'a Anchor>,
    known_was_seen: bool,
    /// Empty if the lines before the first one are not checked.
    head: Option<Anchor>,
    /// The head according to an edited line: the line after it is not to blame.
    alleged: Option<Anchor>,
    /// The bytes since the last valid line, and those of its lines that are not judged yet.
    scrap: Vec<u8>,
    unjudged: Vec<(Arc<str>, u64)>,
    file: Arc<str>,
    line: u64,
    findings: Vec<FindingInFile>,
    more: u64,
    is_whole: bool,
}

impl<'a> ChainWalk<'a> {
    fn new(known: Option<&'a Anchor>) -> ChainWalk<'a> {
        let head = Anchor::start();
        ChainWalk {
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

    /// Begins the lines of this file.
    fn begin(&mut self, file: &str) {
        (self.file, self.line) = (file.into(), 0);
    }

    fn found(&mut self, finding: JournalFinding) {
        let file = Arc::clone(&self.file);
        self.found_in(file, finding);
    }

    fn found_in(&mut self, file: Arc<str>, finding: JournalFinding) {
        self.is_whole &= !finding.is_tampering();
        if self.findings.len() < KEPT {
            self.findings.push(FindingInFile { file, finding });
        } else {
            self.more += 1;
        }
    }

    /// Checks the next line, with its newline if it has one. Returns the line if it is valid.
    fn step(&mut self, bytes: &[u8]) -> Option<ChainLine> {
        self.line += 1;
        let whole = bytes.strip_suffix(b"\n");
        match (ChainLine::read(whole.unwrap_or(bytes)), whole) {
            (Some(link), Some(_)) if link.holds => {
                self.follow(&link);
                Some(link)
            }
            (Some(link), _) if !link.holds => {
                self.found(JournalFinding::Edited { line: self.line });
                self.alleged = Some(link.anchor());
                self.scrap.extend_from_slice(bytes);
                whole.is_some().then_some(link)
            }
            // Not a valid line, or one that lacks its newline.
            _ => {
                self.unjudged.push((Arc::clone(&self.file), self.line));
                self.scrap.extend_from_slice(bytes);
                None
            }
        }
    }

    fn follow(&mut self, link: &ChainLine) {
        match &link.body {
            LineBody::Record(_) | LineBody::Batch(_) => self.judge(false),
            LineBody::Torn(torn) => match self.sealed(torn) {
                Some(is_torn) => self.judge(is_torn),
                None => {
                    self.judge(false);
                    self.found(JournalFinding::Missing { line: self.line });
                }
            },
        }
        let follows = |head: &Anchor| link.prev == head.head && head.count.checked_add(1) == Some(link.seq);
        match &self.head {
            None => {}
            Some(head) if link.seq <= head.count => self.found(JournalFinding::Repeated { line: self.line }),
            Some(head) if !follows(head) && !self.alleged.as_ref().is_some_and(follows) => {
                self.found(JournalFinding::Missing { line: self.line });
            }
            Some(_) => {}
        }
        self.head = Some(link.anchor());
        self.alleged = None;
        self.known_was_seen |= self.known == self.head.as_ref();
    }

    /// Whether the seal covers the bytes above it, and if so, whether a crash can have left them.
    fn sealed(&self, torn: &TornBytes) -> Option<bool> {
        let cut = self.scrap.strip_suffix(b"\n").unwrap_or(&self.scrap);
        let scrap = [cut, &self.scrap]
            .into_iter()
            .find(|scrap| TornBytes::of(scrap) == *torn && !scrap.is_empty())?;
        Some(self.is_torn(scrap))
    }

    fn is_torn(&self, scrap: &[u8]) -> bool {
        self.head.as_ref().is_none_or(|head| is_torn(head, scrap))
    }

    fn judge(&mut self, is_torn: bool) {
        self.scrap.clear();
        for (file, line) in std::mem::take(&mut self.unjudged) {
            let finding =
                if is_torn { JournalFinding::Torn { line } } else { JournalFinding::Unreadable { line } };
            self.found_in(file, finding);
        }
    }

    fn end(mut self) -> Verification {
        self.judge(self.is_torn(&self.scrap));
        let head = self.head.take().unwrap_or_else(Anchor::start);
        if let Some(known) = self.known.filter(|_| !self.known_was_seen) {
            self.begin(LAST);
            self.found(if head.count < known.count {
                JournalFinding::Truncated { expected: known.count, found: head.count }
            } else {
                JournalFinding::Rewritten { count: known.count }
            });
        }
        let ChainWalk { findings, more, is_whole, .. } = self;
        Verification { findings, more, anchor: head, is_whole }
    }
}
