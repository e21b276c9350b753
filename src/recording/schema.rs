//! The tables of a recording, and how a file is recognised.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::RecordingError;

/// "CLRC" in `PRAGMA application_id`.
pub const APPLICATION_ID: i32 = 0x434C_5243;
/// `PRAGMA user_version`. Readers refuse a higher one.
pub const VERSION: i32 = 1;

pub(super) const TABLES: &str = include_str!("schema.sql");

/// How long a reader waits for a writer, and the other way round. In a write-ahead log neither blocks the other for
/// longer than a checkpoint.
const BUSY: Duration = Duration::from_secs(5);

/// What a file is, judged by its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    Recording,
    Newer(i32),
    /// A new, empty database.
    Empty,
    Other,
}

/// Opens an existing file to read it.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, RecordingError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    open(path, flags)
}

/// Opens a file to write it, which is created if it does not exist.
pub(super) fn open_to_write(path: &Path) -> Result<Connection, RecordingError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    open(path, flags)
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection, RecordingError> {
    let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
        connection.busy_timeout(BUSY)?;
        // A recording may come from anybody: what its schema says is not trusted.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        Ok(connection)
    });
    opened.map_err(|error| RecordingError::of(path, &error))
}

pub(super) fn header(connection: &Connection, path: &Path) -> Result<Header, RecordingError> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let read = || Ok((number("application_id")?, number("user_version")?, number("schema_version")?));
    match read() {
        Ok((APPLICATION_ID, VERSION, _)) => Ok(Header::Recording),
        Ok((APPLICATION_ID, newer, _)) => Ok(Header::Newer(newer)),
        Ok((_, _, 0)) => Ok(Header::Empty),
        Ok(_) => Ok(Header::Other),
        Err(rusqlite::Error::SqliteFailure(error, _)) if error.code == ErrorCode::NotADatabase => {
            Ok(Header::Other)
        }
        Err(error) => Err(RecordingError::of(path, &error)),
    }
}
