//! Why a demo cannot run.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

use crate::config::ConfigError;
use crate::reference::InstallError;
use crate::reference::postgres::PostgresError;
use crate::store::StoreError;
use crate::store::postgres::PgError;
use crate::worker::WorkerError;

#[derive(Debug, Error)]
pub enum DemoError {
    #[error("{} is there already; name another folder, or move it away", .0.display())]
    Taken(PathBuf),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: the path must be UTF-8 to be written into a config", .0.display())]
    NotText(PathBuf),
    #[error("a process of the demo: {0}")]
    Process(#[source] io::Error),
    /// Said in the log of the demo only.
    #[error("the demo that started this process is gone")]
    NoParent,
    #[error(
        "{0}: the schema claimtop_demo is of a demo that still runs, was kept, or was killed; if nobody needs it \
         any more, DROP SCHEMA claimtop_demo CASCADE and start again"
    )]
    LeftBehind(String),
    #[error("{0}: there is a schema claimtop_demo that no demo made; rename it, or name another database")]
    ForeignSchema(String),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the server: {0}")]
    Server(#[from] PgError),
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
