//! Opening a file for reading, and saying exactly why when that fails.
//!
//! Never `immutable`: on a live database it silently reads old data. Never opened with `std::fs`
//! either: closing such a handle would drop the locks that SQLite holds in this process.

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, OpenFlags};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::error::explain;
use super::functions;
use super::keys::Keys;
use crate::store::StoreError;

/// A poll reads many pages once and few twice: a cache that fits the processor's own is faster
/// than SQLite's usual two megabytes.
const CACHE_KB: i64 = 256;

/// What an act in bulk touches should stay at hand until it is committed.
const WRITING_CACHE_KB: i64 = 16 * 1024;

const LARGEST_LOG_PAGES: i64 = 10_000;

/// From this size on the log is moved into the file in the pauses of acts in bulk.
const LONG_LOG_BYTES: u64 = 4 << 20;

/// Which file a path led to when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// No file at all.
    pub const NONE: FileIdentity = FileIdentity { device: 0, inode: 0 };

    pub fn of(metadata: &Metadata) -> FileIdentity {
        FileIdentity { device: metadata.dev(), inode: metadata.ino() }
    }

    pub fn fingerprint(self) -> String {
        format!("sqlite:{}:{}", self.device, self.inode)
    }

    /// The file that `path` leads to now.
    pub fn at(path: &Path) -> Result<FileIdentity, StoreError> {
        FileIdentity::look(path).map(|metadata| FileIdentity::of(&metadata))
    }

    /// All that the file system says of it.
    pub fn look(path: &Path) -> Result<Metadata, StoreError> {
        match std::fs::metadata(path) {
            Ok(metadata) => Ok(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(StoreError::Deleted { path: path.into() })
            }
            Err(error) => Err(StoreError::Unreadable { path: path.into(), why: error.to_string() }),
        }
    }
}

/// A connection that nothing can be written through.
#[derive(Debug)]
pub(super) struct OpenedFile {
    pub connection: Connection,
    pub identity: FileIdentity,
    pub denied: Denied,
}

/// Whether SQL has tried to do more than read since this was last asked.
///
/// SQLite reports a denied function like any misspelt one; only the authorizer itself knows.
#[derive(Debug, Clone, Default)]
pub(super) struct Denied(Arc<Authorizer>);

#[derive(Debug, Default)]
struct Authorizer {
    has_denied: AtomicBool,
    /// The SQL is that of an act, which is compiled and never run here.
    compiles_act: AtomicBool,
}

impl Denied {
    pub(super) fn take(&self) -> bool {
        self.0.has_denied.swap(false, Ordering::Relaxed)
    }

    /// Lets SQL be compiled that changes rows; the connection itself can still write nothing.
    pub(super) fn compiling_act<T>(&self, compile: impl FnOnce() -> T) -> T {
        self.0.compiles_act.store(true, Ordering::Relaxed);
        let compiled = compile();
        self.0.compiles_act.store(false, Ordering::Relaxed);
        compiled
    }
}

/// Opens `path` so that nothing can be written through it.
pub(super) fn read_only(path: &Path, busy_timeout: Duration, keys: &Keys) -> Result<OpenedFile, StoreError> {
    let before = expect_file(path)?;
    let denied = Denied::default();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags)
        .and_then(|connection| prepare(connection, busy_timeout, denied.clone(), keys));
    let connection = opened.map_err(|error| explain(path, &error, busy_timeout, "opening"))?;
    if FileIdentity::at(path)? != before {
        // Replaced between the look and the open; the next poll will find it whole.
        return Err(StoreError::Unreadable {
            path: path.into(),
            why: "it was replaced while it was being opened; try again".into(),
        });
    }
    Ok(OpenedFile { connection, identity: before, denied })
}

/// The file at a path, if that is one and not empty.
pub(super) fn expect_file(path: &Path) -> Result<FileIdentity, StoreError> {
    let path_buf = || PathBuf::from(path);
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => StoreError::Missing { path: path_buf() },
        _ => StoreError::Unreadable { path: path_buf(), why: error.to_string() },
    })?;
    if metadata.is_dir() {
        return Err(StoreError::Directory { path: path_buf() });
    }
    if !metadata.is_file() {
        return Err(StoreError::NotAFile { path: path_buf() });
    }
    if metadata.len() == 0 {
        let log = beside(path, "-wal");
        // SQLite deletes the log of an empty file when it opens it, and with it all that is left.
        return Err(match std::fs::metadata(&log) {
            Ok(found) if found.len() > 0 => StoreError::CutOff { path: path_buf(), log },
            _ => StoreError::Empty { path: path_buf() },
        });
    }
    Ok(FileIdentity::of(&metadata))
}

