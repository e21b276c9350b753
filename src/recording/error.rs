//! Why a recording cannot be read or written.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

use super::VERSION;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecordingError {
    #[error("{}: there is no such file", path.display())]
    Missing { path: PathBuf },
    #[error("{} is not a recording of claimtop; `claimtop record SOURCE --out FILE` makes one", path.display())]
    NotARecording { path: PathBuf },
    #[error(
        "{} was recorded by a newer claimtop (its format is {version}, this program reads {VERSION}); update claimtop",
        path.display()
    )]
    Newer { path: PathBuf, version: i32 },
    #[error("{} is damaged: {why}; `sqlite3 {} .recover` may save parts of it", path.display(), path.display())]
    Damaged { path: PathBuf, why: String },
    #[error("{} has no frame: nothing was recorded", path.display())]
    Empty { path: PathBuf },
    #[error("{}: recording stopped, the disk is full; watching continues", path.display())]
    Full { path: PathBuf },
    #[error("{}: another claimtop records into this file", path.display())]
    InUse { path: PathBuf },
    #[error("{} has no frame at or before {at}; it begins at {begins}", path.display())]
    BeforeStart { path: PathBuf, at: String, begins: String },
    #[error("{}: {why}", path.display())]
    Failed { path: PathBuf, why: String },
}

impl RecordingError {
    pub(super) fn of(path: &Path, error: &rusqlite::Error) -> RecordingError {
        let path = path.to_path_buf();
        let code = match error {
            rusqlite::Error::SqliteFailure(failure, _) => Some(failure.code),
            _ => None,
        };
        let why = error.to_string();
        match code {
            Some(ErrorCode::DiskFull) => RecordingError::Full { path },
            Some(ErrorCode::DatabaseCorrupt) => RecordingError::Damaged { path, why },
            Some(ErrorCode::NotADatabase) => RecordingError::NotARecording { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => RecordingError::InUse { path },
            _ => RecordingError::Failed { path, why },
        }
    }

    /// A value in the file that is not what the format says.
    pub(super) fn damaged(path: &Path, why: impl Into<String>) -> RecordingError {
        RecordingError::Damaged { path: path.into(), why: why.into() }
    }
}
