//! MySQL and MariaDB databases: the driver of the store. Addresses and connections are in [`crate::mysql`].
//!
//! It reads; acts are refused until they are written.

mod cell;
mod column_type;
mod compiler;
mod conditions;
mod connection;
mod dialect;
mod identify;
mod keys;
mod reader;
mod replica;
mod schema;
mod server_sql;
mod zone;

use super::{Options, StoreError};
pub use crate::mysql::{Limits, Link, MyError, Purpose, Target};
pub use identify::{fingerprint, identify};
pub use reader::{Reader, fits};

/// Why nothing can be changed yet.
pub(super) fn no_acts(options: &Options) -> StoreError {
    StoreError::ReadOnly { path: options.name().into(), why: "acting on MySQL is not supported yet".into() }
}

/// Why no profile can be drafted yet.
pub(super) fn no_drafts(options: &Options) -> StoreError {
    let why = "drafting a profile from MySQL is not supported yet; write one by hand".into();
    StoreError::BadTarget { source_name: options.name(), why }
}
