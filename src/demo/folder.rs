//! Where a demo lives: a folder with its database, its config, its profiles and its log.

use rusqlite::Connection;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::error::DemoError;
use super::ground::Ground;
use super::schema;
use super::thresholds;
use crate::store::WriteAccess;

/// Whether the folder stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Temporary,
    Kept,
}

/// A server that the fleet works on instead of a file.
#[derive(Clone)]
pub struct Server {
    /// As the config has it: it may hold a password.
    pub(super) at: String,
    pub(super) password_command: Option<String>,
}

impl Server {
    /// The server at an address that may be written.
    pub fn new(_access: &WriteAccess, at: &str, password_command: Option<&str>) -> Server {
        Server { at: at.to_owned(), password_command: password_command.map(str::to_owned) }
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a server")
    }
}

#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
    pub place: Place,
    server: Option<Server>,
}

impl Folder {
    /// A folder of its own that is gone at the end.
    pub fn temporary() -> Result<Folder, DemoError> {
        let path = std::env::temp_dir().join(format!("claimtop-demo-{}", uuid::Uuid::now_v7()));
        DirBuilder::new().mode(0o700).create(&path).map_err(DemoError::file(&path))?;
        let path = fs::canonicalize(&path).map_err(DemoError::file(&path))?;
        Ok(Folder { path, place: Place::Temporary, server: None })
    }

    /// The user's folder; what is in there stays as it is.
    pub fn kept(path: &Path) -> Result<Folder, DemoError> {
        fs::create_dir_all(path).map_err(DemoError::file(path))?;
        let path = fs::canonicalize(path).map_err(DemoError::file(path))?;
        let folder = Folder { path, place: Place::Kept, server: None };
        match [folder.database(), folder.config()].into_iter().find(|file| file.exists()) {
            Some(file) => Err(DemoError::Taken(file)),
            None => Ok(folder),
        }
    }

    /// With the database on a server.
    pub fn on(self, server: Option<Server>) -> Folder {
        Folder { server, ..self }
    }

    pub fn ground(&self) -> Result<Ground, DemoError> {
        Ground::of(&self.path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn database(&self) -> PathBuf {
        database(&self.path)
    }

    pub fn config(&self) -> PathBuf {
        config(&self.path)
    }

    /// Where the fleet's processes say what went wrong.
    pub fn log(&self) -> PathBuf {
        self.path.join("fleet.log")
    }

    /// Makes the database with the tables of all systems, and writes the config and the profiles.
    pub fn furnish(&self) -> Result<(), DemoError> {
        let profiles = self.path.join("profiles");
        fs::create_dir_all(&profiles).map_err(DemoError::file(&profiles))?;
        for (name, text) in thresholds::profiles() {
            write_new(&profiles.join(name), &text)?;
        }
        let inside =
            self.server.as_ref().map(|server| Server { at: schema::inside(&server.at), ..server.clone() });
        write_new(&self.config(), &thresholds::config(&self.path, inside.as_ref())?)?;
        self.ground()?.furnish(&self.path)
    }

    /// What is to be gone at the end is gone, and what stays is whole: the database in one file.
    pub fn leave(&self) -> Result<(), DemoError> {
        match self.place {
            // A folder without a config was never furnished.
            Place::Temporary if self.server.is_some() && self.config().exists() => {
                self.ground()?.clear(&self.path)?;
                remove(&self.path).map_err(DemoError::file(&self.path))
            }
            Place::Temporary => remove(&self.path).map_err(DemoError::file(&self.path)),
            Place::Kept if self.server.is_some() => Ok(()),
            Place::Kept => {
                let connection = Connection::open(self.database())?;
                Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
            }
        }
    }
}

pub fn database(folder: &Path) -> PathBuf {
    folder.join("demo.db")
}

pub fn config(folder: &Path) -> PathBuf {
    folder.join("config.toml")
}

/// Removes a folder that the janitor may be removing too.
pub fn remove(folder: &Path) -> io::Result<()> {
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
