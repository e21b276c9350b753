//! `claimtop init`: creates the reference tables of a system.

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::output::{complain, print};
use super::recovery::{ActFailure, no_access};
use super::setup::Setup;
use crate::domain::visible::safe;
use crate::exit::Exit;
#[cfg(feature = "mysql")]
use crate::reference::mysql::MysqlError;
#[cfg(feature = "postgres")]
use crate::reference::postgres::PostgresError;
use crate::reference::{InstallError, InstallOutcome, InstalledObject, System, install};
use crate::report::json::line;
use crate::report::table::{TableCell, render};
use crate::store::{Source, SourceLocation, StoreError};

/// An argument of `--system`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SystemArg {
    All,
    One(System),
}

pub(super) fn wanted(text: &str) -> Result<SystemArg, String> {
    if text == "all" {
        return Ok(SystemArg::All);
    }
    let known = System::ALL.into_iter().find(|system| system.as_str() == text);
    known.map(SystemArg::One).ok_or_else(|| {
        let names = System::ALL.map(System::as_str).join(", ");
        format!("the systems are {names}; `all` means every one of them")
    })
}

/// What to do besides, or instead of, creating the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InitMode {
    Tables,
    /// Also the function that reclaims before it claims.
    Wrapper,
    /// Take the functions and views for reclaiming back.
    Rollback,
}

impl InitMode {
    pub(super) fn of(wrapper: bool, rollback: bool) -> InitMode {
        match (wrapper, rollback) {
            (_, true) => InitMode::Rollback,
            (true, false) => InitMode::Wrapper,
            (false, false) => InitMode::Tables,
        }
    }
}

pub(super) fn run(setup: &Setup, word: &str, wanted: &[SystemArg], mode: InitMode) -> Exit {
    let source = setup.source(word);
    match lay(setup, word, &source, wanted, mode) {
        Ok(InitResult { laid, what_else }) => {
            let label = setup.label(word);
            print(&if setup.json { object(&label, &laid) } else { sentences(&label, &laid) + &what_else });
            Exit::Fine
        }
        Err(InitError::ActFailure(why)) => why.complain(),
        Err(error) => {
            let refused = if error.exit() == Exit::Refused { "refused: " } else { "" };
            complain(&format!("{refused}{error}"));
            error.exit()
        }
    }
}

/// Why the tables were not made.
#[derive(Debug)]
enum InitError {
    ActFailure(ActFailure),
    /// The source is empty.
    NoName,
    /// Only executor jobs on a server have a wrapper and a rollback.
    NoFunctions,
    NoFolder {
        path: PathBuf,
        folder: PathBuf,
    },
    File {
        path: PathBuf,
        error: InstallError,
    },
    #[cfg(feature = "postgres")]
    Server {
        source_name: String,
        error: Box<PostgresError>,
    },
    #[cfg(feature = "mysql")]
    Mysql {
        source_name: String,
        error: Box<MysqlError>,
    },
}

impl InitError {
    fn exit(&self) -> Exit {
        match self {
            InitError::ActFailure(why) => why.exit(),
            #[cfg(feature = "postgres")]
            InitError::Server { error, .. } if postgres::is_refusal(error) => Exit::Refused,
            #[cfg(feature = "mysql")]
            InitError::Mysql { error, .. } if mysql::is_refusal(error) => Exit::Refused,
            _ => Exit::Error,
        }
    }
}

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InitError::ActFailure(why) => write!(f, "{why}"),
            InitError::NoName => f.write_str("the source has no name; name the file to make"),
            InitError::NoFunctions => f.write_str(
                "--wrapper and --rollback are for --system executor-jobs on a PostgreSQL server; elsewhere the \
                 library's `fetch` reclaims before it claims",
            ),
            InitError::NoFolder { path, folder } => {
                write!(f, "{}: there is no folder {}; make it first", path.display(), folder.display())
            }
            InitError::File { path, error } => write!(f, "{}: {error}", path.display()),
            #[cfg(feature = "postgres")]
            InitError::Server { source_name, error } if matches!(**error, PostgresError::Server(_)) => {
                write!(f, "{source_name}: {error}; nothing was changed")
            }
            #[cfg(feature = "postgres")]
            InitError::Server { source_name, error } => write!(f, "{source_name}: {error}"),
            #[cfg(feature = "mysql")]
            InitError::Mysql { source_name, error } => write!(f, "{source_name}: {error}"),
        }
    }
}

impl<T: Into<ActFailure>> From<T> for InitError {
    fn from(why: T) -> InitError {
        InitError::ActFailure(why.into())
    }
}

/// What was created, and what is left to do by hand.
struct InitResult {
    laid: Vec<InstalledObject>,
    what_else: String,
}

/// In a fixed order, each once, however they were named; `all` are those of the engine.
fn systems(wanted: &[SystemArg], source: &Source) -> Vec<System> {
    let is_there = |system: &System| match source {
        Source::Sqlite(_) => true,
        Source::Postgres(_) => system.postgres().is_some(),
        Source::Mysql(_) => system.mysql().is_some(),
        Source::Unsupported(_) => false,
    };
    let named = |system: &System| {
        wanted.contains(&SystemArg::One(*system)) || wanted.contains(&SystemArg::All) && is_there(system)
    };
    System::ALL.into_iter().filter(named).collect()
}

