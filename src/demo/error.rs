//! Why a demo cannot run.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

use crate::reference::InstallError;
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
