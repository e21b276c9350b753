//! Why the journal could not be read or written, and what to do about it.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::visible::safe;

/// Why the journal could not be read or written. Its chain is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum TrailError {
    #[error("no room for the audit journal {}: {source}; free some space there and try again", shown(path))]
    NoRoom { path: PathBuf, source: io::Error },
    #[error(
        "the audit journal {} is on a read-only file system; \
         set XDG_STATE_HOME to a folder that can be written",
        shown(path)
    )]
    ReadOnlyDisk { path: PathBuf },
    #[error(
        "no permission for the audit journal {}; \
         give it to this user, or set XDG_STATE_HOME to a folder of theirs",
        shown(path)
    )]
    Denied { path: PathBuf },
    #[error(
        "the audit journal {} cannot be used: {source}; \
         check that its folder is one, or set XDG_STATE_HOME to another",
        shown(path)
    )]
    Io { path: PathBuf, source: io::Error },
    #[error("the audit journal {} cannot be trusted: {why}; {fix}", shown(path))]
    Untrusted { path: PathBuf, why: String, fix: String },
    #[error(
        "the audit journal {} is locked by {}, and still was after {}s; \
         wait until that is done, or end it if it hangs; nothing was written",
        shown(path),
        holder.as_deref().unwrap_or("another process"),
        waited.as_secs_f32()
    )]
    Busy { path: PathBuf, holder: Option<String>, waited: Duration },
    #[error("this session only reads the audit journal {}; start it without --read-only to act", shown(path))]
    ReadOnlySession { path: PathBuf },
    #[error("this record cannot be written so that it can be read again: {0}; nothing was written")]
    Record(#[from] serde_json::Error),
}

impl TrailError {
    pub(super) fn io(path: &Path, source: io::Error) -> TrailError {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                TrailError::NoRoom { path, source }
            }
            ErrorKind::ReadOnlyFilesystem => TrailError::ReadOnlyDisk { path },
            ErrorKind::PermissionDenied => TrailError::Denied { path },
            _ => TrailError::Io { path, source },
        }
    }
}

fn shown(path: &Path) -> String {
    safe(&path.to_string_lossy())
}