fn lay(
    setup: &Setup,
    word: &str,
    source: &Source,
    wanted: &[SystemArg],
    mode: InitMode,
) -> Result<InitResult, InitError> {
    let systems = systems(wanted, source);
    let is_executor_jobs = match mode {
        InitMode::Tables => true,
        InitMode::Wrapper => systems.contains(&System::ExecutorJobs),
        InitMode::Rollback => systems == [System::ExecutorJobs],
    };
    if !is_executor_jobs || mode != InitMode::Tables && !matches!(source, Source::Postgres(_)) {
        return Err(InitError::NoFunctions);
    }
    if setup.now.is_some() {
        return Err(ActFailure::ClockStands.into());
    }
    let access = setup.write_access_to_empty(word).map_err(|why| no_access(&setup.label(word), why))?;
    let patience = Duration::from_micros(setup.config.busy_timeout.as_micros().unsigned_abs());
    let path = match &access.options().at {
        SourceLocation::File(path) => path.clone(),
        #[cfg(feature = "postgres")]
        SourceLocation::Server(target) => return postgres::lay(&access, target, (&systems, mode), patience),
        #[cfg(feature = "mysql")]
        SourceLocation::Mysql(target) => return mysql::lay(&access, target, &systems, patience),
        SourceLocation::Nowhere(why) => {
            let (source_name, why) = (setup.label(word), why.clone());
            return Err(StoreError::BadTarget { source_name, why }.into());
        }
    };
    admit(&path)?;
    let told = |error: rusqlite::Error| InitError::from(explain(&path, &error, patience));
    let mut connection = open(&path, patience).map_err(told)?;
    let laid = install(&mut connection, &systems).map_err(|error| match error {
        InstallError::Sql(error) => told(error),
        InstallError::Differs { .. } => InitError::File { path: path.clone(), error },
    })?;
    Ok(InitResult { laid, what_else: String::new() })
}

/// Refuses paths that cannot become a database, before SQLite reports "unable to open".
fn admit(path: &Path) -> Result<(), InitError> {
    use rustix::fs::{Access, access};
    let path_buf = || PathBuf::from(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.as_os_str().is_empty() {
        return Err(InitError::NoName);
    }
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(StoreError::Directory { path: path_buf() }.into()),
        Ok(found) if !found.is_file() => return Err(StoreError::NotAFile { path: path_buf() }.into()),
        Ok(_) if access(path, Access::WRITE_OK).is_err() => {
            let why = "this user may not write the file".into();
            return Err(StoreError::ReadOnly { path: path_buf(), why }.into());
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if !folder.is_dir() {
                return Err(InitError::NoFolder { path: path_buf(), folder: folder.to_owned() });
            }
        }
        Err(error) => {
            return Err(StoreError::Unreadable { path: path_buf(), why: error.to_string() }.into());
        }
    }
    if access(folder, Access::WRITE_OK).is_err() {
        let why = format!("this user may not write in {}", folder.display());
        return Err(StoreError::ReadOnly { path: path_buf(), why }.into());
    }
    Ok(())
}

/// Opens or creates the file. Only a database without tables is put into WAL mode: the mode of another one was chosen
/// by its creator.
fn open(path: &Path, patience: Duration) -> rusqlite::Result<Connection> {
    // An absolute path is always a file; ":memory:" would not be one.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(patience)?;
    let objects: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if objects == 0 {
        let deadline = Instant::now() + patience;
        while let Err(error) = connection.pragma_update(None, "journal_mode", "WAL") {
            if !is_busy(&error) || Instant::now() > deadline {
                return Err(error);
            }
            // Changing the mode does not wait for locks, but a transaction does.
            connection.transaction_with_behavior(TransactionBehavior::Immediate)?.rollback()?;
        }
    }
    Ok(connection)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn explain(path: &Path, error: &rusqlite::Error, waited: Duration) -> StoreError {
    let path = PathBuf::from(path);
    let code = error.sqlite_error().map_or(1, |failure| failure.extended_code);
    let message = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::NotADatabase { path },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Locked { path, waited_ms: waited.as_millis(), code: code.to_string() }
        }
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { path, code, message },
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            StoreError::ReadOnly { path, why: message }
        }
        _ => StoreError::Sql { path, code, message, doing: "making the tables".into() },
    }
}

fn object(source: &str, laid: &[InstalledObject]) -> String {
    let list = |how: InstallOutcome| -> Vec<serde_json::Value> {
        let some = laid.iter().filter(|it| it.how == how);
        some.map(|it| serde_json::json!({"system": it.system.as_str(), "kind": it.kind, "name": it.name}))
            .collect()
    };
    let mut object = serde_json::json!({"source": source, "made": list(InstallOutcome::Made), "found": list(InstallOutcome::Found)});
    if laid.iter().any(|it| it.how == InstallOutcome::Dropped) {
        object["dropped"] = list(InstallOutcome::Dropped).into();
    }
    line(&object) + "\n"
}

fn sentences(source: &str, laid: &[InstalledObject]) -> String {
    let count = |how: InstallOutcome| laid.iter().filter(|it| it.how == how).count();
    let mut text = match count(InstallOutcome::Dropped) {
        0 => {
            let (made, found) = (count(InstallOutcome::Made), count(InstallOutcome::Found));
            format!("{}: {made} made, {found} there already\n", safe(source))
        }
        dropped => format!("{}: {dropped} dropped; the jobs stay\n", safe(source)),
    };
    let mut rows = vec![["", "KIND", "NAME", "SYSTEM"].map(TableCell::text).to_vec()];
    for it in laid {
        let how = match it.how {
            InstallOutcome::Made => "made",
            InstallOutcome::Found => "there",
            InstallOutcome::Dropped => "dropped",
        };
        rows.push([how, &it.kind, &it.name, it.system.as_str()].map(TableCell::text).to_vec());
    }
    if !laid.is_empty() {
        text += &render(&rows);
    }
    text
}
