//! Why a demo cannot run.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

use crate::config::ConfigError;
#[cfg(feature = "postgres")]
use crate::postgres::{ConnectError, PgError};
use crate::reference::InstallError;
#[cfg(feature = "postgres")]
use crate::reference::postgres::PostgresError;
use crate::store::StoreError;
use crate::worker::WorkerError;

#[derive(Debug, Error)]
pub enum DemoError {
    #[error("{} exists already; choose another folder or move it away", .0.display())]
    Taken(PathBuf),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: the path must be UTF-8 to be written into a config", .0.display())]
    NotText(PathBuf),
    #[error("a process of the demo: {0}")]
    Process(#[source] io::Error),
    /// Printed only to the demo's log.
    #[error("the demo that started this process is gone")]
    NoParent,
    #[error(
        "{0}: the schema claimtop_demo is of a demo that still runs, was kept, or was killed; if nobody needs it \
         any more, DROP SCHEMA claimtop_demo CASCADE and start again"
    )]
    LeftBehind(String),
    #[error(
        "{0}: the schema claimtop_demo exists and was not created by a demo; rename it or choose another database"
    )]
    ForeignSchema(String),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[cfg(feature = "postgres")]
    #[error("the server: {0}")]
    Server(#[from] PgError),
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    #[error(transparent)]
    Install(#[from] InstallError),
    #[error(transparent)]
    Worker(#[from] WorkerError),
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
}

impl DemoError {
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> DemoError {
        move |source| DemoError::File { path: path.into(), source }
    }
}
