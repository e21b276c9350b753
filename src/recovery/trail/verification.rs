//! The chain, followed from its first line to its last.
//!
//! Tamper-evident, not tamper-proof: who can write the file can write a whole new chain. That, and
//! a cut at the end, shows only against an [`Anchor`] kept elsewhere.

use serde::Serialize;

use super::anchor::Anchor;
use super::finding::Finding;
use super::link::{Body, Link, Torn};
use super::scrap::is_torn;

/// What following the chain brought to light.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    pub findings: Vec<Finding>,
    /// Where the chain stands now; worth keeping if it is whole.
    pub anchor: Anchor,
    /// Nothing was found but the traces of crashes.
    pub is_whole: bool,
}

/// Follows the chain line by line.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    known: Option<&'a Anchor>,
    known_was_seen: bool,
    head: Anchor,
    /// Where an edited line says that the chain stands: the line after it is not to blame.
    alleged: Option<Anchor>,
    /// What stands since the last line that holds, and the numbers of its lines that are yet unjudged.
    scrap: Vec<u8>,
    unjudged: Vec<u64>,
    line: u64,
    findings: Vec<Finding>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(known: Option<&'a Anchor>) -> Walk<'a> {
        let head = Anchor::start();
        Walk {
            known_was_seen: known.is_none_or(|known| *known == head),
            known,
            head,
            alleged: None,
            scrap: Vec::new(),
            unjudged: Vec::new(),
            line: 0,
            findings: Vec::new(),
        }
    }

    /// Takes the next line, with its newline if it has one.
    pub(super) fn step(&mut self, bytes: &[u8]) {
        self.line += 1;
        let whole = bytes.strip_suffix(b"\n");
        match (Link::read(whole.unwrap_or(bytes)), whole) {
            (Some(link), Some(_)) if link.holds => self.follow(&link),
            (Some(link), _) if !link.holds => {
                self.findings.push(Finding::Edited { line: self.line });
                self.alleged = Some(link.anchor());
                self.scrap.extend_from_slice(bytes);
            }
            // No link, or one that still lacks its newline.
            _ => {
                self.unjudged.push(self.line);
                self.scrap.extend_from_slice(bytes);
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
                    self.findings.push(Finding::Missing { line: self.line });
                }
            },
        }
        let follows = |head: &Anchor| link.prev == head.head && head.count.checked_add(1) == Some(link.seq);
        if link.seq <= self.head.count {
            self.findings.push(Finding::Repeated { line: self.line });
        } else if !follows(&self.head) && !self.alleged.as_ref().is_some_and(follows) {
            self.findings.push(Finding::Missing { line: self.line });
        }
        self.head = link.anchor();
        self.alleged = None;
        self.known_was_seen |= self.known == Some(&self.head);
    }

    /// Whether the seal speaks of what stands above it, and if so, whether a crash can have left that.
    fn sealed(&self, torn: &Torn) -> Option<bool> {
        let cut = self.scrap.strip_suffix(b"\n").unwrap_or(&self.scrap);
        let scrap =
            [cut, &self.scrap].into_iter().find(|scrap| Torn::of(scrap) == *torn && !scrap.is_empty())?;
        Some(is_torn(&self.head, scrap))
    }

    fn judge(&mut self, is_torn: bool) {
        self.scrap.clear();
        self.findings.extend(self.unjudged.drain(..).map(|line| match is_torn {
            true => Finding::Torn { line },
            false => Finding::Unreadable { line },
        }));
    }

    pub(super) fn end(mut self) -> Verification {
        self.judge(is_torn(&self.head, &self.scrap));
        if let Some(known) = self.known.filter(|_| !self.known_was_seen) {
            self.findings.push(if self.head.count < known.count {
                Finding::Truncated { expected: known.count, found: self.head.count }
            } else {
                Finding::Rewritten { count: known.count }
            });
        }
        let is_whole = !self.findings.iter().any(Finding::is_tampering);
        Verification { findings: self.findings, anchor: self.head, is_whole }
    }
}
