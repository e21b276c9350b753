//! Exit codes, a contract with scripts: those of monitoring plugins where they have one.

use std::process::{ExitCode, Termination};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Fine, or done.
    Fine = 0,
    /// Expiring or unknown claims.
    Warning = 1,
    /// Stale or orphaned claims.
    Critical = 2,
    /// Unknown, bad usage, or an error.
    Error = 3,
    /// It changed since it was seen; nothing was written.
    Moved = 4,
    /// Refused: read-only, no permission, or it needs `--force`.
    Refused = 5,
    /// It is unknown whether it was done.
    Unknown = 6,
}

impl Exit {
    /// The code for several sources: critical, then an error, then a warning, then fine.
    pub fn and(self, other: Exit) -> Exit {
        let weight = |exit: Exit| match exit {
            Exit::Critical => 6,
            Exit::Error => 5,
            Exit::Unknown => 4,
            Exit::Moved => 3,
            Exit::Refused => 2,
            Exit::Warning => 1,
            Exit::Fine => 0,
        };
        if weight(other) > weight(self) { other } else { self }
    }
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        ExitCode::from(self as u8)
    }
}
