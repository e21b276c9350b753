//! PostgreSQL databases.
//!
//! A target says which server and how to prove who we are; a link is one connection to it. No
//! password, wherever it came from, is in anything that these print or hand out.

mod actor;
mod dialect;
pub mod error;
pub mod link;
mod reader;
mod schema;
pub mod target;
pub mod tls;
mod words;

pub use actor::Actor;
pub use error::PgError;
pub use link::{Backoff, Begin, Limits, Link, Purpose, Row};
pub use reader::{Options, Reader, fits};
pub use target::Target;
