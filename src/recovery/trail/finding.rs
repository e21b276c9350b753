//! What can be wrong with a journal, each with its sentence.

use std::fmt;
use std::sync::Arc;

/// Something that is wrong with the journal. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The line does not fit its own hash.
    Edited { line: u64 },
    /// What the line was chained to does not stand before it.
    Missing { line: u64 },
    /// The line's number is not higher than the one before.
    Repeated { line: u64 },
    /// A crash cut the line off while it was written.
    Torn { line: u64 },
    /// The line is none of ours.
    Unreadable { line: u64 },
    /// The journal ends before the anchor.
    Truncated { expected: u64, found: u64 },
    /// The journal reaches the anchor's count with another hash.
    Rewritten { count: u64 },
    /// The index does not tell where the line stands, although it reaches further.
    Unindexed { line: u64 },
    /// The index tells of lines, or of open acts, that the journal does not.
    Misindexed,
    /// The index was made of a journal that reached this line.
    BehindIndex { count: u64 },
}

/// A finding, and the file it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub file: Arc<str>,
    pub finding: Finding,
}

impl Found {
    pub fn is_tampering(&self) -> bool {
        self.finding.is_tampering()
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.finding)
    }
}

impl Finding {
    /// A torn line is the trace of a crash. Its act never began or stays open; nobody hid anything.
    pub fn is_tampering(&self) -> bool {
        !matches!(self, Finding::Torn { .. })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Edited { line } => {
                write!(f, "line {line} does not fit its hash: it was edited or damaged")
            }
            Finding::Missing { line } => write!(
                f,
                "line {line} does not follow the line before it: lines were removed, moved or rewritten there"
            ),
            Finding::Repeated { line } => {
                write!(f, "line {line} has a number that was already passed: it was copied or moved")
            }
            Finding::Torn { line } => {
                write!(f, "line {line} was cut off by a crash while it was written; this is no tampering")
            }
            Finding::Unreadable { line } => {
                write!(f, "line {line} is no line of an audit journal: it was inserted or damaged")
            }
            Finding::Truncated { expected, found } => write!(
                f,
                "the anchor knows {expected} lines and the journal has {found}: its end was cut off"
            ),
            Finding::Rewritten { count } => write!(
                f,
                "line number {count} of the chain is not the one that the anchor knows: the journal was rewritten"
            ),
            Finding::Unindexed { line } => write!(
                f,
                "the index does not list line {line}: it was changed to hide it, or is damaged; \
                 delete journal.index, it is made again"
            ),
            Finding::Misindexed => write!(
                f,
                "the index lists lines or open acts that the journal does not have: it was changed, or is damaged; \
                 delete journal.index, it is made again"
            ),
            Finding::BehindIndex { count } => write!(
                f,
                "the index knows line number {count} of the chain, and the journal does not have it: \
                 its end was cut off or rewritten"
            ),
        }
    }
}
