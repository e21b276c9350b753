//! Why a worker's operation could not be done at all.
//!
//! What the systems themselves answer (already claimed, not the owner, nothing to claim) is no
//! error: each operation has its own type for that.

use std::path::PathBuf;
use thiserror::Error;

use crate::store::StoreError;
use crate::store::postgres::PgError;

#[derive(Debug, Error)]
pub enum WorkerError {
    #[error("{path}: {source}", path = path.display())]
    Open { path: PathBuf, source: rusqlite::Error },
    #[error("the database stayed busy for {waited_ms} ms; nothing was changed, try again")]
    Busy { waited_ms: u128 },
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    #[error(transparent)]
    Connect(#[from] StoreError),
    #[error("{0}")]
    Server(#[from] PgError),
    #[error("{0}; whether it was done is not known, look again before it is repeated")]
    Unknown(PgError),
    /// An argument that the system does not accept, with what it accepts.
    #[error("{0}")]
    Invalid(String),
}
