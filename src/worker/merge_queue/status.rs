//! The states of an entry and the transitions between them.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    Pending,
    Claimed,
    Rebasing,
    Testing,
    ReadyToMerge,
    Merging,
    Merged,
    FailedRetryable,
    FailedTerminal,
    Cancelled,
}

impl Status {
    pub const ALL: [Status; 10] = [
        Status::Pending,
        Status::Claimed,
        Status::Rebasing,
        Status::Testing,
        Status::ReadyToMerge,
        Status::Merging,
        Status::Merged,
        Status::FailedRetryable,
        Status::FailedTerminal,
        Status::Cancelled,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Claimed => "claimed",
            Status::Rebasing => "rebasing",
            Status::Testing => "testing",
            Status::ReadyToMerge => "ready_to_merge",
            Status::Merging => "merging",
            Status::Merged => "merged",
            Status::FailedRetryable => "failed_retryable",
            Status::FailedTerminal => "failed_terminal",
            Status::Cancelled => "cancelled",
        }
    }

    /// Also accepts the older names, as the running code does.
    pub fn parse(text: &str) -> Option<Status> {
        match text {
            "processing" => Some(Status::Claimed),
            "completed" => Some(Status::Merged),
            "failed" => Some(Status::FailedTerminal),
            _ => Status::ALL.into_iter().find(|status| status.as_str() == text),
        }
    }

    /// Whether the state is final.
    pub fn is_terminal(self) -> bool {
        matches!(self, Status::Merged | Status::FailedTerminal | Status::Cancelled)
    }

    /// Whether an agent holds the entry.
    pub fn is_held(self) -> bool {
        match self {
            Status::Claimed | Status::Rebasing | Status::Testing | Status::ReadyToMerge | Status::Merging => {
                true
            }
            Status::Pending
            | Status::Merged
            | Status::FailedRetryable
            | Status::FailedTerminal
            | Status::Cancelled => false,
        }
    }

    /// Whether the transition is allowed. Staying in a state is allowed and does nothing.
    pub fn may_become(self, to: Status) -> bool {
        use Status::*;
        let ways: &[Status] = match self {
            Pending => &[Claimed, Cancelled],
            Claimed => &[Pending, Rebasing, FailedRetryable, FailedTerminal, Cancelled],
            Rebasing => &[Testing, FailedRetryable, FailedTerminal, Cancelled],
            Testing => &[ReadyToMerge, FailedRetryable, FailedTerminal, Cancelled],
            ReadyToMerge => &[Merging, FailedRetryable, FailedTerminal, Cancelled],
            // An entry that is being merged may be merged already.
            Merging => &[Merged, FailedRetryable, FailedTerminal],
            FailedRetryable => &[Pending, Cancelled],
            Merged | FailedTerminal | Cancelled => &[],
        };
        self == to || ways.contains(&to)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromSql for Status {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Status> {
        let text = value.as_str()?;
        Status::parse(text).ok_or_else(|| FromSqlError::Other(format!("{text:?} is no status").into()))
    }
}
