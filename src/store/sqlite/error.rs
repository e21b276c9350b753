//! What SQLite reports, as errors of a source. This is the only place that reads its messages.

use rusqlite::{ErrorCode, ffi};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::open::beside;
use crate::store::StoreError;

/// Turns what SQLite reports, by its extended code, into a sentence.
pub(super) fn explain(path: &Path, error: &rusqlite::Error, waited: Duration, doing: &str) -> StoreError {
    let (code, message) = match error {
        rusqlite::Error::SqliteFailure(failure, message) => {
            (failure.extended_code, message.clone().unwrap_or_else(|| failure.to_string()))
        }
        rusqlite::Error::SqlInputError { error, msg, .. } => (error.extended_code, msg.clone()),
        other => (ffi::SQLITE_ERROR, other.to_string()),
    };
    let path = PathBuf::from(path);
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::NotADatabase { path },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Locked { path, waited_ms: waited.as_millis(), code: code.to_string() }
        }
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { path, code, message },
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            let why = why_not(&path, code);
            StoreError::Unreadable { path, why }
        }
        Some(ErrorCode::ConstraintViolation) => {
            let said = format!("{message} (code {code})");
            StoreError::RowRefused { source_name: path.display().to_string(), said, doing: doing.into() }
        }
        _ => StoreError::Sql { path, code, message, doing: doing.into() },
    }
}

/// Which file or permission is missing. SQLite says only "unable to open".
pub(super) fn why_not(path: &Path, code: i32) -> String {
    use rustix::fs::{Access, access};
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let log = beside(path, "-wal");
    let index = beside(path, "-shm");
    let may = |file: &Path, how| access(file, how);

    if code == ffi::SQLITE_READONLY_ROLLBACK {
        return format!(
            "a program was killed while it wrote, and {} holds what it changed; let a worker open the database, which \
             takes that back (`claimtop` does not write to look)",
            beside(path, "-journal").display()
        );
    }
    if may(path, Access::READ_OK).is_err() {
        return "this user may not read the file; run as its owner or have read permission granted".into();
    }
    if log.exists() && may(&log, Access::READ_OK).is_err() {
        return format!("this user may not read {}; grant read permission on it", log.display());
    }
    if index.exists() && may(&index, Access::READ_OK).is_err() {
        return format!("this user may not read {}; grant read permission on it", index.display());
    }
    if !index.exists() {
        let obstacle = match may(folder, Access::WRITE_OK) {
            Err(rustix::io::Errno::ROFS) => "its file system is read-only",
            Err(_) => "this user may not write in its folder",
            Ok(()) => "SQLite could not create it",
        };
        return format!(
            "it is in WAL mode, {} is missing and {obstacle}; let its application run (which keeps \
             that file), or copy the database and its -wal elsewhere and look at the copy",
            index.display()
        );
    }
    format!("SQLite could not open it (code {code})")
}
