//! The folder of a demo: its database, config, profiles and log.

use rusqlite::Connection;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::demo_database::DemoDatabase;
#[cfg(feature = "postgres")]
use super::demo_schema;
use super::error::DemoError;
use super::thresholds;
use crate::store::WriteAccess;

/// Whether the folder is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderLifetime {
    Temporary,
    Kept,
}

/// A server that the fleet works on instead of a file.
#[derive(Clone)]
pub struct DemoServer {
    /// The address as the config has it: it may contain a password.
    pub(super) at: String,
    pub(super) password_command: Option<String>,
}

impl DemoServer {
    /// The server at an address for which write access was granted.
    pub fn new(_access: &WriteAccess, at: &str, password_command: Option<&str>) -> DemoServer {
        DemoServer { at: at.to_owned(), password_command: password_command.map(str::to_owned) }
    }

    /// The same database, with the schema of the demo.
    fn inside(&self) -> DemoServer {
        #[cfg(feature = "postgres")]
        let at = demo_schema::inside(&self.at);
        #[cfg(not(feature = "postgres"))]
        let at = self.at.clone();
        DemoServer { at, ..self.clone() }
    }
}

impl std::fmt::Debug for DemoServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a server")
    }
}

#[derive(Debug, Clone)]
pub struct DemoFolder {
    path: PathBuf,
    pub place: FolderLifetime,
    server: Option<DemoServer>,
}

impl DemoFolder {
    /// A folder that is removed at the end.
    pub fn temporary() -> Result<DemoFolder, DemoError> {
        let path = std::env::temp_dir().join(format!("claimtop-demo-{}", uuid::Uuid::now_v7()));
        DirBuilder::new().mode(0o700).create(&path).map_err(DemoError::file(&path))?;
        let path = fs::canonicalize(&path).map_err(DemoError::file(&path))?;
        Ok(DemoFolder { path, place: FolderLifetime::Temporary, server: None })
    }

    /// A folder of the user's; other files in it stay as they are.
    pub fn kept(path: &Path) -> Result<DemoFolder, DemoError> {
        fs::create_dir_all(path).map_err(DemoError::file(path))?;
        let path = fs::canonicalize(path).map_err(DemoError::file(path))?;
        let folder = DemoFolder { path, place: FolderLifetime::Kept, server: None };
        match [folder.database_path(), folder.config()].into_iter().find(|file| file.exists()) {
            Some(file) => Err(DemoError::Taken(file)),
            None => Ok(folder),
        }
    }

    /// Puts the database on a server.
    pub fn on(self, server: Option<DemoServer>) -> DemoFolder {
        DemoFolder { server, ..self }
    }

    pub fn database(&self) -> Result<DemoDatabase, DemoError> {
        DemoDatabase::of(&self.path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn database_path(&self) -> PathBuf {
        database_path(&self.path)
    }

    pub fn config(&self) -> PathBuf {
        config(&self.path)
    }

    /// The log to which the fleet's processes write their errors.
    pub fn log(&self) -> PathBuf {
        self.path.join("fleet.log")
    }

    /// Creates the database with the tables of all systems, and writes the config and the profiles.
    pub fn create(&self) -> Result<(), DemoError> {
        let profiles = self.path.join("profiles");
        fs::create_dir_all(&profiles).map_err(DemoError::file(&profiles))?;
        for (name, text) in thresholds::profiles() {
            write_new(&profiles.join(name), &text)?;
        }
        let inside = self.server.as_ref().map(DemoServer::inside);
        write_new(&self.config(), &thresholds::config(&self.path, inside.as_ref())?)?;
        self.database()?.create(&self.path)
    }

    /// Removes a temporary folder; makes a kept database one file without a log.
    pub fn clean_up(&self) -> Result<(), DemoError> {
        match self.place {
            // A folder without a config was never created in full.
            FolderLifetime::Temporary if self.server.is_some() && self.config().exists() => {
                self.database()?.clear(&self.path)?;
                remove(&self.path).map_err(DemoError::file(&self.path))
            }
            FolderLifetime::Temporary => remove(&self.path).map_err(DemoError::file(&self.path)),
            FolderLifetime::Kept if self.server.is_some() => Ok(()),
            FolderLifetime::Kept => {
                let connection = Connection::open(self.database_path())?;
                Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
            }
        }
    }
}

pub(super) fn database_path(folder: &Path) -> PathBuf {
    folder.join("demo.db")
}

pub(super) fn config(folder: &Path) -> PathBuf {
    folder.join("config.toml")
}

/// Removes a folder; the janitor may be removing it at the same time.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    for _ in 0..10 {
        if fs::remove_dir_all(folder).is_ok() || !folder.exists() {
            return Ok(());
        }
    }
    fs::remove_dir_all(folder)
}

fn write_new(path: &Path, text: &str) -> Result<(), DemoError> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match opened.and_then(|mut file| file.write_all(text.as_bytes())) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(DemoError::Taken(path.into())),
        other => other.map_err(DemoError::file(path)),
    }
}
