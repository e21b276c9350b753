//! The database file: whether it can be read, and how it is journaled.
//!
//! It is examined only by SQLite and `stat`: closing a file handle of ours would drop SQLite's locks.

use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};

use super::{DoctorCheck, file_system};
use crate::store::StoreError;
use crate::store::{Options, fits};

/// A WAL of this size shows that something prevents checkpoints.
const LONG_LOG: u64 = 64 << 20;

/// Adds the checks of a readable file; an error if it cannot be read.
pub(super) fn check(path: &Path, options: &Options, checks: &mut Vec<DoctorCheck>) -> Result<(), StoreError> {
    let before = WalFiles::beside(path);
    // Without profiles, this opens the file as every poll does, and reads its schema.
    fits(options, Vec::new())?;
    checks.push(DoctorCheck::ok("reachable", "it can be opened and read"));
    checks.push(DoctorCheck::ok("sqlite", format!("read by SQLite {}", rusqlite::version())));
    let mode = ask(path, options, "PRAGMA journal_mode");
    checks.push(match &mode {
        Ok(mode) => journal(mode),
        Err(error) => {
            DoctorCheck::warning("journal", format!("its mode cannot be read: {error}"), "try again")
        }
    });
    if mode.is_ok_and(|mode| mode == "wal") {
        checks.push(before.describe());
    }
    checks.push(file_system::check(path));
    Ok(())
}

/// One value, on a read-only connection.
pub(super) fn ask(path: &Path, options: &Options, sql: &str) -> rusqlite::Result<String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(options.busy_timeout)?;
    connection.query_row(sql, [], |row| row.get(0))
}

fn journal(mode: &str) -> DoctorCheck {
    if mode == "wal" {
        return DoctorCheck::ok("journal", "WAL: reading never blocks the workers, nor do they block it");
    }
    DoctorCheck::warning(
        "journal",
        format!("mode {mode}, not WAL: while somebody reads nobody can write, and the other way round"),
        "have the application run PRAGMA journal_mode = WAL once; the mode stays with the file",
    )
}

/// The sizes of -wal and -shm before anything was opened.
struct WalFiles {
    log: Option<u64>,
    index: Option<u64>,
}

impl WalFiles {
    fn beside(path: &Path) -> WalFiles {
        let size = |end: &str| std::fs::metadata(with_end(path, end)).ok().map(|file| file.len());
        WalFiles { log: size("-wal"), index: size("-shm") }
    }

    fn describe(&self) -> DoctorCheck {
        match (self.log, self.index) {
            (Some(log), _) if log >= LONG_LOG => DoctorCheck::warning(
                "log",
                format!("-wal has grown to {}: something prevents checkpoints", size(log)),
                "look for a reader that never ends its transaction, then run PRAGMA wal_checkpoint(TRUNCATE)",
            ),
            (Some(log), Some(index)) => DoctorCheck::ok(
                "log",
                format!("-wal is there ({}), -shm is there ({})", size(log), size(index)),
            ),
            (Some(log), None) => DoctorCheck::ok(
                "log",
                format!("-wal is there ({}), -shm was not: its application has stopped", size(log)),
            ),
            (None, _) => DoctorCheck::ok(
                "log",
                "neither -wal nor -shm was there: no application has it open; every reader makes SQLite create both, empty",
            ),
        }
    }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} KiB", bytes / 1_024),
        _ => format!("{} MiB", bytes / 1_048_576),
    }
}
