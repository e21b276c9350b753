//! What can be wrong with a journal, with a sentence for each.

use std::fmt;
use std::sync::Arc;

/// Something that is wrong with the journal. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalFinding {
    /// The line does not fit its own hash.
    Edited { line: u64 },
    /// The line that it was chained to does not stand before it.
    Missing { line: u64 },
    /// The line's number is not higher than the one before.
    Repeated { line: u64 },
    /// A crash cut the line off while it was written.
    Torn { line: u64 },
    /// The line is not a line of a journal.
    Unreadable { line: u64 },
    /// The journal ends before the anchor.
    Truncated { expected: u64, found: u64 },
    /// The journal has a different hash at the anchor's count.
    Rewritten { count: u64 },
    /// The index does not contain the line, although it covers later ones.
    Unindexed { line: u64 },
    /// The index contains lines or open acts that the journal does not.
    Misindexed,
    /// The index was made from a journal that reached this line.
    BehindIndex { count: u64 },
}

/// A finding and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingInFile {
    pub file: Arc<str>,
    pub finding: JournalFinding,
}

impl FindingInFile {
    pub fn is_tampering(&self) -> bool {
        self.finding.is_tampering()
    }
}

impl fmt::Display for FindingInFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.finding)
    }
}

impl JournalFinding {
    /// A torn line is the trace of a crash: its act never began or stays open, and nothing was hidden.
    pub fn is_tampering(&self) -> bool {
        !matches!(self, JournalFinding::Torn { .. })
    }
}

impl fmt::Display for JournalFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JournalFinding::Edited { line } => {
                write!(f, "line {line} does not fit its hash: it was edited or damaged")
            }
            JournalFinding::Missing { line } => write!(
                f,
                "line {line} does not follow the line before it: lines were removed, moved or rewritten there"
            ),
            JournalFinding::Repeated { line } => {
                write!(f, "line {line} has a number that was already passed: it was copied or moved")
            }
            JournalFinding::Torn { line } => {
                write!(f, "line {line} was cut off by a crash while it was written; this is not tampering")
            }
            JournalFinding::Unreadable { line } => {
                write!(f, "line {line} is not a line of an audit journal: it was inserted or damaged")
            }
            JournalFinding::Truncated { expected, found } => write!(
                f,
                "the anchor knows {expected} lines and the journal has {found}: its end was cut off"
            ),
            JournalFinding::Rewritten { count } => write!(
                f,
                "line number {count} of the chain is not the one that the anchor knows: the journal was rewritten"
            ),
            JournalFinding::Unindexed { line } => write!(
                f,
                "the index does not list line {line}: it was changed to hide it, or is damaged; \
                 delete journal.index, it is made again"
            ),
            JournalFinding::Misindexed => write!(
                f,
                "the index lists lines or open acts that the journal does not have: it was changed, or is damaged; \
                 delete journal.index, it is made again"
            ),
            JournalFinding::BehindIndex { count } => write!(
                f,
                "the index knows line number {count} of the chain, and the journal does not have it: \
                 its end was cut off or rewritten"
            ),
        }
    }
}