fn prepare(
    mut connection: Connection,
    busy_timeout: Duration,
    denied: Denied,
    keys: &Keys,
) -> rusqlite::Result<Connection> {
    connection.busy_timeout(busy_timeout)?;
    // "task-1" in a profile's SQL is a misspelt column, never a string.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Plans are chosen once, by shape. Otherwise SQLite compiles a statement anew for every value
    // bound to it, which costs ten times the reading of a row.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(512);
    connection.pragma_update(None, "cache_size", -CACHE_KB)?;
    functions::register(&connection, keys)?;
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        let is_act = denied.0.compiles_act.load(Ordering::Relaxed);
        let answer = if is_act { reading_and_changing_rows(context) } else { only_reading(context) };
        denied.0.has_denied.fetch_or(answer == Authorization::Deny, Ordering::Relaxed);
        answer
    }))?;
    // The first real read: this is where a missing -shm or a foreign file shows.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// Everything a poll needs and nothing else: profiles bring SQL of their own.
fn only_reading(context: AuthContext<'_>) -> Authorization {
    const PRAGMAS: [&str; 7] = [
        "data_version",
        "schema_version",
        "table_xinfo",
        "table_list",
        "index_list",
        "index_xinfo",
        "foreign_key_list",
    ];
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => Authorization::Allow,
        AuthAction::Function { function_name } if function_name != "load_extension" => Authorization::Allow,
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => Authorization::Allow,
        AuthAction::Pragma { pragma_name, .. } if PRAGMAS.contains(&pragma_name) => Authorization::Allow,
        // Says how far the log is, and moves nothing.
        AuthAction::Pragma { pragma_name: "wal_checkpoint", pragma_value: Some("NOOP") } => {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    }
}

/// Opens `path` for acts.
pub(super) fn read_write(path: &Path, busy_timeout: Duration, keys: &Keys) -> Result<Connection, StoreError> {
    use rustix::fs::{Access, access};
    let read_only = |why: &str| StoreError::ReadOnly { path: path.into(), why: why.into() };
    match access(path, Access::WRITE_OK) {
        Ok(()) => {}
        Err(rustix::io::Errno::ROFS) => return Err(read_only("its file system is read-only")),
        Err(_) => return Err(read_only("this user may not write the file")),
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if access(folder, Access::WRITE_OK).is_err() {
        return Err(read_only("this user may not write in its folder, where SQLite keeps its journal"));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(|mut connection| {
        connection.busy_timeout(busy_timeout)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "cache_size", -WRITING_CACHE_KB)?;
        // Acts in bulk move the log into the file themselves, in their pauses; this is for the rest.
        connection.pragma_update(None, "wal_autocheckpoint", LARGEST_LOG_PAGES)?;
        connection.set_prepared_statement_cache_capacity(128);
        functions::register(&connection, keys)?;
        connection.authorizer(Some(reading_and_changing_rows))?;
        Ok(connection)
    });
    opened.map_err(|error| explain(path, &error, busy_timeout, "opening for writing"))
}

/// Moves a long log into the file, as far as readers allow; writers are not kept waiting.
///
/// On a connection of its own: the one for acts may not change settings, and profiles use it.
pub(super) fn shorten_log(path: &Path) -> rusqlite::Result<()> {
    let is_long = std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() >= LONG_LOG_BYTES);
    if is_long {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    }
    Ok(())
}

/// What an act needs: rows of ordinary tables, and transactions. Never the schema, other files or
/// settings.
fn reading_and_changing_rows(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name }
            if table_name.starts_with("sqlite_") =>
        {
            Authorization::Deny
        }
        // A deletion goes on, but row by row. Emptied at one stroke, as a trigger may do it, a table would not say
        // which rows it lost.
        AuthAction::Delete { .. } => Authorization::Ignore,
        AuthAction::Insert { .. } | AuthAction::Update { .. } => Authorization::Allow,
        AuthAction::Savepoint { .. } => Authorization::Allow,
        _ => only_reading(context),
    }
}

/// Does something that no act may do, on a connection for acts.
pub(super) fn with_leave<T>(
    connection: &mut Connection,
    run: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
    let done = run(connection);
    connection.authorizer(Some(reading_and_changing_rows))?;
    done
}

/// The file that SQLite keeps next to the database.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
