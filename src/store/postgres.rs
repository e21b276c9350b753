//! PostgreSQL databases.
//!
//! A target says which server and how to prove who we are; a link is one connection to it. No
//! password, wherever it came from, is in anything that these print or hand out.

mod act;
mod actor;
mod arms;
mod attempts;
mod audit_table;
mod backlog;
mod batch;
mod cell;
mod close_up;
mod dialect;
pub mod error;
mod fate;
mod found;
mod history;
mod holders;
mod identify;
mod image;
mod indexes;
mod kinds;
pub mod link;
mod listing;
mod look;
mod many;
mod names;
mod path;
mod reader;
mod rows;
mod schema;
mod selection;
mod session;
mod stride;
mod surroundings;
pub mod target;
mod ties;
pub mod tls;
mod touched;
mod trust;
mod undo;
mod wake;
mod watch;
mod words;

pub use actor::Actor;
pub use audit_table::find as find_audit_table;
pub use error::PgError;
pub use found::Spotted;
pub use identify::{fingerprint_of, identify};
pub use link::{Backoff, Begin, Limits, Link, Purpose, Row};
pub use reader::{Options, Reader, fits};
pub use schema::home;
pub use target::Target;
