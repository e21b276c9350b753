//! `claimtop init`: the reference tables of a system, laid into a database.

mod postgres;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::output::{complain, print};
use super::recovery::{Refusal, no_access};
use super::setup::Setup;
use crate::domain::visible::safe;
use crate::exit::Exit;
use crate::reference::{How, InstallError, Laid, System, install};
use crate::report::json::line;
use crate::report::table::{Cell, render};
use crate::store::{Options, Source, StoreError};

/// A word after `--system`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    All,
    One(System),
}

pub fn wanted(text: &str) -> Result<Wanted, String> {
    if text == "all" {
        return Ok(Wanted::All);
    }
    let known = System::ALL.into_iter().find(|system| system.as_str() == text);
    known.map(Wanted::One).ok_or_else(|| {
        let names = System::ALL.map(System::as_str).join(", ");
        format!("the systems are {names}; `all` means every one of them")
    })
}

pub fn run(setup: &Setup, word: &str, wanted: &[Wanted]) -> Exit {
    let source = setup.source(word);
    match lay(setup, word, &source, wanted) {
        Ok(Done { laid, what_else }) => {
            let label = setup.label(word);
            print(&if setup.json { object(&label, &laid) } else { sentences(&label, &laid) + &what_else });
            Exit::Fine
        }
        Err(Refusal::Refused(why) | Refusal::Moved(why)) => {
            complain(&format!("refused: {why}"));
            Exit::Refused
        }
        Err(Refusal::Error(why)) => complain(&why),
    }
}

/// What was done, and what is left to do by hand.
struct Done {
    laid: Vec<Laid>,
    what_else: String,
}

/// In the order of the documents, each once, however they were named; `all` are those of the engine.
fn systems(wanted: &[Wanted], source: &Source) -> Vec<System> {
    let is_there = |system: &System| match source {
        Source::Sqlite(_) => true,
        Source::Postgres(_) => system.postgres().is_some(),
        Source::Unsupported(_) => false,
    };
    let named = |system: &System| {
        wanted.contains(&Wanted::One(*system)) || wanted.contains(&Wanted::All) && is_there(system)
    };
    System::ALL.into_iter().filter(named).collect()
}

fn lay(setup: &Setup, word: &str, source: &Source, wanted: &[Wanted]) -> Result<Done, Refusal> {
    let systems = systems(wanted, source);
    if setup.now.is_some() {
        return Err(Refusal::Error("--now is for looking; it cannot go with a write".into()));
    }
    let access = setup.write_access_to_empty(word).map_err(|why| no_access(&setup.label(word), why))?;
    let patience = Duration::from_micros(setup.config.busy_timeout.as_micros().unsigned_abs());
    let path = match access.options() {
        Options::Sqlite(options) => options.path.clone(),
        Options::Postgres(options) => return postgres::lay(&access, &options.target, &systems, patience),
    };
    admit(&path)?;
    let told = |error: rusqlite::Error| Refusal::from(explain(&path, &error, patience));
    let mut connection = open(&path, patience).map_err(told)?;
    let laid = install(&mut connection, &systems).map_err(|error| match error {
        InstallError::Sql(error) => told(error),
        InstallError::Differs { .. } => Refusal::Error(format!("{}: {error}", path.display())),
    })?;
    Ok(Done { laid, what_else: String::new() })
}

/// Refuses what cannot become a database, before SQLite says "unable to open".
fn admit(path: &Path) -> Result<(), Refusal> {
    use rustix::fs::{Access, access};
    let path_buf = || PathBuf::from(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.as_os_str().is_empty() {
        return Err(Refusal::Error("the source has no name; name the file to make".into()));
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
                let (path, folder) = (path.display(), folder.display());
                return Err(Refusal::Error(format!("{path}: there is no folder {folder}; make it first")));
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

/// Opens the file or makes it. Only a database without any table is put into WAL mode: whoever made
/// another one chose its mode.
fn open(path: &Path, patience: Duration) -> rusqlite::Result<Connection> {
    // An absolute path is always a file; ":memory:" alone would be none.
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
            // Changing the mode never waits for others, a transaction does.
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

fn object(source: &str, laid: &[Laid]) -> String {
    let list = |how: How| -> Vec<serde_json::Value> {
        let some = laid.iter().filter(|it| it.how == how);
        some.map(|it| serde_json::json!({"system": it.system.as_str(), "kind": it.kind, "name": it.name}))
            .collect()
    };
    let object = serde_json::json!({"source": source, "made": list(How::Made), "found": list(How::Found)});
    line(&object) + "\n"
}

fn sentences(source: &str, laid: &[Laid]) -> String {
    let made = laid.iter().filter(|it| it.how == How::Made).count();
    let found = laid.len() - made;
    let mut text = format!("{}: {made} made, {found} there already\n", safe(source));
    let mut rows = vec![["", "KIND", "NAME", "SYSTEM"].map(Cell::text).to_vec()];
    for it in laid {
        let how = match it.how {
            How::Made => "made",
            How::Found => "there",
        };
        rows.push([how, &it.kind, &it.name, it.system.as_str()].map(Cell::text).to_vec());
    }
    if !laid.is_empty() {
        text += &render(&rows);
    }
    text
}
