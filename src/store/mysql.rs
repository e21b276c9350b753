//! MySQL and MariaDB databases: the driver of the store. Addresses and connections are in [`crate::mysql`].

mod actor;
mod audit_table;
mod batch;
mod beside;
mod beside_text;
mod cell;
mod change;
mod column_type;
mod commit_resolution;
mod compiler;
mod conditions;
mod connection;
mod dependencies;
mod dialect;
mod driver;
mod identify;
mod keys;
mod reader;
mod replica;
mod row_counts;
mod schema;
mod server_sql;
mod writable_server;
mod zone;

use super::{Options, StoreError};
pub use crate::mysql::{Limits, Link, MyError, Purpose, Target};
pub use actor::Actor;
pub use identify::{fingerprint, identify};
pub use reader::{Reader, fits};

/// Why no profile can be drafted yet.
pub(super) fn no_drafts(options: &Options) -> StoreError {
    let why = "drafting a profile from MySQL is not supported yet; write one by hand".into();
    StoreError::BadTarget { source_name: options.name(), why }
}
