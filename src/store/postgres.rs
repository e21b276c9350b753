//! PostgreSQL databases.
//!
//! A target says which server and how to prove who we are; a link is one connection to it. No
//! password, wherever it came from, is in anything that these print or hand out.

mod actor;
mod arms;
mod cell;
mod close_up;
mod dialect;
pub mod error;
mod holders;
pub mod link;
mod reader;
mod rows;
mod schema;
mod surroundings;
pub mod target;
pub mod tls;
mod watch;
mod words;

pub use actor::Actor;
pub use error::PgError;
pub use link::{Backoff, Begin, Limits, Link, Purpose, Row};
pub use reader::{Options, Reader, fits};
pub use target::Target;
