//! The file itself: can it be read, and how does it keep its changes.
//!
//! Only by SQLite and by `stat`: closing a handle of our own would drop SQLite's locks.

use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};

use super::{Check, file_system};
use crate::store::StoreError;
use crate::store::sqlite::{Options, fits};

/// From this size on, a log says that something keeps it from being folded back.
const LONG_LOG: u64 = 64 << 20;

/// Adds what can be said of a readable file; an error if it is none.
pub fn look(options: &Options, checks: &mut Vec<Check>) -> Result<(), StoreError> {
    let before = Log::beside(&options.path);
    // No profile: this opens the file as every look does, and reads its schema.
    fits(options, Vec::new())?;
    checks.push(Check::ok("reachable", "it can be opened and read"));
    checks.push(Check::ok("sqlite", format!("read by SQLite {}", rusqlite::version())));
    let mode = ask(options, "PRAGMA journal_mode");
    checks.push(match &mode {
        Ok(mode) => journal(mode),
        Err(error) => Check::warning("journal", format!("its mode cannot be read: {error}"), "try again"),
    });
    if mode.is_ok_and(|mode| mode == "wal") {
        checks.push(before.say());
    }
    checks.push(file_system::look(&options.path));
    Ok(())
}

/// One value, on a connection that cannot write.
pub fn ask(options: &Options, sql: &str) -> rusqlite::Result<String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&options.path, flags)?;
    connection.busy_timeout(options.busy_timeout)?;
    connection.query_row(sql, [], |row| row.get(0))
}

fn journal(mode: &str) -> Check {
    if mode == "wal" {
        return Check::ok("journal", "WAL: looking never blocks the workers, nor they us");
    }
    Check::warning(
        "journal",
        format!("mode {mode}, not WAL: while somebody reads nobody can write, and the other way round"),
        "have the application run PRAGMA journal_mode = WAL once; the mode stays with the file",
    )
}

/// The log and its index as they were before anybody looked.
struct Log {
    log: Option<u64>,
    index: Option<u64>,
}

impl Log {
    fn beside(path: &Path) -> Log {
        let size = |end: &str| std::fs::metadata(with_end(path, end)).ok().map(|file| file.len());
        Log { log: size("-wal"), index: size("-shm") }
    }

    fn say(&self) -> Check {
        match (self.log, self.index) {
            (Some(log), _) if log >= LONG_LOG => Check::warning(
                "log",
                format!("-wal has grown to {}: something keeps it from being folded back", size(log)),
                "look for a reader that never ends its transaction, then run PRAGMA wal_checkpoint(TRUNCATE)",
            ),
            (Some(log), Some(index)) => {
                Check::ok("log", format!("-wal is there ({}), -shm is there ({})", size(log), size(index)))
            }
            (Some(log), None) => Check::ok(
                "log",
                format!("-wal is there ({}), -shm was not: its application has stopped", size(log)),
            ),
            (None, _) => Check::ok(
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
