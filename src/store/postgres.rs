//! PostgreSQL databases.
//!
//! A target says which server and how to prove who we are; a link is one connection to it. No
//! password, wherever it came from, is in anything that these print or hand out.

mod actor;
mod audit_table;
mod backlog;
mod batch;
mod batch_size;
mod candidate_queries;
mod cascade;
mod cell;
mod change;
mod commit_resolution;
mod dependencies;
mod dialect;
mod driver;
pub mod error;
mod found;
mod identify;
mod image;
mod indexes;
pub mod installed;
pub mod link;
mod look;
mod many;
mod named_params;
mod names;
mod path;
mod reader;
mod rows;
mod sample;
mod schema;
mod scope;
mod selection;
mod sentences;
mod statements;
mod surroundings;
pub mod target;
pub mod tls;
mod touched;
mod trust;
mod watch;
mod zone;

pub use crate::store::backoff::Backoff;
pub use actor::Actor;
pub use audit_table::find as find_audit_table;
pub use error::PgError;
pub use identify::{fingerprint_of, identify};
pub use link::{Begin, Limits, Link, Purpose, Row};
pub use reader::{Options, Reader, fits};
pub use sample::PostgresSample;
pub use schema::home;
pub use target::Target;
