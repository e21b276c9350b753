//! Why an operation could not be done at all.
//!
//! The systems' own answers (already claimed, not the owner, nothing to claim) are not errors: each operation has its
//! own type for them.

use std::path::PathBuf;
use thiserror::Error;

#[cfg(feature = "postgres")]
use crate::postgres::{ConnectError, PgError};

#[derive(Debug, Error)]
pub enum WorkerError {
    #[error("{path}: {source}", path = path.display())]
    Open { path: PathBuf, source: rusqlite::Error },
    #[error("the database stayed busy for {waited_ms} ms; nothing was changed, try again")]
    Busy { waited_ms: u128 },
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    /// There is no connection to the server.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The server refused.
    #[cfg(feature = "postgres")]
    #[error("{0}")]
    Server(#[from] PgError),
    /// The connection was lost while the server committed.
    #[cfg(feature = "postgres")]
    #[error("{0}; whether it was done is not known, look again before it is repeated")]
    Unknown(PgError),
    /// An argument that the system does not accept, with what it accepts.
    #[error("{0}")]
    Invalid(String),
}
